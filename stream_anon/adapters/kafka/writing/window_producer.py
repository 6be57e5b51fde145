"""What publishes windows on Kafka: a producer, the group's requests over its client, and batches on their way."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
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
from stream_anon.ports import Membership, Parcel, Place, TopicIds

_OPEN_WITHIN = 15.0
_LOOK_WITHIN = 10.0
_ASK_WITHIN = 15.0
# A killed worker's transaction stays open for its timeout and until the broker next looks (every 10 s).
_STABLE_WITHIN = 45.0
_T = TypeVar("_T")


class WindowProducer(ABC):
    """Sends records and offsets, in one transaction if the broker has transactions.

    The verbs from `begin` to `commit` are steps of `KafkaSink.publish`. After any error `discard` follows, then
    `open`.

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

    @property
    @abstractmethod
    def delivery(self) -> str:
        """Return `exactly-once`, `at-least-once`, or `shadow` if nothing is published."""

    async def open(self) -> None:
        """Connect, and settle what an earlier producer left open. Raises BrokerError.

        Does nothing while there is a producer.
        """
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
        """Return how many partitions a topic has. Raises BrokerError; TopicError if it is missing."""
        producer, _, _ = self._ready()
        return await self._asked("looking up partitions", partitions_of(producer, topic))

    async def stable_offsets(self, places: Collection[Place]) -> dict[Place, int | None]:
        """Return the group's committed offsets; None for a partition without one. Raises BrokerError.

        Waits while a transaction is open that might change them.
        """
        _, requests, _ = self._ready()
        return await self._asked("reading committed offsets", requests.stable_offsets(places), _STABLE_WITHIN)

    async def pin_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """Commit offsets outside of a transaction. Raises OwnershipLost, BrokerError."""
        _, requests, _ = self._ready()
        await self._asked("committing offsets", requests.commit(offsets, membership))

    @abstractmethod
    async def topic_ids(self, topics: Collection[str]) -> TopicIds:
        """Return Kafka's ids of topics; nothing if there is no ledger to compare them with. Raises BrokerError."""

    @abstractmethod
    async def begin(self) -> None:
        """Begin a transaction."""

    async def send(self, parcels: Sequence[Parcel]) -> None:
        """Hand over records; equal parcels give equal batches."""
        producer, _, shipment = self._ready()
        topics = {parcel.topic for parcel in parcels} - self._topics
        if topics:
            await self._within(self._send_within, "follow topics", follow_topics(producer, self._topics, topics))
        shipment.send(parcels)

    async def settle(self) -> dict[Place, int]:
        """Wait until the broker has taken every batch; return the offset of the first one in each partition.

        A partition is left out if the broker did not tell.
        """
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

    @abstractmethod
    async def add_offsets(self) -> None:
        """Make the group's offsets a part of the transaction."""

    @abstractmethod
    async def commit_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """Set the group's offsets. This is the fence: raises OwnershipLost for an old membership."""

    @abstractmethod
    async def commit(self) -> None:
        """Commit the transaction."""

    async def largest_batches(self, topics: Collection[str]) -> dict[str, int]:
        """Return how many bytes a batch may have in each topic; topics of which that is not known are left out.

        If a topic's settings do not explain what it refused, that counts. A limit below what a sound topic takes is
        left out, so that no record becomes a dead letter because of it.
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
        """Throw the producer away in any state; never raises."""
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
