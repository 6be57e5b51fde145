"""The sink with transactions: a producer whose every failure ends it, and the fence of the group."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import TypeVar

from aiokafka import AIOKafkaProducer

from stream_anon.adapters.kafka.connection import Connection, broker_error, connection_error
from stream_anon.adapters.kafka.group_fencing import GroupRequests
from stream_anon.adapters.kafka.producers import (
    BATCH_BYTES,
    BatchRefused,
    Shipment,
    follow_topics,
    partitions_of,
    producer_options,
    smaller,
    throw_away,
    what_is_missing,
)
from stream_anon.adapters.kafka.seam import Membership, Parcel, Place
from stream_anon.errors import BrokerError, OutcomeUnknown, TopicError

_OPEN_WITHIN = 15.0
_READ_WITHIN = 15.0
# A killed worker's transaction stays open for its timeout and until the broker next looks (every 10 s).
_STABLE_WITHIN = 45.0
_T = TypeVar("_T")

# Parts of the transaction's timeout that its steps may take; with the ledger's, together below 1, so that no step
# outlives it.
_BEGIN, _SEND, _SETTLE, _ADD, _FENCE, _COMMIT = 0.05, 0.05, 0.34, 0.10, 0.15, 0.20


class TransactionalSink:
    """One transactional producer and the group's requests over its client; see `seam.Sink`.

    After an error a producer is never used again: aiokafka's abort sends nothing after some errors, and the next
    commit would publish both attempts. A new one with the same transactional id settles what was open.
    """

    delivery = "exactly-once"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # Of this process alone: two workers with one id would turn each other away.
        self._identity = f"{connection.group}-{secrets.token_hex(16)}"
        self._producer: AIOKafkaProducer | None = None
        self._requests: GroupRequests | None = None
        self._shipment: Shipment | None = None
        self._topics: set[str] = set()
        self._batch_bytes = BATCH_BYTES

    async def open(self) -> None:
        """See `seam.Sink`. Does nothing while a producer is at hand."""
        if self._producer is not None:
            return
        producer = AIOKafkaProducer(
            **producer_options(self._connection, self._batch_bytes),
            transactional_id=self._identity,
            transaction_timeout_ms=int(self._connection.transaction_timeout * 1000),
        )
        try:
            async with asyncio.timeout(_OPEN_WITHIN):
                await producer.start()
                await follow_topics(producer, self._topics, ())
        except Exception as error:  # noqa: BLE001 - whatever it was, this producer is of no use
            await throw_away(producer)
            raise await connection_error(self._connection, "starting the producer", error) from None
        except BaseException:
            await throw_away(producer)
            raise
        self._producer = producer
        self._requests = GroupRequests(producer.client, self._connection.group)
        self._shipment = Shipment(producer)

    async def partitions(self, topic: str) -> int:
        """See `seam.Sink`."""
        producer, _, _ = self._ready()
        return await self._read("looking up partitions", partitions_of(producer, topic))

    async def stable_offsets(self, places: Collection[Place]) -> dict[Place, int | None]:
        """See `seam.Sink`."""
        _, requests, _ = self._ready()
        return await self._read("reading committed offsets", requests.stable_offsets(places), _STABLE_WITHIN)

    async def pin_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """See `seam.Sink`."""
        _, requests, _ = self._ready()
        await self._read("committing offsets", requests.commit(offsets, membership))

    async def begin(self) -> None:
        """See `seam.Sink`."""
        producer, _, _ = self._ready()
        await self._within(_BEGIN, "begin", producer.begin_transaction())

    async def send(self, parcels: Sequence[Parcel]) -> None:
        """See `seam.Sink`."""
        producer, _, shipment = self._ready()
        topics = {parcel.topic for parcel in parcels} - self._topics
        if topics:
            await self._within(_SEND, "follow topics", follow_topics(producer, self._topics, topics))
        shipment.send(parcels)

    async def settle(self) -> dict[Place, int]:
        """See `seam.Sink`."""
        producer, _, shipment = self._ready()
        try:
            return await self._within(_SETTLE, "settle", shipment.settle())
        except BatchRefused as error:
            if error.divisible:
                self._batch_bytes = smaller(self._batch_bytes)
            raise
        except OutcomeUnknown:
            missing = what_is_missing(producer, self._topics)
            if missing:
                raise TopicError(missing) from None
            raise

    async def add_offsets(self) -> None:
        """See `seam.Sink`."""
        producer, requests, _ = self._ready()
        await self._within(_ADD, "add offsets", requests.add_offsets(producer))

    async def commit_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """See `seam.Sink`."""
        producer, requests, _ = self._ready()
        fence = requests.commit_in_transaction(producer, offsets, membership)
        await self._within(_FENCE, "commit offsets", fence)

    async def commit(self) -> None:
        """See `seam.Sink`."""
        producer, _, _ = self._ready()
        await self._within(_COMMIT, "commit", producer.commit_transaction())

    async def discard(self) -> None:
        """See `seam.Sink`."""
        producer, shipment = self._producer, self._shipment
        self._producer = self._requests = self._shipment = None
        if shipment is not None:
            await shipment.forget()
        if producer is not None:
            await throw_away(producer)

    def _ready(self) -> tuple[AIOKafkaProducer, GroupRequests, Shipment]:
        if self._producer is None or self._requests is None or self._shipment is None:
            raise BrokerError("the producer is not connected")
        return self._producer, self._requests, self._shipment

    async def _within(self, part: float, doing: str, step: Awaitable[_T]) -> _T:
        """Await a step of a transaction; any error but a lost ownership leaves its outcome unknown."""
        try:
            async with asyncio.timeout(self._connection.transaction_timeout * part):
                return await step
        except BrokerError:
            raise
        except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
            raise OutcomeUnknown(f"{doing}: {type(error).__name__}") from None

    async def _read(self, doing: str, question: Awaitable[_T], within: float = _READ_WITHIN) -> _T:
        try:
            async with asyncio.timeout(within):
                return await question
        except BrokerError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            raise broker_error(doing, error) from None
