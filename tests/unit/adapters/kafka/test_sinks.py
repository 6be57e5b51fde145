"""What both sinks make of a client that refuses: no broker is needed to see it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import NodeNotReadyError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError

from stream_anon.adapters.kafka.at_least_once_sink import AtLeastOnceSink
from stream_anon.adapters.kafka.connection import Connection
from stream_anon.adapters.kafka.producers import Shipment
from stream_anon.adapters.kafka.seam import Parcel
from stream_anon.adapters.kafka.transactional_sink import TransactionalSink
from stream_anon.errors import BrokerError, TopicError

CONNECTION = Connection("127.0.0.1:9", "g")
both = pytest.mark.parametrize("kind", [TransactionalSink, AtLeastOnceSink])


class Refusing:
    """A producer that knows no topic."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def partitions_for(self, topic: str) -> set[int]:
        await asyncio.sleep(0)
        raise self._error


def sink_on(kind: Any, producer: object) -> Any:
    """Return a sink that believes in this producer."""
    sink = kind(CONNECTION)
    sink._producer, sink._requests, sink._shipment = producer, object(), object()
    return sink


@both
async def test_missing_topic_is_not_named(kind: type) -> None:
    for error in (UnknownTopicOrPartitionError(), TopicAuthorizationFailedError("people.out")):
        with pytest.raises(TopicError, match=r"^people\.out: "):
            await sink_on(kind, Refusing(error)).partitions("people.out")


@both
async def test_topic_that_cannot_be_looked_up_is_called_missing(kind: type) -> None:
    with pytest.raises(BrokerError, match=r"people\.out: NodeNotReadyError") as raised:
        await sink_on(kind, Refusing(NodeNotReadyError())).partitions("people.out")
    assert not isinstance(raised.value, TopicError)


class Batch:
    """A batch that has room for everything."""

    def __init__(self) -> None:
        self._count = 0

    def append(self, **record: object) -> object:
        self._count += 1
        return record

    def record_count(self) -> int:
        return self._count


class HalfRefusing:
    """A producer that refuses what goes to partition 0 and never answers for the rest."""

    client = SimpleNamespace(cluster=SimpleNamespace(partitions_for_topic=lambda topic: {0, 1, 2, 3}))

    def create_batch(self) -> Batch:
        return Batch()

    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> asyncio.Future[object]:
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        if partition == 0:
            answer.set_exception(NodeNotReadyError())
        return answer


async def test_refused_batch_leaves_the_other_lanes_sending_for_ever() -> None:
    before = asyncio.all_tasks()
    shipment = Shipment(HalfRefusing())
    shipment.send([Parcel("out", partition, [b"x"], 5000) for partition in range(4)])
    with pytest.raises(NodeNotReadyError):
        await shipment.settle()
    assert len(asyncio.all_tasks() - before) == 3
    await shipment.forget()
    assert asyncio.all_tasks() == before
