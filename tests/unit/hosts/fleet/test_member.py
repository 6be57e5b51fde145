"""How a worker of a fleet takes orders on its standard input."""

from __future__ import annotations

import asyncio
import os

import pytest

from stream_anon.hosts.fleet.member import _read_orders
from stream_anon.service.orders import Orders, Pause
from tests.support.clock import FakeClock


async def test_the_last_whole_order_counts_and_the_end_of_the_input_is_a_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    orders = Orders(stop := asyncio.Event(), FakeClock())
    with os.fdopen(reading) as given:
        monkeypatch.setattr("sys.stdin", given)
        _read_orders(stop, orders)
        seen = []
        for part in (b"resume\npause inf inf\npau", b"se 5000 1700", b"004000\nre", b"sume\n"):
            os.write(writing, part)
            await asyncio.sleep(0.02)
            seen.append(orders.in_force)
        assert seen == [Pause(), Pause(), Pause(5000, 1_700_004_000), None]
        assert not stop.is_set()

        os.close(writing)
        async with asyncio.timeout(5):
            await stop.wait()
