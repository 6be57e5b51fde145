"""The end of the ledger, entries of open transactions included, and the format of entries."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Collection, Coroutine, Mapping
from operator import itemgetter
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaTimeoutError
from sortedcontainers import SortedKeyList

from stream_anon.adapters.kafka.client.connection import Connection, broker_error
from stream_anon.adapters.kafka.client.disconnecting import leave_consumer
from stream_anon.adapters.kafka.client.liveness import has_died
from stream_anon.errors import BrokerError, Cause, TopicError, UnreadableRecords
from stream_anon.ports import LedgerEntry, Place

SCHEMA_VERSION = 2
_UNREADABLE = (
    "It is not passed over, since it may say what was released: nothing is taken over and nothing is published "
    "until it can be read. The page on exactly-once says what to do with such a ledger"
)
_T = TypeVar("_T")

_POLL_MS = 100
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
            fetch_max_wait_ms=_POLL_MS,
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
        doing = "following the ledger's end"
        try:
            while True:
                for record in await fetched(consumer, doing):
                    with contextlib.suppress(ValueError, TypeError, RecursionError):
                        place, revision = place_of(record.key or b""), _revision_of(record.value)
                        self._entries.add((record.partition, record.offset, place, revision))
                # Positions pass over the markers of transactions; answers do not hold them.
                self._read.update(await positions(consumer, doing))
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
            raise_if_ended(self._follower, "following the ledger's end")
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


async def stop_politely(client: AIOKafkaConsumer) -> None:
    """Stop a consumer, within a second or so; never raises."""
    await leave_consumer(client, 1.0, 0.2)


async def fetched(consumer: AIOKafkaConsumer, doing: str) -> list[ConsumerRecord]:
    """Wait a moment for records, and return those that came. Raises BrokerError, also if none can come any more.

    What cannot be read is never passed over: an entry that nobody sees could have its records released twice.
    """
    if has_died(consumer):
        raise BrokerError(f"{doing}: a task of the consumer has ended")
    try:
        answer = await consumer.getmany(timeout_ms=_POLL_MS)
    except UnreadableRecords as error:
        raise TopicError(f"{doing}: {error}. {_UNREADABLE}", Cause.UNREADABLE) from None
    except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
        raise broker_error(doing, error) from None
    return [record for records in answer.values() for record in records]


async def positions(consumer: AIOKafkaConsumer, doing: str) -> dict[int, int]:
    """Return the next offset that `fetched` will look at in each assigned partition. Raises BrokerError."""
    try:
        return {place.partition: await consumer.position(place) for place in consumer.assignment()}
    except Exception as error:  # noqa: BLE001 - as above
        raise broker_error(doing, error) from None


def follows(consumer: AIOKafkaConsumer | None, follower: asyncio.Task[Any] | None) -> bool:
    """Return whether a follower reads on. It may hang after its consumer has died, so both are asked."""
    return consumer is not None and follower is not None and not follower.done() and not has_died(consumer)


def raise_if_ended(follower: asyncio.Task[Any] | None, doing: str) -> None:
    """Raise the error with which a follower has ended, or BrokerError if it ended without one."""
    if follower is None or follower.done():
        if follower is not None and not follower.cancelled():
            follower.result()
        raise BrokerError(f"{doing}: the follower has ended")


async def unless_ended(follower: asyncio.Task[None], doing: str, work: Coroutine[Any, Any, _T]) -> _T:
    """Await work, but only as long as the follower runs: nobody ever tells the end of a deleted topic."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait([task, follower], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise_if_ended(follower, doing)
        return task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def key_of(place: Place) -> bytes:
    """Return the key of a partition's entries."""
    return json.dumps(list(place), separators=(",", ":")).encode()


def place_of(key: bytes) -> Place:
    """Return the partition that a key names. Raises ValueError, TypeError or RecursionError if it is no key."""
    topic, partition = json.loads(key)
    if not isinstance(topic, str):
        raise TypeError("not a topic")
    return topic, _natural(partition)


def value_of(entry: LedgerEntry) -> bytes:
    """Return an entry as it is written; `LedgerEntry` explains its keys."""
    fields = {
        "schema": SCHEMA_VERSION,
        "next": entry.next,
        "batch": entry.batch,
        "topic_id": entry.topic_id,
        "revision": entry.revision,
        "cluster": entry.cluster,
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def entry_of(value: bytes) -> LedgerEntry:
    """Return what an entry says. Raises ValueError, KeyError or TypeError if it is no entry.

    Unknown keys are ignored, so that a later release may add keys.
    """
    entry = json.loads(value)
    if entry["schema"] != SCHEMA_VERSION or type(entry["schema"]) is not int:
        raise ValueError("the entry has another version")
    batch, topic_id, cluster = entry.get("batch"), entry.get("topic_id"), entry.get("cluster")
    if not all(text is None or isinstance(text, str) for text in (batch, topic_id, cluster)):
        raise TypeError("neither an id nor null")
    return LedgerEntry(_natural(entry["next"]), batch, topic_id, _natural(entry.get("revision", 0)), cluster)


def _revision_of(value: bytes | None) -> int:
    """Return the revision that an entry names; 0 for a tombstone or anything else that is no entry."""
    try:
        return entry_of(value or b"").revision
    except (ValueError, TypeError, KeyError, RecursionError):
        return 0


def _natural(number: object) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("neither an offset nor a number")
    return number
