"""A partition that is ours and is not read must not look as if it had nothing to read."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from stream_anon.service.events import PartitionStopped, WindowProgress
from stream_anon.service.status.status_board import StatusBoard
from stream_anon.service.wiring.observing import into_metrics
from tests.support.driver import Driver, after_release, people
from tests.support.memory import MemoryBroker


async def probed(driver: Driver) -> WindowProgress:
    """Return the state after the broker has been asked once more."""
    driver.clock.advance(2.1)
    for _ in range(3):
        await driver.settle(2)
        await asyncio.sleep(0)
    return driver.told(WindowProgress)[-1]


async def test_rewound_partition_counts_as_lag_and_as_not_read() -> None:
    broker = MemoryBroker()
    driver = await after_release(broker)
    broker.offsets["people", 0] = 12
    registry = CollectorRegistry()
    async with Driver(broker, driver.clock) as driver:
        driver.send(people(7, 20), 0)
        state = await probed(driver)
        # Seven wait behind the ledger's entry; the eight before it were released already.
        assert (state.lag, state.stopped) == (7, 1)
        listen, board = into_metrics(registry), StatusBoard(driver.clock.monotonic)
        for event in driver.events:
            listen(event)
            board(event)
        assert registry.get_sample_value("stream_anon_consumer_lag_records") == 7
        assert registry.get_sample_value("stream_anon_partitions_not_read") == 1
        (warning,) = [w for w in board.status()["warnings"] if "stopped" in w]  # type: ignore[attr-defined]
        assert "people-0 (rewound)" in warning
        # Readiness means membership; that a partition has stopped is said elsewhere.
        assert board.readiness() == (True, "")


async def test_lost_input_counts_as_lag() -> None:
    broker = MemoryBroker()
    async with Driver(broker) as driver:
        driver.send(people(5))
        await driver.settle()
        driver.send(people(15, 5))
        broker.lose(0, 12)
        state = await probed(driver)
        assert driver.told(PartitionStopped)[0].reason == "lost-input"
        assert (state.lag, state.stopped) == (15, 1)


async def test_lag_is_unknown_before_anybody_knows_it() -> None:
    registry = CollectorRegistry()
    into_metrics(registry)
    lag = registry.get_sample_value("stream_anon_consumer_lag_records")
    assert lag is not None
    assert lag != pytest.approx(0)
    assert lag != lag  # noqa: PLR0124 - NaN
