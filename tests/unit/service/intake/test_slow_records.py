from __future__ import annotations

from stream_anon.formats.json.scanner.tables import MOST_PARENTS
from stream_anon.service.events import ReadingSlowly, RecordsConsumed, WindowPublished
from tests.support.driver import Driver, people


async def test_records_that_are_read_one_by_one_are_counted() -> None:
    async with Driver() as driver:
        driver.send([*people(5), b"{", None, *people(5, 5)])
        await driver.settle()
        assert not driver.told(ReadingSlowly)
        consumed = driver.told(RecordsConsumed)
        assert sum(event.records for event in consumed) == 12
        await driver.advance(10)
        assert [window.readings.singly for window in driver.told(WindowPublished)] == [2]


async def test_how_records_were_read_is_told_with_the_window_that_their_chunk_ends_in() -> None:
    async with Driver(window={"max_records": 10}) as driver:
        driver.send([*people(5), b"{"])
        await driver.settle()
        driver.send([*people(7, 5), b"{", b"["])
        await driver.advance(10)
        assert [window.readings.singly for window in driver.told(WindowPublished)] == [1, 2]


async def test_a_policy_that_lets_every_record_be_read_one_by_one_is_told_of_at_the_start() -> None:
    name = ".".join("d" * (MOST_PARENTS + 1))
    deep = {name: {"role": "insensitive", "accept_linkable": True, "accept_missing": True}}
    async with Driver(attributes=deep) as driver:
        assert driver.told(ReadingSlowly) == [ReadingSlowly((name,))]
        driver.send(people(5))
        await driver.advance(10)
        assert [window.readings.singly for window in driver.told(WindowPublished)] == [5]
