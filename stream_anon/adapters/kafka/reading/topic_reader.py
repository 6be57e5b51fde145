"""Read whole topics as readers of committed records see them, without a group and without committing anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import TopicAuthorizationFailedError

from stream_anon.adapters.kafka.client.connection import Connection, connection_error
from stream_anon.adapters.kafka.client.leaving import leave_consumer
from stream_anon.errors import BrokerError, TopicError

_START_WITHIN = 30.0
_STALLED = 30.0  # seconds without a record and without the end
_POLL_MS = 100
_MOST_POLLED = 5_000
_BY_BROKER = 1  # the timestamp type of a topic that sets times itself
_T = TypeVar("_T")


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
    headers: tuple[tuple[str, bytes], ...]
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
    BrokerError
        If the broker cannot be reached or refuses.
    """
    async with _opened(connection, [topic], "reader") as reader:
        firsts = await reader.begin()
        newest = None if newest is None else -(-newest // len(firsts))
        starts = firsts if newest is None else await reader.begin_near_the_end(newest, firsts)
        records: dict[TopicPartition, list[ConsumerRecord]] = {place: [] for place in firsts}
        size, complete = 0, False
        try:
            async with asyncio.timeout(within):
                while size <= most_bytes and not complete:
                    for place, part in (await reader.poll()).items():
                        records[place] += part
                        size += sum(len(record.value or b"") for record in part)
                    complete = size <= most_bytes and await reader.at_the_ends()
        except TimeoutError:
            complete = False
    kept = {place: part if newest is None else part[-newest:] for place, part in records.items()}
    uncut = (p for p in firsts if starts[p] <= firsts[p] and len(kept[p]) == len(records[p]))
    whole = frozenset(place.partition for place in uncut)
    return TopicReading({place.partition: part for place, part in kept.items()}, whole, complete)


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
        Asked once each partition was read to the end that it had when it was first fetched. While a service still
        writes, the ends of different partitions are never of the same moment.
    patience
        Seconds to wait for enough after that.
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
    async with _opened(connection, topics, "audit") as reader:
        firsts = await reader.begin()
        starts = firsts if since is None else await reader.begin_at(since)
        ends = await reader.ends()
        for place, first in firsts.items():
            if starts[place] == first > 0:
                trimmed(place.topic, place.partition, first >= ends[place])
        clock = asyncio.get_running_loop()
        heard, reached = clock.time(), None
        while True:
            answer = await reader.poll()
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


@asynccontextmanager
async def _opened(connection: Connection, topics: Collection[str], client: str) -> AsyncIterator[_Reader]:
    """Connect to topics, disconnect in the end, and put what breaks meanwhile in our own words."""
    consumer = connection.client(
        AIOKafkaConsumer,
        client,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        fetch_max_wait_ms=_POLL_MS,
    )
    named = " and ".join(topics)
    try:
        async with asyncio.timeout(_START_WITHIN):
            await consumer.start()
            places = [place for topic in topics for place in await _places(consumer, topic)]
        consumer.assign(places)
        yield _Reader(consumer, places)
    except BrokerError:
        raise
    except TopicAuthorizationFailedError:
        raise TopicError(f"{named}: may not be read by this user") from None
    except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
        raise await connection_error(connection, f"reading {named}", error) from None
    finally:
        await leave_consumer(consumer, 2.0, 0.5)


async def _told(question: Awaitable[_T]) -> _T:
    async with asyncio.timeout(_START_WITHIN):
        return await question


async def _places(consumer: AIOKafkaConsumer, topic: str) -> list[TopicPartition]:
    # Of a topic that is missing, metadata is waited for until a request times out.
    if topic not in await consumer.topics():
        raise TopicError(f"{topic}: does not exist, or this user may not see it")
    numbers = await consumer._client._wait_on_metadata(topic)  # noqa: SLF001 - as in ledger.py
    return [TopicPartition(topic, number) for number in sorted(numbers)]


class _Reader:
    """A consumer of all partitions of some topics."""

    def __init__(self, consumer: AIOKafkaConsumer, places: list[TopicPartition]) -> None:
        self._consumer = consumer
        self._places = places
        self._ends: dict[TopicPartition, int] = {}

    async def ends(self) -> dict[TopicPartition, int]:
        """Return where each partition ends now, as the brokers tell when asked."""
        return await _told(self._consumer.end_offsets(self._places))

    async def begin(self) -> dict[TopicPartition, int]:
        """Read each partition from its first record on; return the offsets."""
        return self._seek(await _told(self._consumer.beginning_offsets(self._places)))

    async def begin_near_the_end(
        self, records: int, firsts: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Read the last `records` of each partition, not below `firsts`; return the offsets."""
        ends = await self.ends()
        return self._seek({place: max(first, ends[place] - records) for place, first in firsts.items()})

    async def begin_at(self, time: float) -> dict[TopicPartition, int]:
        """Read each partition from its first record of a time on (seconds since the epoch); return the offsets."""
        wanted = dict.fromkeys(self._places, max(0, int(time * 1000)))
        found, ends = await _told(self._consumer.offsets_for_times(wanted)), await self.ends()
        firsts = {place: found.get(place) for place in self._places}
        return self._seek({p: ends[p] if first is None else first.offset for p, first in firsts.items()})

    def _seek(self, starts: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        for place, start in starts.items():
            self._consumer.seek(place, start)
        return starts

    async def poll(self) -> Mapping[TopicPartition, list[ConsumerRecord]]:
        """Wait a moment for records, and return what there is."""
        answer: Mapping[TopicPartition, list[ConsumerRecord]] = await self._consumer.getmany(
            timeout_ms=_POLL_MS, max_records=_MOST_POLLED
        )
        return answer

    async def at_the_ends(self) -> bool:
        """Return whether every partition was read to the end that its first fetch told.

        Asked for the end, some brokers answer with the start of the last batch; fetches tell the true one.
        """
        for place in self._places:
            if place not in self._ends:
                end = self._consumer.last_stable_offset(place)
                if end is None or end < 0:
                    return False
                self._ends[place] = end
            if await self._consumer.position(place) < self._ends[place]:
                return False
        return True
