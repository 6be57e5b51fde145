"""The ledger: a compacted topic with the next offset to release of every input partition.

Its entries are part of each window's transaction. Committed offsets can expire, be deleted or be set back; the
ledger cannot, so that a record is not released twice whatever happens to them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Collection, Mapping

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from stream_anon.adapters.kafka.connection import Connection, broker_error
from stream_anon.adapters.kafka.seam import Parcel, Place
from stream_anon.errors import BrokerError, TopicError

_OPEN_WITHIN = 60.0
_CATCH_UP_WITHIN = 30.0
_POLL_MS = 100


class KafkaLedger:
    """A follower of the ledger's topic; see `seam.Ledger`."""

    def __init__(self, connection: Connection, topic: str) -> None:
        self._connection = connection
        self._topic = topic
        self._consumer: AIOKafkaConsumer | None = None
        self._probe: AIOKafkaConsumer | None = None  # sees what open transactions wrote
        self._follower: asyncio.Task[None] | None = None
        self._next: dict[Place, int] = {}
        self._strange: dict[bytes, str] = {}  # by key, where the last record of a key is no entry

    async def open(self) -> None:
        """See `seam.Ledger`. Does nothing while it follows."""
        if self._follower is not None and not self._follower.done():
            return
        await self.discard()
        self._consumer = AIOKafkaConsumer(
            **self._connection.options("ledger"),
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            fetch_max_wait_ms=_POLL_MS,
        )
        self._probe = AIOKafkaConsumer(
            **self._connection.options("ledger-end"), enable_auto_commit=False, isolation_level="read_uncommitted"
        )
        try:
            async with asyncio.timeout(_OPEN_WITHIN):
                await self._consumer.start()
                await self._probe.start()
                self._consumer.assign(await self._places(self._consumer))
                self._next.clear()
                self._strange.clear()
                self._follower = asyncio.create_task(self._follow(self._consumer))
                await self.caught_up()
        except BrokerError:
            await self.discard()
            raise
        except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
            await self.discard()
            raise broker_error("opening the ledger", error) from None
        except BaseException:
            await self.discard()
            raise

    async def _places(self, consumer: AIOKafkaConsumer) -> list[TopicPartition]:
        numbers = await consumer._client._wait_on_metadata(self._topic)  # noqa: SLF001 - pinned by a test
        return [TopicPartition(self._topic, number) for number in sorted(numbers)]

    async def _follow(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            try:
                answer = await consumer.getmany(timeout_ms=_POLL_MS)
            except Exception as error:  # noqa: BLE001 - as above
                raise broker_error("following the ledger", error) from None
            for records in answer.values():
                for record in records:
                    self._take(record)

    def _take(self, record: ConsumerRecord) -> None:
        """Take note of an entry; of a key's records the last one counts, be it an entry or not."""
        if record.key is None:  # a compacted topic takes none
            return
        self._strange.pop(record.key, None)
        try:
            place = _place_of(record.key)
            if record.value is None:  # a tombstone, written by `stream-anon forget`
                self._next.pop(place, None)
            else:
                self._next[place] = _next_of(record.value)
        except (ValueError, TypeError, KeyError, RecursionError):
            if record.value is not None:
                # Not skipped: an entry may have been meant, and without it records could be released twice.
                self._strange[record.key] = f"{record.topic}-{record.partition}, offset {record.offset}"

    async def caught_up(self) -> Mapping[Place, int]:
        """See `seam.Ledger`. Waits for the end of transactions that are open on the ledger now.

        The entries of a transaction may become readable after its offsets: without waiting, a partition whose
        offsets are missing could be released twice.
        """
        consumer, probe, follower = self._consumer, self._probe, self._follower
        if consumer is None or probe is None or follower is None:
            raise BrokerError("the ledger is not connected")
        try:
            async with asyncio.timeout(_CATCH_UP_WITHIN):
                ends = await probe.end_offsets(consumer.assignment())
                while not await self._has_reached(consumer, ends):
                    _raise_if_ended(follower)
                    await asyncio.sleep(0.01)
                _raise_if_ended(follower)  # it may have ended before it took what it had fetched
        except BrokerError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            raise broker_error("reading the ledger", error) from None
        if self._strange:
            raise TopicError(
                f"{next(iter(self._strange.values()))}: is no entry of the ledger: somebody else has written "
                "there. Nothing is taken over until a record with the same key follows that is an entry or empty"
            )
        return dict(self._next)

    async def _has_reached(self, consumer: AIOKafkaConsumer, ends: dict[TopicPartition, int]) -> bool:
        for place, end in ends.items():
            if await consumer.position(place) < end:
                return False
        return True

    def entries(self, offsets: Mapping[Place, int], time: int) -> Parcel | None:
        """See `seam.Ledger`. All entries go to one partition: a key must stay where it is."""
        places = sorted(offsets)
        values = [
            json.dumps({"schema": 1, "next": offsets[place]}, separators=(",", ":")).encode() for place in places
        ]
        return Parcel(self._topic, 0, values, time, keys=[_key_of(place) for place in places])

    def tombstones(self, places: Collection[Place], time: int) -> Parcel:
        """Return the parcel that makes the ledger forget partitions, for a transaction of its own."""
        keys = [_key_of(place) for place in sorted(places)]
        return Parcel(self._topic, 0, [None] * len(keys), time, keys=keys)

    async def discard(self) -> None:
        """See `seam.Ledger`."""
        follower, self._follower = self._follower, None
        if follower is not None:
            follower.cancel()
            await asyncio.gather(follower, return_exceptions=True)
        clients = (self._consumer, self._probe)
        self._consumer = self._probe = None
        await asyncio.gather(*(_stop(client) for client in clients if client is not None))


async def _stop(client: AIOKafkaConsumer) -> None:
    with contextlib.suppress(TimeoutError, KafkaError, OSError, AssertionError):
        async with asyncio.timeout(1.0):
            await client.stop()


def _raise_if_ended(follower: asyncio.Task[None]) -> None:
    if follower.done():
        if not follower.cancelled():
            follower.result()
        raise BrokerError("following the ledger: the follower has ended")


def _key_of(place: Place) -> bytes:
    return json.dumps(list(place), separators=(",", ":")).encode()


def _place_of(key: bytes) -> Place:
    topic, partition = json.loads(key)
    if not isinstance(topic, str):
        raise TypeError("not a topic")
    return topic, _natural(partition)


def _next_of(value: bytes) -> int:
    return _natural(json.loads(value)["next"])


def _natural(number: object) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("neither an offset nor a partition")
    return number


class NoLedger:
    """Stands where there are no transactions: an entry beside its window could be lost or early."""

    async def open(self) -> None:
        """Do nothing."""

    async def caught_up(self) -> Mapping[Place, int]:
        """Return nothing."""
        return {}

    def entries(self, offsets: Mapping[Place, int], time: int) -> Parcel | None:  # noqa: ARG002
        """Return nothing."""
        return None

    async def discard(self) -> None:
        """Do nothing."""
