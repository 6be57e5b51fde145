"""Where a partition goes on."""

from __future__ import annotations

import pytest

from stream_anon.ports import LedgerEntry
from stream_anon.service.events import PartitionStopped
from stream_anon.service.takeover.resuming import judge
from stream_anon.service.takeover.taken_over import Start, Stop
from tests.support.driver import Driver, after_release, people
from tests.support.memory import INPUT, MemoryBroker

P, Q = ("in", 0), ("in", 1)


@pytest.mark.parametrize(
    ("stable", "entry", "expected"),
    [
        (None, None, None),
        (None, 7, Start(7, from_ledger=True)),
        (7, None, Start(7)),
        (7, 7, Start(7)),
        (9, 7, Start(9, skipped=True)),
        (0, 0, Start(0)),
    ],
)
def test_partition_goes_on_from_the_offset_that_ledger_and_group_allow(
    stable: int | None, entry: int | None, expected: Start | None
) -> None:
    assert judge(P, stable, None if entry is None else LedgerEntry(entry)) == expected


def test_rewound_partition_stops_with_a_reason() -> None:
    reason = judge(P, 3, LedgerEntry(7))
    assert isinstance(reason, Stop)
    for part in ("offset 3", "in-0", "ledger's 7", "stream-anon forget"):
        assert part in reason.text


@pytest.mark.parametrize("stable", [None, 20], ids=["no offset", "an offset"])
async def test_an_entry_beyond_the_end_of_the_input_is_refused_and_named(stable: int | None) -> None:
    broker = MemoryBroker()
    driver = await after_release(broker)
    broker.ledger[INPUT, 0] = 99_999_999
    broker.offsets = {} if stable is None else {(INPUT, 0): stable}
    async with Driver(broker, driver.clock) as driver:
        (stopped,) = driver.told(PartitionStopped)
        assert stopped.reason == "unbacked"
        for part in ("99999999", "people-0", "end 20", "stream-anon forget"):
            assert part in stopped.explanation


async def used_without_its_ledger(offsets: dict[tuple[str, int], int]) -> Driver:
    """Return a worker on a broker whose ledger was deleted at rest after twenty records of partition 0 were out."""
    broker = MemoryBroker()
    driver = await after_release(broker)
    broker.delete_ledger()
    broker.offsets = offsets
    async with Driver(broker, driver.clock) as driver:
        driver.send(people(20, 20), 0)
        await driver.advance(20)
    return driver


@pytest.mark.parametrize("offsets", [{}, {(INPUT, 0): 0}], ids=["no offset", "offset 0"])
async def test_a_used_partition_without_entry_and_offset_is_not_released_from_the_start_again(
    offsets: dict[tuple[str, int], int],
) -> None:
    driver = await used_without_its_ledger(offsets)
    assert max(driver.broker.serials.values()) == 1
    (stopped,) = driver.told(PartitionStopped)
    assert (stopped.place, stopped.reason) == ((INPUT, 0), "unrecorded"), "the other one never held a record"
    assert "forget --recreated --partition people:0" in stopped.explanation


async def test_a_partition_with_an_offset_goes_on_there_though_the_ledger_is_lost() -> None:
    driver = await used_without_its_ledger({(INPUT, 0): 20})
    assert not driver.told(PartitionStopped)
    assert driver.broker.accounted == 40


async def test_a_fresh_service_of_two_workers_begins_everywhere() -> None:
    broker = MemoryBroker()
    async with Driver(broker) as one:
        one.send(people(20), 0)
        await one.settle()
        one.send(people(5, 20), 1)
        async with Driver(broker, one.clock, "two") as two:
            for _ in range(3):
                await one.settle()
                await two.settle()
            one.clock.advance(20)
            for _ in range(3):
                await one.settle()
                await two.settle()
            assert broker.accounted == 25
            assert not one.told(PartitionStopped) + two.told(PartitionStopped)
