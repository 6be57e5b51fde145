"""The one suite for all sources: what the port promises, whatever stands behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from stream_anon.ports import Held, Lost, Polled, Source
from tests.conformance.shipped import implementations
from tests.conformance.sources import PARTITIONS, SOURCES, Input

Opened = Callable[[], AbstractAsyncContextManager[Input]]
WITHIN = 15.0


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.kafka] if it.broker else []) for name, it in SOURCES.items()]
)
def opened(request: pytest.FixtureRequest, unique: str) -> Opened:
    """Return what makes a source that has not been started."""
    if request.param == "faust":
        pytest.importorskip("faust", reason="needs the extra `faust`")
    origin = SOURCES[request.param]
    broker = request.getfixturevalue("kafka") if origin.broker else None
    return lambda: origin.open(broker, unique)


@asynccontextmanager
async def member(opened: Opened) -> AsyncIterator[tuple[Input, Source, list[int]]]:
    """Yield a started source with its input, and the numbers of partitions 0 and 1."""
    async with opened() as given:
        await given.source.start()
        await assigned(given.source)
        yield given, given.source, numbers(given.source)


async def assigned(source: Source) -> None:
    async with asyncio.timeout(WITHIN):
        while len(source.assigned) < PARTITIONS:
            await source.moved(source.marks, 0.1)


def numbers(source: Source) -> list[int]:
    return sorted(source.assigned, key=lambda number: source.place(number)[1])


async def polls(source: Source, enough: Callable[[list[Polled]], bool]) -> list[Polled]:
    """Poll until it is enough."""
    found: list[Polled] = []
    async with asyncio.timeout(WITHIN):
        while not enough(found):
            found.append(await source.poll(0.1, 1000))
    return found


def values(polled: list[Polled], number: int) -> list[bytes | None]:
    return [value for poll in polled for chunk in poll.chunks if chunk.source == number for value in chunk.values]


async def read(source: Source, number: int, count: int) -> list[bytes | None]:
    return values(await polls(source, lambda found: len(values(found, number)) >= count), number)


def texts(first: int, last: int) -> list[bytes | None]:
    return [b"%d" % number for number in range(first, last)]


def test_every_source_of_the_package_is_tested_here() -> None:
    assert {f"{name}" for name in implementations(Source)} <= {origin.of for origin in SOURCES.values()}


async def test_a_source_outside_the_group_has_no_partition(opened: Opened) -> None:
    async with opened() as given:
        assert given.source.assigned == frozenset()
        assert not given.source.settled
        assert given.source.membership() is None


async def test_what_the_group_gives_moves_the_marks_and_gets_numbers(opened: Opened) -> None:
    async with opened() as given:
        before = given.source.marks
        await given.source.start()
        await assigned(given.source)
        assert given.source.marks != before
        assert given.source.settled
        assert given.source.membership() is not None
        places = [given.source.place(number) for number in numbers(given.source)]
        assert [partition for _, partition in places] == list(range(PARTITIONS))
        assert len({topic for topic, _ in places}) == 1
        assert await given.source.reachable()


async def test_nothing_is_read_before_it_is_sought_and_resumed(opened: Opened) -> None:
    async with member(opened) as (given, source, _):
        await given.write(0, texts(0, 5))
        for _ in range(3):
            assert await source.poll(0.1, 1000) == Polled()


async def test_records_come_in_order_and_without_a_gap_from_where_they_were_sought(opened: Opened) -> None:
    async with member(opened) as (given, source, both):
        for partition in (0, 1):
            await given.write(partition, texts(0, 50))
        for number, offset in zip(both, (0, 20), strict=True):
            source.seek(number, offset)
        source.resume(both)
        await given.write(0, texts(50, 60))
        found = await polls(source, lambda found: sum(len(values(found, number)) for number in both) >= 90)
        for number, begin, end in zip(both, (0, 20), (60, 50), strict=True):
            chunks = [chunk for poll in found for chunk in poll.chunks if chunk.source == number]
            assert [chunk.first for chunk in chunks] == [begin, *(chunk.end for chunk in chunks[:-1])]
            assert [offset for chunk in chunks for offset in chunk.offsets.tolist()] == list(range(begin, end))
            assert values(found, number) == texts(begin, end)
            assert all(len(chunk.times) == len(chunk.values) for chunk in chunks)


async def test_a_poll_waits_no_longer_than_it_is_told(opened: Opened) -> None:
    async with member(opened) as (_, source, both):
        for number in both:
            source.seek(number, 0)
        source.resume(both)
        async with asyncio.timeout(2.0):
            assert (await source.poll(0.1, 1000)).chunks == ()


async def test_tombstones_and_empty_records_come_too(opened: Opened) -> None:
    async with member(opened) as (given, source, (number, _)):
        await given.write(0, [b"a", None, b"", b"b"])
        source.seek(number, 0)
        source.resume([number])
        assert await read(source, number, 4) == [b"a", None, b"", b"b"]


async def test_seeking_back_brings_the_same_records_again(opened: Opened) -> None:
    async with member(opened) as (given, source, (number, _)):
        await given.write(0, texts(0, 10))
        source.seek(number, 0)
        source.resume([number])
        assert await read(source, number, 10) == texts(0, 10)
        source.seek(number, 4)
        assert await read(source, number, 6) == texts(4, 10)


async def test_a_paused_partition_brings_nothing_and_the_other_goes_on(opened: Opened) -> None:
    async with member(opened) as (given, source, (paused, other)):
        for number in (paused, other):
            source.seek(number, 0)
        source.resume([paused, other])
        source.pause([paused])
        for partition in (0, 1):
            await given.write(partition, texts(0, 10))
        found = await polls(source, lambda found: len(values(found, other)) >= 10)
        found.append(await source.poll(0.2, 1000))
        assert values(found, paused) == []
        source.seek(paused, 0)
        source.resume([paused])
        assert await read(source, paused, 10) == texts(0, 10)


async def test_bounds_are_the_first_offset_and_the_end(opened: Opened) -> None:
    async with member(opened) as (given, source, (number, other)):
        await given.write(0, texts(0, 10))
        await given.delete(0, 3)
        assert await source.bounds([number, other], "earliest") == {number: 3, other: 0}
        assert await source.bounds([number, other], "latest") == {number: 10, other: 0}
        assert await source.bounds([other], "latest") == {other: 0}


async def test_the_lag_is_what_was_written_and_not_read(opened: Opened) -> None:
    async with member(opened) as (given, source, (number, _)):
        await given.write(0, texts(0, 10))
        source.seek(number, 2)
        source.resume([number])
        found = await polls(source, lambda found: any(poll.chunks for poll in found))
        assert source.lag([number]) == 8 - len(values(found, number))
        await polls(source, lambda more: len(values(found + more, number)) >= 8)
        assert source.lag([number]) == 0
        assert source.held([number]) == Held()


async def test_records_that_were_deleted_unread_are_told_as_lost_where_the_source_stood(opened: Opened) -> None:
    async with member(opened) as (given, source, (number, _)):
        await given.write(0, texts(0, 10))
        await given.delete(0, 6)
        source.seek(number, 2)
        source.resume([number])
        found = await polls(source, lambda found: any(poll.lost for poll in found))
        assert [lost for poll in found for lost in poll.lost] == [Lost(number, 2)]
        assert values(found, number) == []


async def test_a_reassignment_moves_the_marks_and_stops_the_reading(opened: Opened) -> None:
    async with member(opened) as (given, source, (number, other)):
        await given.write(0, texts(0, 10))
        source.seek(number, 0)
        source.resume([number, other])
        await read(source, number, 10)
        marks, membership, place = source.marks, source.membership(), source.place(number)
        await given.reassign()
        assert source.marks != marks
        assert source.membership() != membership
        assert source.place(number) == place, "a number never changes"
        await given.write(0, texts(10, 20))
        for _ in range(3):
            assert await source.poll(0.1, 1000) == Polled()
        source.seek(number, 5)
        source.resume([number])
        assert await read(source, number, 15) == texts(5, 20)


async def test_moved_returns_when_its_time_is_over(opened: Opened) -> None:
    async with member(opened) as (_, source, __):
        async with asyncio.timeout(2.0):
            await source.moved(source.marks, 0.05)
        async with asyncio.timeout(2.0):
            await source.moved(source.marks - 1, 60.0)


async def test_a_stopped_source_has_nothing_and_can_be_started_again(opened: Opened) -> None:
    async with member(opened) as (given, source, both):
        places, marks = [source.place(number) for number in both], source.marks
        for _ in range(2):
            await source.stop(5.0)
            assert source.assigned == frozenset()
            assert not source.settled
            assert source.marks != marks
        await source.start()
        await assigned(source)
        assert [source.place(number) for number in both] == places
        await given.write(1, texts(0, 3))
        source.seek(both[1], 0)
        source.resume([both[1]])
        assert await read(source, both[1], 3) == texts(0, 3)
