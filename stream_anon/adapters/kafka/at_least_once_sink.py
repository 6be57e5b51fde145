"""The sink for brokers without usable transactions: records first, offsets after all of them are taken.

A failure between the two publishes records again: in other classes, which is a weaker promise than the service is
for. It must be written out in the settings and is warned about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import TypeVar

from aiokafka import AIOKafkaProducer

from stream_anon.adapters.kafka.connection import Connection, connection_error
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
_T = TypeVar("_T")


class AtLeastOnceSink:
    """A plain producer and the group's ordinary offsets; see `seam.Sink`."""

    delivery = "at-least-once"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._producer: AIOKafkaProducer | None = None
        self._requests: GroupRequests | None = None
        self._shipment: Shipment | None = None
        self._topics: set[str] = set()
        self._batch_bytes = BATCH_BYTES

    async def open(self) -> None:
        """See `seam.Sink`. Does nothing while a producer is at hand."""
        if self._producer is not None:
            return
        producer = AIOKafkaProducer(**producer_options(self._connection, self._batch_bytes))
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
        return await self._within("looking up partitions", partitions_of(producer, topic))

    async def stable_offsets(self, places: Collection[Place]) -> dict[Place, int | None]:
        """See `seam.Sink`."""
        _, requests, _ = self._ready()
        return await self._within("reading committed offsets", requests.stable_offsets(places))

    async def pin_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """See `seam.Sink`."""
        await self.commit_offsets(offsets, membership)

    async def begin(self) -> None:
        """Do nothing: there is no transaction."""
        self._ready()

    async def send(self, parcels: Sequence[Parcel]) -> None:
        """See `seam.Sink`."""
        producer, _, shipment = self._ready()
        topics = {parcel.topic for parcel in parcels} - self._topics
        if topics:
            await self._within("follow topics", follow_topics(producer, self._topics, topics))
        shipment.send(parcels)

    async def settle(self) -> dict[Place, int]:
        """See `seam.Sink`."""
        producer, _, shipment = self._ready()
        try:
            return await self._within("settle", shipment.settle())
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
        """Do nothing: offsets are committed by themselves."""

    async def commit_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """See `seam.Sink`. The group's generation fences here too."""
        _, requests, _ = self._ready()
        await self._within("commit offsets", requests.commit(offsets, membership))

    async def commit(self) -> None:
        """Do nothing: there is no transaction."""

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

    async def _within(self, doing: str, step: Awaitable[_T]) -> _T:
        try:
            async with asyncio.timeout(self._connection.transaction_timeout):
                return await step
        except BrokerError:
            raise
        except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
            raise OutcomeUnknown(f"{doing}: {type(error).__name__}") from None
