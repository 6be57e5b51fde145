from __future__ import annotations

from stream_anon.adapters.json.scanner.tables import MOST_PARENTS
from stream_anon.service.events import ReadingSlowly, RecordsConsumed
from tests.support.driver import Driver, people


async def test_records_that_are_read_one_by_one_are_counted() -> None:
    async with Driver() as driver:
        driver.send([*people(5), b"{", None, *people(5, 5)])
        await driver.settle()
        assert not driver.told(ReadingSlowly)
        consumed = driver.told(RecordsConsumed)
        assert sum(event.records for event in consumed) == 12
        assert sum(event.singly for event in consumed) == 2


async def test_a_policy_that_lets_every_record_be_read_one_by_one_is_told_of_at_the_start() -> None:
    name = ".".join("d" * (MOST_PARENTS + 1))
    deep = {name: {"role": "insensitive", "accept_linkable": True, "accept_missing": True}}
    async with Driver(attributes=deep) as driver:
        assert driver.told(ReadingSlowly) == [ReadingSlowly((name,))]
        driver.send(people(5))
        await driver.settle()
        assert sum(event.singly for event in driver.told(RecordsConsumed)) == 5
