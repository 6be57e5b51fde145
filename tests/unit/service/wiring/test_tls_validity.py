"""A certificate that expires soon is reported, and is no longer once it was renewed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stream_anon.service.events import CertificatesRead
from stream_anon.service.wiring import tls_validity
from stream_anon.settings.loading import kafka_of, parse_settings
from stream_anon.settings.sections.kafka_settings import KafkaSettings
from tests.support.clock import FakeClock
from tests.support.policies import PEOPLE

DAY = 86_400.0


def _kafka(**sections: Any) -> KafkaSettings:
    section = {"bootstrap_servers": "nowhere:1", "group": "g", "input": "people", "output": "out"}
    return kafka_of(parse_settings({**PEOPLE, "kafka": section | sections}))


async def test_a_certificate_is_warned_of_two_weeks_before_its_end_until_it_is_renewed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, told, now = FakeClock(), asyncio.Queue[CertificatesRead](), 0.0
    now = clock.wall()
    ends = iter([{"ca_file": now + 400 * DAY, "certificate_file": now + 13 * DAY}, {"ca_file": now + 15 * DAY}, {}])
    monkeypatch.setattr(tls_validity, "ends_by_key", lambda _: next(ends))

    def tell(event: object) -> None:
        assert isinstance(event, CertificatesRead)
        told.put_nowait(event)

    await asyncio.wait_for(tls_validity.watch_certificates(_kafka(), clock, tell, every=0.0), 5)
    assert [told.get_nowait().soon for _ in range(2)] == [("certificate_file",), ()]
    assert told.empty()


def test_certificates_of_brokers_and_of_the_registry_are_watched_by_their_full_keys_where_they_are_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ends(ca_file: Path | None, certificate_file: Path | None) -> dict[str, float]:
        files = {"ca_file": ca_file, "certificate_file": certificate_file}
        return {key: 1.0 for key, file in files.items() if file is not None}

    monkeypatch.setattr(tls_validity, "ends_of_certificates", ends)
    security = {"protocol": "SSL", "ca_file": "/a"}
    registry = {"url": "https://far", "ca_file": "/b", "certificate_file": "/c"}
    assert tls_validity.ends_by_key(_kafka(security=security, registry=registry)).keys() == {
        "kafka.security.ca_file", "kafka.registry.ca_file", "kafka.registry.certificate_file",
    }  # fmt: skip
    assert tls_validity.ends_by_key(_kafka(registry=registry | {"url": "http://far"})) == {}
    assert tls_validity.ends_by_key(_kafka()) == {}
