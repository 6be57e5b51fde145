"""Stream whole topics as readers of committed records see them, without a group and without committing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError, UnknownTopicOrPartitionError

from stream_anon.adapters.kafka.client.connection import Connection, connection_error
from stream_anon.adapters.kafka.reading.ends import at_the_ends
from stream_anon.errors import BrokerError, TopicError

_START_WITHIN = 30.0
_STALLED = 30.0  # seconds without a record and without the end
_POLL_MS = 200
_MOST_POLLED = 5_000
_BY_BROKER = 1  # the timestamp type of a topic that sets times itself


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
        Milliseconds that its producer set; None where the broker sets times.
    """

    topic: str
    partition: int
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    keyed: bool
    time: int | None


async def committed_records(
    connection: Connection,
    topics: Collection[str],
    enough: Callable[[], bool],
    patience: float,
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
        Asked once the ends are reached that the partitions had when they were first fetched. Where a service
        still writes, the ends of different partitions are never of one moment.
    patience
        Seconds to wait for enough after that.
    since
        Seconds since the epoch: each partition is read from its first record of that time on. None for all.
    trimmed
        Told of each partition that is read from its start, where that is not offset 0: topic, partition, and
        whether nothing is left of it.

    Raises
    ------
    TopicError
        If a topic does not exist.
    BrokerError
        If the broker cannot be reached, refuses, or sends nothing more before the end.
    """
    consumer = AIOKafkaConsumer(
        **connection.options("audit"),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        fetch_max_wait_ms=_POLL_MS,
    )
    try:
        async with asyncio.timeout(_START_WITHIN):
            await consumer.start()
            places = [place for topic in topics for place in await _places(consumer, topic)]
            consumer.assign(places)
            await _begin(consumer, places, since, trimmed)
        async for records in _read(consumer, places, enough, patience):
            yield records
    except BrokerError:
        raise
    except (KafkaError, OSError, AssertionError, TimeoutError) as error:
        raise await connection_error(connection, f"reading {' and '.join(topics)}", error) from None
    finally:
        with contextlib.suppress(TimeoutError, KafkaError, OSError, AssertionError):
            async with asyncio.timeout(2.0):
                await consumer.stop()


async def _places(consumer: AIOKafkaConsumer, topic: str) -> list[TopicPartition]:
    await consumer._client.force_metadata_update()  # noqa: SLF001 - as in ledger.py
    try:
        numbers = await consumer._client._wait_on_metadata(topic)  # noqa: SLF001
    except UnknownTopicOrPartitionError:
        raise TopicError(f"{topic}: does not exist") from None
    return [TopicPartition(topic, number) for number in sorted(numbers)]


async def _begin(
    consumer: AIOKafkaConsumer,
    places: list[TopicPartition],
    since: float | None,
    trimmed: Callable[[str, int, bool], None],
) -> None:
    """Go to the first record of a time, and tell what is read from its start and lacks some of it."""
    starts = await consumer.beginning_offsets(places)
    ends = await consumer.end_offsets(places)
    firsts = dict(starts)
    if since is not None:
        found = await consumer.offsets_for_times(dict.fromkeys(places, max(0, int(since * 1000))))
        for place in places:
            first = found.get(place)
            firsts[place] = ends[place] if first is None else first.offset
            consumer.seek(place, firsts[place])
    for place in places:
        if firsts[place] == starts[place] > 0:
            trimmed(place.topic, place.partition, starts[place] >= ends[place])


async def _read(
    consumer: AIOKafkaConsumer, places: list[TopicPartition], enough: Callable[[], bool], patience: float
) -> AsyncIterator[list[CommittedRecord]]:
    clock = asyncio.get_running_loop()
    ends: dict[TopicPartition, int] = {}
    heard, reached = clock.time(), None
    while True:
        answer = await consumer.getmany(timeout_ms=_POLL_MS, max_records=_MOST_POLLED)
        if answer:
            heard = clock.time()
            yield [_record(record) for part in answer.values() for record in part]
        if reached is None and await at_the_ends(consumer, places, ends):
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
