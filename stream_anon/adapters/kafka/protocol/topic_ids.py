"""Ask for the ids of topics: a topic that was deleted and created again under the same name has another id.

aiokafka asks for metadata in a version that does not tell them. This is Metadata v10 (KIP-516), which every Apache
Kafka since 2.8 answers.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection
from io import BytesIO
from typing import Any

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import IncompatibleBrokerVersion, for_code
from aiokafka.protocol.abstract import AbstractType
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Schema,
    TaggedFields,
)

from stream_anon.adapters.kafka.client.connection import Connection, connection_error
from stream_anon.ports import TopicIds

_Text = CompactString("utf-8")
_NOWHERE = uuid.UUID(int=0)  # of a topic that is asked for by its name, or whose id is not known
_NO_SUCH_TOPIC = 3
_WITHIN = 15.0


class Uuid(AbstractType[uuid.UUID]):  # type: ignore[misc] # aiokafka ships no types
    """Sixteen bytes."""

    @classmethod
    def encode(cls, value: uuid.UUID) -> bytes:
        """Return the bytes."""
        return value.bytes

    @classmethod
    def decode(cls, data: BytesIO) -> uuid.UUID:
        """Return the id. Raises ValueError where bytes are missing."""
        return uuid.UUID(bytes=data.read(16))


# Named as aiokafka names its own; it ships no types to subclass.
class MetadataResponse_v10(Response):  # type: ignore[misc] # noqa: N801
    """Topics with their ids."""

    API_KEY = 3
    API_VERSION = 10
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            CompactArray(
                ("node_id", Int32), ("host", _Text), ("port", Int32), ("rack", _Text), ("tags", TaggedFields)
            ),
        ),
        ("cluster_id", _Text),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16),
                ("topic", _Text),
                ("topic_id", Uuid),
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline_replicas", CompactArray(Int32)),
                        ("tags", TaggedFields),
                    ),
                ),
                ("authorized_operations", Int32),
                ("tags", TaggedFields),
            ),
        ),
        ("authorized_operations", Int32),
        ("tags", TaggedFields),
    )


class MetadataRequest_v10(RequestStruct):  # type: ignore[misc] # noqa: N801
    """Ask for topics by name."""

    API_KEY = 3
    API_VERSION = 10
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = MetadataResponse_v10
    SCHEMA = Schema(
        ("topics", CompactArray(("topic_id", Uuid), ("topic", _Text), ("tags", TaggedFields))),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_authorized_operations", Boolean),
        ("include_topic_authorized_operations", Boolean),
        ("tags", TaggedFields),
    )


class TopicIdsOf(Request[MetadataRequest_v10]):  # type: ignore[misc]
    """Ask for some topics; none is created by asking."""

    API_KEY = 3

    def __init__(self, topics: Collection[str]) -> None:
        self._topics: list[tuple[uuid.UUID, str, dict[int, bytes]]] = [
            (_NOWHERE, topic, {}) for topic in sorted(topics)
        ]

    def build(self, request_struct_class: type[MetadataRequest_v10]) -> MetadataRequest_v10:
        """Return the struct."""
        return request_struct_class(self._topics, False, False, False, {})


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
        answer: Any = await client.send(client.get_random_node(), TopicIdsOf(topics))
    except (IncompatibleBrokerVersion, NotImplementedError):
        return TopicIds()
    ids: dict[str, str] = {}
    missing: set[str] = set()
    for code, topic, its, *_ in answer.topics:
        if code == _NO_SUCH_TOPIC:
            missing.add(topic)
        elif code and for_code(code).retriable:
            raise for_code(code)
        elif not code and its != _NOWHERE:
            ids[topic] = str(its)
    return TopicIds(ids, frozenset(missing), answer.cluster_id)


async def ask_topic_ids(connection: Connection, topics: Collection[str]) -> TopicIds:
    """Return the ids of topics, over a connection of its own. Raises BrokerError."""
    client = connection.client(AIOKafkaClient, "ids")
    try:
        async with asyncio.timeout(_WITHIN):
            await client.bootstrap()
            return await topic_ids(client, topics)
    except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
        raise await connection_error(connection, "asking for the ids of topics", error) from None
    finally:
        await client.close()
