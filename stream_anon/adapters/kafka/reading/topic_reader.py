"""Read whole topics as readers of committed records see them, without a group and without committing anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass

from aiokafka import ConsumerRecord, TopicPartition

from stream_anon.adapters.kafka.bulk.whole_records import size_of
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.topic_consumer import RecordConsumer, connected_consumer, read_to_the_ends
from stream_anon.errors import UnreadableRecords

_STALLED = 30.0  # seconds without a record and without the end
_BY_BROKER = 1  # the timestamp type of a topic that sets times itself


@dataclass(frozen=True, slots=True)
class TopicReading:
    """What was read of a topic.

    Parameters
    ----------
    records
        Per partition in order of offsets, as aiokafka gives them.
    whole
        Partitions that were read from their first record on.
    complete
        False if time or bytes ran out before the end that the partitions had.
    """

    records: Mapping[int, list[ConsumerRecord]]
    whole: frozenset[int]
    complete: bool

    def __len__(self) -> int:
        return sum(map(len, self.records.values()))


@dataclass(frozen=True, slots=True)
class CommittedRecord:
    """A record of a topic.

    Parameters
    ----------
    headers
        Names and values, in order.
    keyed
        Whether it has a key.
    time
        Milliseconds that its producer set; None if the broker sets times.
    """

    topic: str
    partition: int
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    keyed: bool
    time: int | None


async def read_topic(
    connection: Connection,
    topic: str,
    *,
    newest: int | None = None,
    most_bytes: int = 1024 * 1024 * 1024,
    within: float = 30.0,
) -> TopicReading:
    """Return the committed records of a topic up to the end that each partition has when it is first fetched.

    Parameters
    ----------
    newest
        The most records in all, the newest ones of each partition; None for all.
    most_bytes, within
        The bytes and seconds after which reading stops.

    Raises
    ------
    TopicError
        If there is no such topic, or this user may not read it.
    UnreadableRecords
        If it holds a batch that nobody can read.
    BrokerError
        If the broker cannot be reached or refuses.
    """
    async with connected_consumer(connection, [topic], "reader") as (consumer, places):
        reader = RecordConsumer(consumer, places)
        firsts = await reader.begin()
        newest = None if newest is None else -(-newest // len(firsts))
        starts = firsts if newest is None else await reader.begin_near_the_end(newest, firsts)
        records: dict[TopicPartition, list[ConsumerRecord]] = {place: [] for place in firsts}

        def keep(place: TopicPartition, part: list[ConsumerRecord]) -> int:
            records[place] += part
            return sum(map(size_of, part))

        complete = await read_to_the_ends(reader, keep, most_bytes, within)
    kept = {place: part if newest is None else part[-newest:] for place, part in records.items()}
    uncut = (p for p in firsts if starts[p] <= firsts[p] and len(kept[p]) == len(records[p]))
    whole = frozenset(place.partition for place in uncut)
    return TopicReading({place.partition: part for place, part in kept.items()}, whole, complete)


async def committed_records(
    connection: Connection,
    topics: Collection[str],
    enough: Callable[[], bool],
    patience: float,
    unreadable: Callable[[UnreadableRecords], None],
    *,
    since: float | None = None,
    trimmed: Callable[[str, int, bool], None] = lambda _topic, _partition, _empty: None,
) -> AsyncIterator[list[CommittedRecord]]:
    """Yield all committed records of topics up to their ends, then further ones until it is enough.

    Parameters
    ----------
    topics
        Their partitions are read side by side, each in order.
    enough
        Asked once each partition was read to the end that it had when it was first fetched. While a service still
        writes, the ends of different partitions are never of the same moment.
    patience
        Seconds to wait for enough after that.
    unreadable
        Called for each batch that nobody can read; it is passed over.
    since
        Seconds since the epoch: each partition is read from its first record of that time on. None for all.
    trimmed
        Called for each partition that is read from its start if that is not offset 0: with topic, partition, and
        whether the partition is empty.

    Raises
    ------
    TopicError
        If a topic does not exist, or this user may not read it.
    BrokerError
        If the broker cannot be reached, refuses, or sends nothing more before the end.
    """
    async with connected_consumer(connection, topics, "audit") as (consumer, places):
        reader = RecordConsumer(consumer, places)
        firsts = await reader.begin()
        starts = firsts if since is None else await reader.begin_at(since)
        ends = await reader.ends()
        for place, first in firsts.items():
            if starts[place] == first > 0:
                trimmed(place.topic, place.partition, first >= ends[place])
        clock = asyncio.get_running_loop()
        heard, reached = clock.time(), None
        while True:
            try:
                answer = await reader.poll()
            except UnreadableRecords as error:
                unreadable(error)
                reader.go_on(TopicPartition(error.topic, error.partition), error.after)
                answer, heard = {}, clock.time()
            if answer:
                heard = clock.time()
                yield [_record(record) for part in answer.values() for record in part]
            if reached is None and await reader.at_the_ends():
                reached = clock.time()
            if reached is None:
                if clock.time() - heard > _STALLED:
                    raise TimeoutError
            elif enough() or clock.time() - reached > patience:
                return


def _record(record: ConsumerRecord) -> CommittedRecord:
    time = None if record.timestamp_type == _BY_BROKER else record.timestamp
    return CommittedRecord(
        record.topic, record.partition, record.value, tuple(record.headers), record.key is not None, time
    )
