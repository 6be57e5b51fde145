"""An input topic that was deleted and created again: its offsets mean other records, and none may be skipped."""

from __future__ import annotations

import pytest

from stream_anon.ports import LedgerEntry
from stream_anon.service.events import PartitionStopped, TransactionBroken, WindowPublished
from stream_anon.service.takeover.resuming import judge
from stream_anon.service.takeover.takeover_steps import Start, Stop
from tests.support.driver import Driver, after_release, people
from tests.support.memory import INPUT, MemoryBroker

P = (INPUT, 0)


@pytest.mark.parametrize("stable", [None, 0, 3, 7, 9])
def test_an_entry_of_another_topic_stops_its_partition_whatever_the_offsets_are(stable: int | None) -> None:
    stop = judge(P, stable, LedgerEntry(7, "b", "old"), "new")
    assert isinstance(stop, Stop)
    assert (stop.reason, stop.begins) == ("recreated", 0)
    for part in (
        "people was deleted and created anew",
        "people-0",
        "stream-anon forget --recreated",
        "stream-anon realign",
    ):
        assert part in stop.text


@pytest.mark.parametrize(("of", "now"), [(None, "new"), ("old", None), (None, None), ("old", "old")])
def test_an_id_that_one_side_does_not_know_is_no_proof_of_another_topic(of: str | None, now: str | None) -> None:
    assert judge(P, 7, LedgerEntry(7, "b", of), now) == Start(7)


@pytest.mark.parametrize("offsets", [{}, {P: 20}, {P: 5}], ids=["deleted with the topic", "kept", "set back"])
async def test_a_topic_that_is_recreated_while_nobody_reads_is_not_skipped(
    offsets: dict[tuple[str, int], int],
) -> None:
    broker = MemoryBroker()
    before = await after_release(broker)
    assert broker.released_of[P] == "first", "entries name the topic"
    broker.recreate()
    broker.offsets.clear()
    broker.offsets |= offsets
    async with Driver(broker, before.clock) as driver:
        driver.send(people(40, 100))
        await driver.advance(20)
        assert [(e.place, e.reason) for e in driver.told(PartitionStopped)] == [(P, "recreated")]
        assert not driver.told(WindowPublished)
        assert driver.worker._reader.lag() == 40


async def test_a_topic_that_is_recreated_under_an_open_window_takes_its_rows_with_it() -> None:
    broker = MemoryBroker()
    async with Driver(broker) as driver:
        driver.send(people(20))
        await driver.settle()
        driver.send(people(5, 20))
        await driver.settle()
        assert driver.worker._engine.open_window.records == 5
        broker.recreate()
        driver.send(people(60, 100))  # what is fetched from offset 25 on fills the window
        await driver.advance(20)
        assert [e.reason for e in driver.told(PartitionStopped)] == ["recreated"]
        assert broker.accounted == 20
        assert max(broker.serials) < 20, "nothing of the window that held records of both topics is out"
        assert any("created anew" in event.error for event in driver.told(TransactionBroken))


async def test_a_topic_that_is_recreated_is_noticed_though_no_record_can_be_read() -> None:
    broker = MemoryBroker()
    async with Driver(broker) as driver:
        driver.send(people(20))
        await driver.settle()
        broker.recreate()
        driver.send(people(20, 100))  # the worker stands at the new topic's end
        driver.clock.advance(2.1)
        await driver.settle()
        await driver.settle()
        assert [e.reason for e in driver.told(PartitionStopped)] == ["recreated"]


@pytest.mark.parametrize("lost_input", ["stop", "skip"])
async def test_a_shorter_topic_is_recreated_and_not_one_whose_input_was_lost(lost_input: str) -> None:
    broker = MemoryBroker()
    async with Driver(broker, kafka={"lost_input": lost_input}) as driver:
        driver.send(people(20))
        await driver.settle()
        broker.recreate()
        driver.send(people(5, 100))
        await driver.settle()
        assert [e.reason for e in driver.told(PartitionStopped)] == ["recreated"]


async def test_a_topic_of_which_nothing_was_released_begins_anew_with_all_its_records() -> None:
    broker = MemoryBroker()
    async with Driver(broker) as driver:
        driver.send(people(5))
        await driver.settle()
        broker.recreate()
        driver.send(people(20, 100))
        driver.clock.advance(2.1)
        for _ in range(3):
            await driver.settle()
        assert not driver.told(PartitionStopped)
        assert set(broker.serials) <= set(range(100, 120))
        assert broker.accounted == 20


async def test_brokers_that_tell_no_ids_are_served_as_before() -> None:
    broker = MemoryBroker()
    broker.topic_id = None
    before = await after_release(broker)
    assert broker.released_of[P] is None
    async with Driver(broker, before.clock) as driver:
        driver.send(people(20, 20))
        await driver.settle()
        assert not driver.told(PartitionStopped)
        assert broker.accounted == 40
