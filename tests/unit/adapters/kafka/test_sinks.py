"""What both sinks make of a client that refuses: no broker is needed to see it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka.errors import NodeNotReadyError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError

from stream_anon.adapters.kafka.at_least_once_sink import AtLeastOnceSink
from stream_anon.adapters.kafka.connection import Connection
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
