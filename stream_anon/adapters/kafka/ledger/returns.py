"""The topic of returns: who was released, one entry a window and input partition.

It has as many partitions as the input: who is released of one partition stands in the one of the same number.
Entries are part of each window's transaction, so that each release counts once whatever crashes. Nothing is
compacted: entries are deleted once their period is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence

from aiokafka import ConsumerRecord

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.topic_consumer import RecordConsumer, connected_consumer
from stream_anon.errors import Cause, TopicError, UnreadableRecords
from stream_anon.microdata.release import ReleasedPeople
from stream_anon.ports import Place
from stream_anon.ports.release_history import ReturnsEntry, read_entry

_STALLED = 30.0  # seconds in which no further entry can be read


class KafkaReturns:
    """Reads the topic of returns; see `ports.release_history.ReleaseHistory`.

    Parameters
    ----------
    key
        The name of the key of pseudonyms; entries of another one are passed over.
    passed_over
        Is told how many were.
    """

    def __init__(
        self, connection: Connection, topic: str, key: bytes, passed_over: Callable[[int], None] = lambda _: None
    ) -> None:
        self._connection = connection
        self._topic = topic
        self._key = key
        self._passed_over = passed_over

    async def read(
        self, places: Collection[Place], take: Callable[[Place, Sequence[ReleasedPeople]], None]
    ) -> None:
        """See `ReleaseHistory`. Nothing is remembered between two calls: others may have written meanwhile."""
        if not places:
            return
        place_of, of_others = {partition: (topic, partition) for topic, partition in places}, 0

        async def give(partition: int, entries: Sequence[ReturnsEntry]) -> None:
            nonlocal of_others
            own = [released for key, released in entries if key == self._key]
            of_others += len(entries) - len(own)
            await asyncio.to_thread(take, place_of[partition], own)

        await self._read(give, place_of)
        if of_others:
            self._passed_over(of_others)

    async def read_all(self, take: Callable[[bytes, ReleasedPeople], None]) -> None:
        """Give each entry of all partitions with the name of its key, whichever this is. Raises as `read`."""

        async def give(_partition: int, entries: Sequence[ReturnsEntry]) -> None:
            for key, released in entries:
                take(key, released)

        await self._read(give)

    async def _read(
        self,
        give: Callable[[int, Sequence[ReturnsEntry]], Awaitable[None]],
        partitions: Collection[int] | None = None,
    ) -> None:
        """Give the entries of some partitions, or of all, up to their ends."""
        async with connected_consumer(self._connection, [self._topic], "returns") as (consumer, there):
            wanted = [place for place in there if partitions is None or place.partition in partitions]
            if partitions is not None and len(wanted) < len(partitions):
                raise TopicError(f"{self._topic}: has fewer partitions than the input, and must have as many")
            consumer.assign(wanted)
            reader, now = RecordConsumer(consumer, wanted), asyncio.get_running_loop().time
            await reader.begin()
            try:
                async with asyncio.timeout(_STALLED) as deadline:
                    while not await reader.at_the_ends(hidden=True):
                        for place, records in (await reader.poll()).items():
                            await give(place.partition, [_entry_of(record) for record in records])
                            deadline.reschedule(now() + _STALLED)
            except UnreadableRecords as error:
                raise TopicError(f"{self._topic}: {error}", Cause.UNREADABLE) from None
            except TimeoutError:
                text = f"{self._topic}: an open transaction on it hides who was released"
                raise TopicError(text, Cause.OPEN_TRANSACTION) from None


def _entry_of(record: ConsumerRecord) -> ReturnsEntry:
    try:
        return read_entry(record.value or b"")
    except ValueError as error:  # it is not passed over: it may say that somebody was released
        raise TopicError(f"{record.topic}-{record.partition}, offset {record.offset}: {error}") from None
