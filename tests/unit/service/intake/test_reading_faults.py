from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from stream_anon.formats.json.scanner import spans
from stream_anon.service.events import InputSkipped, PartitionStopped, ReadingFault
from tests.support.driver import Driver, people
from tests.support.memory import MemoryBroker


async def test_a_record_that_makes_a_kernel_leave_its_bounds_is_a_dead_letter_and_told_and_no_other_one_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = spans.find_members

    def faulty(text: Any, *others: Any) -> None:
        if b"poison" in text.tobytes():
            raise IndexError("index is out of bounds")
        find(text, *others)

    monkeypatch.setattr(spans, "find_members", faulty)
    async with Driver() as driver:
        driver.send(people(4))
        await driver.settle()
        driver.send([*people(3, 4), b'{"person": "poison"}', *people(3, 7)])
        await driver.advance(20)
        assert driver.told(ReadingFault) == [ReadingFault(("people", 0), 4)]
        assert driver.broker.serials == Counter(range(10))
        assert driver.broker.offsets == {("people", 0): 11}


@pytest.mark.parametrize("choice", ["stop", "skip"])
async def test_a_batch_that_makes_a_kernel_leave_its_bounds_is_told_and_stops_its_partition_or_is_skipped(
    choice: str,
) -> None:
    broker = MemoryBroker(2)
    async with Driver(broker, kafka={"lost_input": choice}) as driver:
        driver.source.damaged, driver.source.faulty = (1, 3, 7), True
        driver.send(people(10), partition=0)
        driver.send(people(10, 10), partition=1)
        await driver.advance(20)
        assert driver.told(ReadingFault) == [ReadingFault(("people", 1), 3)]
        assert len(driver.told(InputSkipped)) == (choice == "skip")
        assert len(driver.told(PartitionStopped)) == (choice == "stop")
