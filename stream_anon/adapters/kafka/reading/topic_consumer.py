"""A consumer of all partitions of some topics, without a group, for as long as a block lasts."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import TopicAuthorizationFailedError

from stream_anon.adapters.kafka.client.connection import Connection, connection_error
from stream_anon.adapters.kafka.client.disconnecting import leave_consumer
from stream_anon.errors import BrokerError, Cause, TopicError

POLL_MS = 100
MOST_POLLED = 5_000
_START_WITHIN = 30.0
_T = TypeVar("_T")
_Part = TypeVar("_Part")


@asynccontextmanager
async def connected_consumer(
    connection: Connection, topics: Collection[str], client: str
) -> AsyncIterator[tuple[AIOKafkaConsumer, list[TopicPartition]]]:
    """Give a consumer that is assigned all partitions of topics, and these; what breaks is put in our own words."""
    consumer = connection.client(
        AIOKafkaConsumer,
        client,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        fetch_max_wait_ms=POLL_MS,
    )
    named = " and ".join(topics)
    try:
        async with asyncio.timeout(_START_WITHIN):
            await consumer.start()
            places = [place for topic in topics for place in await _places(consumer, topic)]
        consumer.assign(places)
        yield consumer, places
    except BrokerError:
        raise
    except TopicAuthorizationFailedError:
        raise TopicError(f"{named}: may not be read by this user", Cause.PERMISSION) from None
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
    return await places_of(consumer, topic)


async def places_of(consumer: AIOKafkaConsumer, topic: str) -> list[TopicPartition]:
    """Return the partitions of a topic, which is waited for where it is missing. Raises KafkaError."""
    numbers = await consumer._client._wait_on_metadata(topic)  # noqa: SLF001 - pinned by a test
    return [TopicPartition(topic, number) for number in sorted(numbers)]


class TopicConsumer(ABC, Generic[_Part]):
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

    @abstractmethod
    async def poll(self) -> Mapping[TopicPartition, _Part]:
        """Wait a moment for records, and return what there is of each partition."""

    async def at_the_ends(self, *, hidden: bool = False) -> bool:
        """Return whether every partition was read to the end that its first fetch told.

        Asked for the end, some brokers answer with the start of the last batch; fetches tell the true one.

        Parameters
        ----------
        hidden
            Whether it is the end of what open transactions hide as well: then they must have ended. A broker that
            has just become leader may tell an end that is too early, so that the last fetch counts then.
        """
        told = self._consumer.highwater if hidden else self._consumer.last_stable_offset
        for place in self._places:
            if hidden or place not in self._ends:
                end = told(place)
                if end is None or end < 0:
                    return False
                self._ends[place] = end
            if await self._consumer.position(place) < self._ends[place]:
                return False
        return True


class RecordConsumer(TopicConsumer[list[ConsumerRecord]]):
    """Gives whole records."""

    def go_on(self, place: TopicPartition, offset: int) -> None:
        """Read a partition from an offset on."""
        self._consumer.seek(place, offset)

    async def poll(self) -> Mapping[TopicPartition, list[ConsumerRecord]]:
        """See `TopicConsumer`; raises UnreadableRecords as `BoundedConsumer.getmany` does."""
        answer: Mapping[TopicPartition, list[ConsumerRecord]] = await self._consumer.getmany(
            timeout_ms=POLL_MS, max_records=MOST_POLLED
        )
        return answer


async def read_to_the_ends(
    reader: TopicConsumer[_Part], keep: Callable[[TopicPartition, _Part], int], most_bytes: int, within: float
) -> bool:
    """Read until each partition's end; return whether it was reached within so many bytes and seconds.

    Parameters
    ----------
    keep
        Takes what was read of a partition and returns its bytes.
    """
    size = 0
    try:
        async with asyncio.timeout(within):
            while True:
                for place, part in (await reader.poll()).items():
                    size += keep(place, part)
                if size > most_bytes:
                    return False
                if await reader.at_the_ends():
                    return True
    except TimeoutError:
        return False
