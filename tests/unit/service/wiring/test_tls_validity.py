"""A certificate that expires soon is reported, and is no longer once it was renewed."""

from __future__ import annotations

import asyncio

import pytest

from stream_anon.adapters.kafka.client.security import Security
from stream_anon.service.events import CertificatesRead
from stream_anon.service.wiring import tls_validity
from tests.support.clock import FakeClock

DAY = 86_400.0


async def test_a_certificate_is_warned_of_two_weeks_before_its_end_until_it_is_renewed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, told, now = FakeClock(), asyncio.Queue[CertificatesRead](), 0.0
    now = clock.wall()
    ends = iter([{"ca_file": now + 400 * DAY, "certificate_file": now + 13 * DAY}, {"ca_file": now + 15 * DAY}, {}])
    monkeypatch.setattr(tls_validity, "ends_of_certificates", lambda _: next(ends))

    def tell(event: object) -> None:
        assert isinstance(event, CertificatesRead)
        told.put_nowait(event)

    await asyncio.wait_for(tls_validity.watch_certificates(Security("SSL"), clock, tell, every=0.0), 5)
    assert [told.get_nowait().soon for _ in range(2)] == [("certificate_file",), ()]
    assert told.empty()
