"""The one suite for all sinks: what the port promises, whatever stands behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from stream_anon.adapters.kafka.writing.window_producer import WindowProducer
from stream_anon.errors import LEAST_LIMIT, OutcomeUnknown, OwnershipLost
from stream_anon.ports import Membership, Parcel, Place, Publication, Sink, Steps
from stream_anon.ports.publication import bundled
from tests.conformance.shipped import implementations
from tests.conformance.sinks import SINKS, Destination, Output, Sent
from tests.support.apache_kafka import ApacheKafka

WITHIN = 30.0
HEADER = (("batch", b"b1"),)


@dataclass
class Case:
    """An entry of the table, and what it needs to be opened."""

    entry: Destination
    broker: ApacheKafka | None
    name: str

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[Output, Sink]]:
        """Yield a sink that is open, with its topics and group."""
        async with self.entry.open(self.broker, self.name) as given, asyncio.timeout(2 * WITHIN):
            await given.sink.open()
            yield given, given.sink


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.kafka] if it.broker else []) for name, it in SINKS.items()]
)
def case(request: pytest.FixtureRequest, unique: str) -> Case:
    entry = SINKS[request.param]
    return Case(entry, request.getfixturevalue("kafka") if entry.broker else None, unique)


def window(given: Output, records: int = 30) -> list[Parcel]:
    """Return parcels as a window has them: records in two partitions of the output, and a certificate."""
    values = [b"%d" % number for number in range(records)]
    return [
        Parcel(given.output, 0, values[:10], 5000, HEADER),
        Parcel(given.output, 2, values[10:20], 5000, HEADER),
        Parcel(given.output, 0, values[20:], 5000, HEADER),
        Parcel(given.certificates, 0, [b"certificate"], 5000, (*HEADER, ("part", b"1"))),
    ]


def seen(parcels: list[Parcel], topic: str) -> list[Sent]:
    """Return what readers see of a topic once parcels are published."""
    mine = sorted((parcel for parcel in parcels if parcel.topic == topic), key=lambda parcel: parcel.partition)
    return [(it.partition, None, value, it.time, it.headers) for it in mine for value in it.values]


def steps(before: int = 0, pause: Callable[[], Awaitable[object]] | None = None) -> Steps:
    """Return steps that break before one of them, or pause there."""

    async def at(step: str) -> None:
        if step == f"closing.{before}":
            if pause is None:
                raise OutcomeUnknown("broken on purpose")
            await pause()

    return Steps("closing", at)


async def publish(
    given: Output,
    parcels: list[Parcel],
    ends: dict[Place, int],
    doing: Steps | None = None,
    membership: Membership | None = None,
) -> None:
    starts = {place: offset or 0 for place, offset in (await given.sink.stable_offsets(ends.keys())).items()}
    window = Publication("b1", tuple(parcels), starts, ends, "", 5000)
    await given.sink.publish(window, membership or given.membership, doing or steps())


def by_partition(records: list[Sent]) -> list[Sent]:
    return sorted(records, key=lambda record: record[0])  # stable: the order within each stays


def test_every_sink_of_the_package_is_tested_here() -> None:
    assert implementations(Sink) <= {entry.of for entry in SINKS.values()}
    producers = {f"{each.producer.__module__}.{each.producer.__name__}" for each in SINKS.values() if each.producer}
    base = f"{WindowProducer.__module__}.{WindowProducer.__name__}"
    assert implementations(WindowProducer) - {base} == producers


async def test_a_window_and_its_offsets_become_visible(case: Case) -> None:
    async with case.open() as (given, sink):
        parcels, ends = window(given), {(given.input, 0): 20, (given.input, 1): 10}
        await publish(given, parcels, ends)
        assert await sink.stable_offsets(ends.keys()) == ends
        for topic in (given.output, given.certificates):
            wanted = seen(parcels, topic) if case.entry.publishes else []
            assert by_partition(await given.visible(topic)) == wanted


async def test_one_window_follows_another(case: Case) -> None:
    async with case.open() as (given, sink):
        place, parcels = (given.input, 0), window(given)
        for turn in (1, 2, 3):
            await publish(given, parcels, {place: 10 * turn})
        assert await sink.stable_offsets([place]) == {place: 30}
        assert len(await given.visible(given.output)) == (90 if case.entry.publishes else 0)


async def test_a_bundle_of_windows_becomes_visible_with_the_offsets_of_its_last_one(case: Case) -> None:
    async with case.open() as (given, sink):
        one, other = (given.input, 0), (given.input, 1)
        windows = [
            Publication("b1", tuple(window(given)), {one: 0, other: 0}, {one: 20, other: 10}, "", 5000),
            Publication("b2", tuple(window(given)), {one: 20}, {one: 50}, "", 6000),
        ]
        await given.sink.publish(bundled(windows), given.membership, steps())
        assert await sink.stable_offsets([one, other]) == {one: 50, other: 10}
        for topic in (given.output, given.certificates):
            wanted = seen([*windows[0].parcels, *windows[1].parcels], topic) if case.entry.publishes else []
            assert by_partition(await given.visible(topic)) == wanted


async def test_nothing_of_a_window_that_broke_before_its_commit_is_visible(case: Case) -> None:
    async with case.open() as (given, sink):
        place = (given.input, 0)
        with pytest.raises(OutcomeUnknown):
            await publish(given, window(given), {place: 10}, steps(9))
        await sink.discard()
        await sink.open()
        if case.entry.transactions:
            assert await sink.stable_offsets([place]) == {place: None}
            assert await given.visible(given.output) == []
        await publish(given, window(given), {place: 10})
        assert await sink.stable_offsets([place]) == {place: 10}
        if case.entry.transactions:
            assert len(await given.visible(given.output)) == 30


async def test_stable_offsets_are_not_told_while_a_window_may_change_them(case: Case) -> None:
    if not case.entry.transactions:
        pytest.skip("it has no transactions")
    async with case.open() as (given, sink):
        place, there, go_on = (given.input, 0), asyncio.Event(), asyncio.Event()

        async def pause() -> None:
            there.set()
            await go_on.wait()

        publishing = asyncio.create_task(publish(given, window(given), {place: 10}, steps(9, pause)))
        await there.wait()
        asking = asyncio.create_task(sink.stable_offsets([place]))
        await asyncio.sleep(0.3)
        assert not asking.done()
        go_on.set()
        await publishing
        assert await asking == {place: 10}


async def test_an_old_generation_publishes_nothing(case: Case) -> None:
    async with case.open() as (given, sink):
        place, now = (given.input, 0), given.membership
        for old in (replace(now, generation=now.generation - 1), Membership(now.generation, "nobody")):
            with pytest.raises(OwnershipLost):
                await publish(given, window(given), {place: 10}, membership=old)
            await sink.discard()
            await sink.open()
            assert await sink.stable_offsets([place]) == {place: None}
        if case.entry.transactions:
            assert await given.visible(given.output) == []


async def test_pinned_offsets_are_committed_at_once_and_by_members_only(case: Case) -> None:
    async with case.open() as (given, sink):
        place, now = (given.input, 1), given.membership
        with pytest.raises(OwnershipLost):
            await sink.pin_offsets({place: 7}, replace(now, generation=now.generation - 1))
        assert await sink.stable_offsets([place]) == {place: None}
        await sink.pin_offsets({place: 7}, now)
        assert await sink.stable_offsets([place, (given.input, 0)]) == {place: 7, (given.input, 0): None}


async def test_a_topic_that_is_missing_is_named(case: Case) -> None:
    async with case.open() as (given, sink):
        ids = await sink.topic_ids([given.input, "nowhere"])
        assert ids.missing <= {"nowhere"}
        assert ids.ids.keys() <= {given.input}
        assert not case.entry.transactions or ids.missing == {"nowhere"}


async def test_a_topic_has_as_many_partitions_as_the_sink_can_send_to(case: Case) -> None:
    async with case.open() as (given, sink):
        count = (await sink.targets()).partitions[given.output]
        parcels = [Parcel(given.output, partition, [b"x"], 5000, HEADER) for partition in range(count)]
        await publish(given, parcels, {(given.input, 0): 1})
        wanted = list(range(count)) if case.entry.publishes else []
        assert sorted(partition for partition, *_ in await given.visible(given.output)) == wanted


async def test_what_fits_where_windows_go_is_not_known_or_as_much_as_any_sound_topic_takes(case: Case) -> None:
    async with case.open() as (_, sink):
        targets = await sink.targets()
        assert targets.most_value is None or targets.most_value > LEAST_LIMIT // 2
        assert targets.most_part is None or targets.most_part > LEAST_LIMIT // 2


async def test_opening_twice_and_throwing_away_twice_does_no_harm(case: Case) -> None:
    async with case.open() as (given, sink):
        await sink.open()
        for _ in range(2):
            await sink.discard()
        await sink.open()
        await publish(given, window(given), {(given.input, 0): 10})
        assert await sink.stable_offsets([(given.input, 0)]) == {(given.input, 0): 10}


async def test_how_it_delivers_is_one_of_three_words(case: Case) -> None:
    async with case.open() as (_, sink):
        assert sink.delivery in ("exactly-once", "at-least-once", "shadow")
        assert (sink.delivery == "exactly-once") is case.entry.transactions
