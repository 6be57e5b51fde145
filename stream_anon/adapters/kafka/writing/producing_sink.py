"""What all sinks have: a producer, the group's requests over its client, and batches on their way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import TypeVar

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from stream_anon.adapters.kafka.client.connection import Connection, broker_error, connection_error
from stream_anon.adapters.kafka.client.connection_errors import cause_of
from stream_anon.adapters.kafka.protocol.group_fencing import GroupRequests
from stream_anon.adapters.kafka.topics.requirements import largest_batches
from stream_anon.adapters.kafka.writing.producers import (
    BATCH_BYTES,
    Shipment,
    follow_topics,
    partitions_of,
    producer_options,
    smaller,
    throw_away,
    what_is_missing,
)
from stream_anon.errors import LEAST_LIMIT, BatchRefused, BrokerError, OutcomeUnknown
from stream_anon.ports import Membership, Parcel, Place

_OPEN_WITHIN = 15.0
_LOOK_WITHIN = 10.0
_ASK_WITHIN = 15.0
# A killed worker's transaction stays open for its timeout and until the broker next looks (every 10 s).
_STABLE_WITHIN = 45.0
_T = TypeVar("_T")


class ProducingSink:
    """A sink's producer from its start to its end, and all that is the same with and without transactions.

    A subclass adds `topic_ids` and the verbs `begin`, `add_offsets`, `commit_offsets` and `commit`.

    Parameters
    ----------
    connection
        Where the brokers are.
    send_within, settle_within
        Parts of the transaction's timeout that these steps may take.
    options
        Of the producer, beside those of every producer.
    """

    def __init__(self, connection: Connection, send_within: float, settle_within: float, **options: object) -> None:
        self._connection = connection
        self._send_within = send_within
        self._settle_within = settle_within
        self._options = options
        self._producer: AIOKafkaProducer | None = None
        self._requests: GroupRequests | None = None
        self._shipment: Shipment | None = None
        self._topics: set[str] = set()
        self._batch_bytes = BATCH_BYTES
        self._refused: dict[str, int] = {}  # bytes of the smallest batch of one record that a topic has refused

    async def open(self) -> None:
        """See `WindowProducer`. Does nothing while there is a producer."""
        if self._producer is not None:
            return
        options = {**producer_options(self._connection, self._batch_bytes), **self._options}
        producer = self._connection.client(AIOKafkaProducer, "sink", **options)
        self._connection.keep_up(producer.client)
        try:
            async with asyncio.timeout(_OPEN_WITHIN):
                await self._start(producer)
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

    async def _start(self, producer: AIOKafkaProducer) -> None:
        await producer.start()

    async def partitions(self, topic: str) -> int:
        """See `WindowProducer`."""
        producer, _, _ = self._ready()
        return await self._asked("looking up partitions", partitions_of(producer, topic))

    async def stable_offsets(self, places: Collection[Place]) -> dict[Place, int | None]:
        """See `WindowProducer`."""
        _, requests, _ = self._ready()
        return await self._asked("reading committed offsets", requests.stable_offsets(places), _STABLE_WITHIN)

    async def pin_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """See `WindowProducer`."""
        _, requests, _ = self._ready()
        await self._asked("committing offsets", requests.commit(offsets, membership))

    async def send(self, parcels: Sequence[Parcel]) -> None:
        """See `WindowProducer`."""
        producer, _, shipment = self._ready()
        topics = {parcel.topic for parcel in parcels} - self._topics
        if topics:
            await self._within(self._send_within, "follow topics", follow_topics(producer, self._topics, topics))
        shipment.send(parcels)

    async def settle(self) -> dict[Place, int]:
        """See `WindowProducer`."""
        producer, _, shipment = self._ready()
        try:
            return await self._within(self._settle_within, "settle", shipment.settle())
        except BatchRefused as error:
            if error.divisible:
                self._batch_bytes = smaller(self._batch_bytes)
            else:
                self._refused[error.topic] = min(error.size, self._refused.get(error.topic, error.size))
            raise
        except OutcomeUnknown:
            missing = what_is_missing(producer, self._topics)
            if missing is not None:
                raise missing from None
            raise

    async def largest_batches(self, topics: Collection[str]) -> dict[str, int]:
        """See `WindowProducer`. If a topic's settings explain what it refused, they say how much it takes.

        A limit below what a sound topic takes is left out, so that no record becomes a dead letter because of it.
        """
        told: dict[str, int] = {}
        with contextlib.suppress(BrokerError, TimeoutError):  # a batch that is refused will tell
            async with asyncio.timeout(_LOOK_WITHIN):
                told = await largest_batches(self._connection, topics)
        for topic in topics:
            if topic in self._refused and self._refused[topic] <= told.get(topic, self._refused[topic]):
                told[topic] = self._refused[topic] - 1
        return {topic: most for topic, most in told.items() if most >= LEAST_LIMIT}

    async def discard(self) -> None:
        """See `WindowProducer`."""
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

    async def _asked(self, doing: str, question: Awaitable[_T], within: float = _ASK_WITHIN) -> _T:
        """Await a request that belongs to no transaction. Raises BrokerError."""
        try:
            async with asyncio.timeout(within):
                return await question
        except BrokerError:
            raise
        except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
            raise broker_error(doing, error) from None

    async def _within(self, part: float, doing: str, step: Awaitable[_T]) -> _T:
        """Await a step of a transaction; after any error but a lost ownership its outcome is unknown."""
        try:
            async with asyncio.timeout(self._connection.transaction_timeout * part):
                return await step
        except BrokerError:
            raise
        except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
            raise OutcomeUnknown(f"{doing}: {self._cause(error)}", cause_of(error)) from None

    def _cause(self, error: Exception) -> str:
        """Return in words why a step of a transaction broke."""
        # aiokafka wraps most of what ends its sender in an error that says nothing.
        wrapped = error.__cause__ if type(error) is KafkaError else None
        return type(wrapped or error).__name__
