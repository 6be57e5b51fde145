"""Ask for the ids of topics: a topic that was deleted and created again under the same name has another id."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import IncompatibleBrokerVersion, for_code

from stream_anon.adapters.kafka.client.administering import asking
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.protocol.topic_requests import NOWHERE, TopicsOf
from stream_anon.ports import TopicIds

_NO_SUCH_TOPIC = 3


async def topic_ids(client: AIOKafkaClient, topics: Collection[str]) -> TopicIds:
    """Return the ids of topics, as far as the brokers tell them, and which topics do not exist.

    Raises
    ------
    KafkaError
        If no broker answers, or one says that a topic is not ready yet.
    """
    if not topics:
        return TopicIds()
    try:
        answer: Any = await client.send(client.get_random_node(), TopicsOf(topics))
    except (IncompatibleBrokerVersion, NotImplementedError):
        return TopicIds()
    ids: dict[str, str] = {}
    missing: set[str] = set()
    for code, topic, its, *_ in answer.topics:
        if code == _NO_SUCH_TOPIC:
            missing.add(topic)
        elif code and for_code(code).retriable:
            raise for_code(code)
        elif not code and its != NOWHERE:
            ids[topic] = str(its)
    return TopicIds(ids, frozenset(missing), answer.cluster_id)


async def ask_topic_ids(connection: Connection, topics: Collection[str]) -> TopicIds:
    """Return the ids of topics, over a connection of its own. Raises BrokerError."""
    async with asking(connection, "ids", "asking for the ids of topics") as client:
        return await topic_ids(client, topics)
