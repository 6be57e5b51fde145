"""The end of the ledger, entries of open transactions included."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Mapping
from operator import itemgetter

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaTimeoutError
from sortedcontainers import SortedKeyList

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.entry_format import entry_of, place_of
from stream_anon.adapters.kafka.ledger.following import (
    POLL_MS,
    fetched,
    follows,
    positions,
    raise_if_ended,
    stop_politely,
)
from stream_anon.errors import BrokerError
from stream_anon.ports import Place

_FOLLOWING = "following the ledger's end"
# More than the marker of a transaction, for which nobody waits, and less than any entry.
_FETCH_BYTES = 90


class Tail:
    """Reads the newest entries of the ledger, be they committed, aborted or of open transactions.

    `forget_before` forgets entries that are settled, so that only the last few are held.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._consumer: AIOKafkaConsumer | None = None
        self._follower: asyncio.Task[None] | None = None
        # Partition, offset, whose entry, its revision.
        self._entries: SortedKeyList[tuple[int, int, Place, int]] = SortedKeyList(key=itemgetter(0, 1))
        self._read: dict[int, int] = {}
        self._moved = asyncio.Event()

    async def start(self) -> None:
        """Connect."""
        self._consumer = self._connection.client(
            AIOKafkaConsumer,
            "ledger-end",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_uncommitted",
            fetch_max_wait_ms=POLL_MS,
            fetch_min_bytes=_FETCH_BYTES,
        )
        self._connection.keep_up(self._consumer._client)  # noqa: SLF001 - pinned by a test
        await self._consumer.start()

    async def ends(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return where the ledger ends now, open transactions included.

        It is asked again until the caller's deadline: a request has but half of a transaction's time, and on a
        machine that does much else the answer may come later than that.
        """
        while True:
            with contextlib.suppress(KafkaTimeoutError):
                found: Mapping[TopicPartition, int] = await self._connected().end_offsets(places)
                return found

    def _connected(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise BrokerError("the ledger is not connected")
        return self._consumer

    def follow(self, starts: Mapping[TopicPartition, int]) -> None:
        """Begin to read, each partition from its start."""
        consumer = self._connected()
        consumer.assign(list(starts))
        for place, start in starts.items():
            consumer.seek(place, start)
        self._read = {place.partition: start for place, start in starts.items()}
        self._follower = asyncio.create_task(self._follow(consumer))

    def let_go(self) -> None:
        """Ask for nothing more, for the client would ask for a deleted topic without a pause."""
        if self._consumer is not None:
            self._consumer.unsubscribe()

    @property
    def follows(self) -> bool:
        """Whether it reads on."""
        return follows(self._consumer, self._follower)

    async def _follow(self, consumer: AIOKafkaConsumer) -> None:
        try:
            while True:
                for record in await fetched(consumer, _FOLLOWING):
                    with contextlib.suppress(ValueError, TypeError, RecursionError):
                        place, revision = place_of(record.key or b""), _revision_of(record.value)
                        self._entries.add((record.partition, record.offset, place, revision))
                # Positions pass over the markers of transactions; answers do not hold them.
                self._read.update(await positions(consumer, _FOLLOWING))
                self._moved.set()
        finally:
            self._moved.set()

    async def last_before(
        self, partition: int, end: int, places: Collection[Place], revision: int = 0
    ) -> int | None:
        """Return the offset of the last entry below `end` that may decide about ours; None if there is none.

        An entry may decide if it is of one of `places`, or of another revision of the policy.
        """
        while self._read.get(partition, 0) < end:
            raise_if_ended(self._follower, _FOLLOWING)
            self._moved.clear()
            await self._moved.wait()
        before = self._entries.irange_key((partition, 0), (partition, end - 1), reverse=True)
        for _, offset, place, theirs in before:
            if place in places or theirs != revision:
                return int(offset)
        return None

    def forget_before(self, partition: int, offset: int) -> None:
        """Let go of entries below an offset before which all are settled. O(log n) and a step for each of them."""
        first = self._entries.bisect_key_left((partition, 0))
        del self._entries[first : self._entries.bisect_key_left((partition, offset))]

    async def stop(self) -> None:
        """Disconnect; never raises."""
        follower, self._follower = self._follower, None
        if follower is not None:
            follower.cancel()
            await asyncio.gather(follower, return_exceptions=True)
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await stop_politely(consumer)


def _revision_of(value: bytes | None) -> int:
    """Return the revision that an entry names; 0 for a tombstone or anything else that is no entry."""
    try:
        return entry_of(value or b"").revision
    except (ValueError, TypeError, KeyError, RecursionError):
        return 0
