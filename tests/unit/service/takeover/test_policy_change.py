"""Workers of two revisions of a policy on one output: once the higher has published, the lower stands by."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from stream_anon.adapters.kafka.ledger.no_ledger import NoLedger
from stream_anon.service.events import Outcome, Superseded, TransactionEnded, WindowAbandoned, WindowProgress
from stream_anon.service.status.status_board import StatusBoard
from stream_anon.service.wiring.observing import into_metrics
from tests.support.clock import FakeClock
from tests.support.driver import Driver, people
from tests.support.memory import MemoryBroker

OLD: dict[str, Any] = {"k": 3, "revision": 1}
NEW: dict[str, Any] = {"k": 5, "revision": 2}


def _asked(broker: MemoryBroker) -> list[tuple[int, int]]:
    """Return revision and k of each certificate in the order of the commits."""
    return [(c["revision"], c["asked"]["k"]) for c in broker.certificates]


async def _publish(broker: MemoryBroker, clock: FakeClock, privacy: dict[str, Any], count: int, first: int) -> None:
    """Let a worker of its own publish so many records and leave."""
    async with Driver(broker, clock, f"w{first}", privacy=privacy) as driver:
        driver.send(people(count, first))
        await driver.advance(11)
        await driver.stop()


async def test_a_worker_of_a_lower_revision_reads_nothing_and_is_ready() -> None:
    broker, clock = MemoryBroker(), FakeClock()
    await _publish(broker, clock, NEW, 20, 0)
    async with Driver(broker, clock, "old", privacy=OLD) as driver:
        driver.send(people(20, 20))
        await driver.advance(11)

        assert _asked(broker) == [(2, 5)]
        assert driver.told(Superseded) == [Superseded(by=2, own=1, partitions=2)]
        board = StatusBoard(clock.monotonic)
        for event in driver.events:
            board(event)
        ready, remark = board.readiness()
        assert ready
        assert "revision 2" in remark
        assert "revision 1" in remark
        assert [w for w in board.status()["warnings"] if w.startswith("stands by")]  # type: ignore[attr-defined]


async def test_a_worker_without_a_ledger_stands_by_where_certificates_name_a_higher_revision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.support.driver.MemoryLedger", lambda *_: NoLedger())
    driver = Driver(privacy=OLD)
    driver.worker.published_under(2)
    async with driver:
        driver.send(people(20))
        await driver.advance(11)
        assert driver.told(Superseded) == [Superseded(by=2, own=1, partitions=2)]
        assert not driver.broker.committed


async def test_partitions_that_are_left_to_a_newer_policy_are_counted_and_so_is_what_waits_there() -> None:
    broker, clock = MemoryBroker(), FakeClock()
    await _publish(broker, clock, NEW, 20, 0)
    registry = CollectorRegistry()
    async with Driver(broker, clock, "old", privacy=OLD) as driver:
        driver.send(people(7, 20))
        listen = into_metrics(registry)
        for _ in range(3):
            await driver.advance(2.1)
        for event in driver.events:
            listen(event)

        assert registry.get_sample_value("stream_anon_partitions_superseded") == 2
        assert registry.get_sample_value("stream_anon_partitions_not_read") == 0
        assert registry.get_sample_value("stream_anon_consumer_lag_records") == 7
        assert driver.told(WindowProgress)[-1].records == 0


async def test_a_window_of_a_lower_revision_is_not_committed_after_one_of_a_higher() -> None:
    broker, clock = MemoryBroker(2), FakeClock()
    async with (
        Driver(broker, clock, "old", privacy=OLD) as old,
        Driver(broker, clock, "new", privacy=NEW) as new,
    ):
        await old.settle()  # each has one partition now
        old.send(people(19), 0)
        old.send(people(20, 19), 1)
        await old.settle()
        await new.settle()
        assert _asked(broker) == [(2, 5)]

        await old.advance(11)  # its window is due, on a partition that nobody else has published

        assert _asked(broker) == [(2, 5)]
        assert old.told(TransactionEnded)[-1].outcome is Outcome.LOST
        assert [event.reason for event in old.told(WindowAbandoned)] == ["lost"]
        assert len(old.told(Superseded)) == 1


async def test_workers_that_all_have_the_lower_revision_stop_taking_and_do_not_loop() -> None:
    broker, clock = MemoryBroker(2), FakeClock()
    await _publish(broker, clock, NEW, 20, 0)
    async with Driver(broker, clock, "a", privacy=OLD) as one, Driver(broker, clock, "b", privacy=OLD) as two:
        for driver in (one, two):
            driver.send(people(20, 20))
        for _ in range(5):
            await one.advance(11)
            await two.advance(11)

        assert _asked(broker) == [(2, 5)]
        for driver in (one, two):
            assert not driver.told(TransactionEnded)
            assert len(driver.told(Superseded)) == 1


async def test_the_records_that_a_lower_revision_left_are_published_once_by_the_next_owner() -> None:
    broker, clock = MemoryBroker(2), FakeClock()
    async with Driver(broker, clock, "old", privacy=OLD) as old:
        old.send(people(10), 0)
        old.send(people(10, 10), 1)
        await old.settle()
        async with Driver(broker, clock, "new", privacy=NEW) as new:
            for _ in range(3):
                await old.advance(4)
                await new.advance(4)
            await old.stop()
            for _ in range(3):
                await new.advance(11)

            assert broker.accounted == 20
            assert sorted(broker.serials) == list(range(20))
            assert max(broker.serials.values()) == 1
            assert _asked(broker) == sorted(_asked(broker))


async def test_the_old_policy_comes_back_under_a_higher_revision() -> None:
    broker, clock = MemoryBroker(), FakeClock()
    await _publish(broker, clock, OLD, 20, 0)
    await _publish(broker, clock, NEW, 20, 20)
    await _publish(broker, clock, OLD | {"revision": 3}, 20, 40)

    assert _asked(broker) == [(1, 3), (2, 5), (3, 3)]
    assert broker.accounted == 60


async def test_a_policy_without_a_revision_goes_on_as_before() -> None:
    broker, clock = MemoryBroker(), FakeClock()
    await _publish(broker, clock, {"k": 3}, 20, 0)
    await _publish(broker, clock, {"k": 5}, 20, 20)

    assert _asked(broker) == [(0, 3), (0, 5)]
