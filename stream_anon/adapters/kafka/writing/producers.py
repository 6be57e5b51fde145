"""What all sinks share: building batches, sending them in order, and throwing a producer away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    InvalidTimestampError,
    KafkaError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.structs import RecordMetadata

from stream_anon.adapters.kafka.client.connection import Connection, broker_error
from stream_anon.adapters.kafka.client.disconnecting import leave
from stream_anon.adapters.kafka.writing.packed_batch import PackedBatch
from stream_anon.adapters.kafka.writing.packing import NONE
from stream_anon.errors import BatchRefused, Cause, TimeRefused, TopicError
from stream_anon.microdata.texts import Texts
from stream_anon.ports import Parcel, Place

# Below a broker's default of 1 MiB a batch; a single larger record gets a batch of its own.
BATCH_BYTES = 512 * 1024
LEAST_BATCH_BYTES = 64  # less than a batch of any two records: each record has a batch of its own
# With 100 ms, the default, every transaction would wait for the markers of the one before it.
RETRY_BACKOFF_MS = 5
_TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)
_REFUSALS = (TopicAuthorizationFailedError, TimeRefused)


def smaller(batch_bytes: int) -> int:
    """Return the size of batches that follows a refused one."""
    return max(batch_bytes // 4, LEAST_BATCH_BYTES)


def producer_options(connection: Connection, batch_bytes: int = BATCH_BYTES) -> dict[str, object]:
    """Return what producers with and without transactions are given beside the options of all clients."""
    return {
        "acks": "all",
        "retry_backoff_ms": RETRY_BACKOFF_MS,
        "max_batch_size": batch_bytes,
        "max_request_size": 128 * 1024 * 1024,
        "compression_type": None if connection.compression == NONE else connection.compression,
    }


async def follow_topics(producer: AIOKafkaProducer, known: set[str], topics: Iterable[str]) -> None:
    """Let the client keep metadata of all of `topics`, and of those known before.

    aiokafka knows all topics at first. Once it has asked for a single topic, it keeps only those that it asked for
    and forgets the leaders of the others: a batch for one of these would wait for ever.
    """
    known.update(topics)
    if known:
        await producer.client.set_topics(known)


async def partitions_of(producer: AIOKafkaProducer, topic: str) -> int:
    """Return how many partitions a topic has.

    Raises
    ------
    TopicError
        If there is no such topic, or this user may not see it.
    BrokerError
        If it cannot be looked up for another reason.
    """
    try:
        return len(await producer.partitions_for(topic))
    except UnknownTopicOrPartitionError:
        raise TopicError(f"{topic}: does not exist; create it, then the worker continues by itself") from None
    except TopicAuthorizationFailedError:
        raise TopicError(f"{topic}: may not be seen by this user", Cause.PERMISSION) from None
    except (KafkaError, OSError) as error:
        raise broker_error(f"looking up partitions of {topic}", error) from None


def what_is_missing(producer: AIOKafkaProducer, topics: Iterable[str]) -> TopicError | None:
    """Return an error that names one of `topics` that the brokers do not show; None if they show all."""
    cluster = producer.client.cluster
    for topic in sorted(topics):
        if topic in cluster.unauthorized_topics:
            return TopicError(f"{topic}: this user is not authorized to write it", Cause.PERMISSION)
        if not cluster.partitions_for_topic(topic):
            return TopicError(f"{topic}: does not exist any more; create it, then the worker continues by itself")
    return None


class Shipment:
    """Parcels on their way: batches per partition in order, partitions side by side."""

    def __init__(self, producer: AIOKafkaProducer) -> None:
        self._producer = producer
        self._lanes: list[asyncio.Task[tuple[Place, int | None]]] = []

    def send(self, parcels: Sequence[Parcel]) -> None:
        """Start a lane for each partition. Returns at once."""
        lanes: dict[tuple[str, int], list[Parcel]] = {}
        for parcel in parcels:
            lanes.setdefault(self._place(parcel), []).append(parcel)
        self._lanes += [asyncio.create_task(self._lane(*place, lane)) for place, lane in lanes.items()]

    def _place(self, parcel: Parcel) -> Place:
        """Return where a parcel goes; its topic may have been created again with fewer partitions."""
        there = sorted(self._producer.client.cluster.partitions_for_topic(parcel.topic) or ())
        if not there or parcel.partition in there:
            return parcel.topic, parcel.partition
        return parcel.topic, there[parcel.partition % len(there)]

    async def settle(self) -> dict[Place, int]:
        """Wait until the broker has taken every batch; raises the error of the first batch that fails.

        Returns the offset of the first batch of each partition, where the broker told it.
        """
        try:
            firsts = await asyncio.gather(*self._lanes)
        except Exception:
            # Batches of other topics often fail first, only because one topic refused its own.
            done, _ = await asyncio.wait(self._lanes, timeout=0.2)
            for lane in done:
                if not lane.cancelled() and isinstance(lane.exception(), _REFUSALS):
                    lane.result()
            raise
        self._lanes.clear()  # not earlier: after a refusal the other lanes still send, and `forget` must end them
        return {place: offset for place, offset in firsts if offset is not None}

    async def forget(self) -> None:
        """Stop sending; never raises."""
        lanes, self._lanes = self._lanes, []
        for lane in lanes:
            lane.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)

    async def _lane(self, topic: str, partition: int, parcels: Sequence[Parcel]) -> tuple[Place, int | None]:
        futures: list[asyncio.Future[RecordMetadata]] = []
        sent: list[BatchBuilder] = []
        try:
            empty, fill = self._way(parcels)
            batch = empty()
            for parcel in parcels:
                taken = 0
                while (taken := taken + fill(batch, parcel, taken)) < len(parcel.values):
                    if not batch.record_count():
                        raise ValueError("an empty batch refused a record")
                    futures.append(await self._producer.send_batch(batch, topic, partition=partition))
                    sent.append(batch)
                    batch = empty()
                await asyncio.sleep(0)
            if batch.record_count():
                futures.append(await self._producer.send_batch(batch, topic, partition=partition))
                sent.append(batch)
            # Each batch is awaited, for a commit succeeds even if a batch was refused.
            told = await asyncio.gather(*futures)
            # A batch that was sent twice is acknowledged without its offset.
            known = bool(told) and told[0] is not None and told[0].offset >= 0
            return (topic, partition), told[0].offset if known else None
        except _TOO_LARGE:
            too_large = (f.done() and not f.cancelled() and isinstance(f.exception(), _TOO_LARGE) for f in futures)
            batch = next(batch for batch, it in zip(sent, too_large, strict=True) if it)
            raise BatchRefused(topic, batch.record_count(), batch.size()) from None
        except InvalidTimestampError:
            raise TimeRefused(topic) from None
        finally:
            for future in futures:
                if future.done() and not future.cancelled():
                    future.exception()

    def _way(
        self, parcels: Sequence[Parcel]
    ) -> tuple[Callable[[], BatchBuilder], Callable[[Any, Parcel, int], int]]:
        """Return what makes an empty batch for a lane, and what fills it."""
        if all(
            isinstance(parcel.values, Texts) and parcel.values.missing is None and parcel.keys is None
            for parcel in parcels
        ):
            return partial(PackedBatch.of, self._producer), _extend
        return self._producer.create_batch, _fill


def _extend(batch: PackedBatch, parcel: Parcel, first: int) -> int:
    """Append values of a parcel from `first` on at once; return how many the batch took."""
    assert isinstance(parcel.values, Texts)  # noqa: S101 - see `_way`
    return batch.extend(parcel.values, first, parcel.time, parcel.headers) if len(parcel.values) else 0


def _fill(batch: BatchBuilder, parcel: Parcel, first: int) -> int:
    """Append values of a parcel from `first` on; return how many the batch took.

    Appends to the inner builder directly: the two layers around it cost more than the builder itself.
    """
    append, begun = batch._builder.append, int(batch._relative_offset)  # noqa: SLF001 - pinned by a test
    time, headers, keys = parcel.time, list(parcel.headers), parcel.keys
    number = begun
    for place in range(first, len(parcel.values)):
        if append(number, time, None if keys is None else keys[place], parcel.values[place], headers) is None:
            batch.close()
            break
        number += 1
    batch._relative_offset = number  # noqa: SLF001
    return number - begun


async def throw_away(producer: AIOKafkaProducer) -> None:
    """End a producer in any state, without flushing or aborting; never raises.

    `stop` would wait for batches that no broker will take. The sender's own tasks retry for ever, and each
    cancellation ends one of them. Takes up to two seconds.
    """
    producer._closed = True  # noqa: SLF001 - pinned by a test
    producer._message_accumulator._closed = True  # noqa: SLF001
    task = producer._sender.sender_task  # noqa: SLF001
    for _ in range(100):
        if task is None or task.done():
            break
        task.cancel()
        await asyncio.wait([task], timeout=0.01)
    if task is not None and task.done() and not task.cancelled():
        task.exception()
    await leave(producer.client.close(), 1.0)
