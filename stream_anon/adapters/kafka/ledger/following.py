"""Follow a topic of which nothing may be passed over: read on, and tell when nothing comes any more."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, ConsumerRecord

from stream_anon.adapters.kafka.client.connection import broker_error
from stream_anon.adapters.kafka.client.disconnecting import leave_consumer
from stream_anon.adapters.kafka.client.liveness import has_died
from stream_anon.errors import BrokerError, Cause, TopicError, UnreadableRecords

POLL_MS = 100
_UNREADABLE = (
    "It is not passed over, since it may say what was released: nothing is taken over and nothing is published "
    "until it can be read. The page on exactly-once says what to do with such a ledger"
)
_T = TypeVar("_T")


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
        answer = await consumer.getmany(timeout_ms=POLL_MS)
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
