"""Let aiokafka's clients ask for topics without creating them.

Brokers create a topic that a client asks for (`auto.create.topics.enable`, Kafka's default), with one partition and
their own settings, unless the question says otherwise. aiokafka's questions say nothing, or yes.
"""

from __future__ import annotations

from typing import Any

from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import IncompatibleBrokerVersion
from aiokafka.protocol.metadata import MetadataRequest

_SAYS_SO_SINCE = 4  # the version of Metadata in which a question can say that it creates nothing (Kafka 0.11)


def creating_nothing(made: Any) -> None:
    """Let a new consumer, producer, admin client or bare client ask without creating.

    Parameters
    ----------
    made
        Not yet connected.
    """
    client = getattr(made, "client", None) or getattr(made, "_client", made)
    client.__class__ = _Client


class _Connection(AIOKafkaConnection):  # type: ignore[misc] # aiokafka ships no types
    """A connection on which no question creates a topic. All requests of all clients pass `send`."""

    def send(self, request: Any, expect_response: bool = True) -> Any:
        """Send a request; raise IncompatibleBrokerVersion where a question for a topic would create it."""
        if isinstance(request, MetadataRequest):
            topics = request._topics  # noqa: SLF001 - pinned by a test
            if topics and self._versions[request.API_KEY][1] < _SAYS_SO_SINCE:
                raise IncompatibleBrokerVersion("asking for a topic would create it")
            request = MetadataRequest(topics, allow_auto_topic_creation=False)
        return super().send(request, expect_response)


class _Client(AIOKafkaClient):  # type: ignore[misc]
    """A client that speaks over such connections only. Its first question, before there are any, names no topic."""

    async def _get_conn(self, *arguments: Any, **options: Any) -> Any:
        connection = await super()._get_conn(*arguments, **options)
        if connection is not None:
            connection.__class__ = _Connection
        return connection
