"""Metadata v10 (KIP-516), which every Apache Kafka since 2.8 answers: topics with their ids, and what may be done.

aiokafka asks for metadata in a version that tells neither.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from io import BytesIO

from aiokafka.protocol.abstract import AbstractType
from aiokafka.protocol.api import RequestStruct, Response
from aiokafka.protocol.types import Boolean, CompactArray, Int16, Int32, Schema

from stream_anon.adapters.kafka.protocol.structs import TAGS, TEXT, FilledRequest, tagged

NOWHERE = uuid.UUID(int=0)
"""Of a topic that is asked for by its name, or whose id is not known."""


class Uuid(AbstractType[uuid.UUID]):  # type: ignore[misc]
    """Sixteen bytes."""

    @classmethod
    def encode(cls, value: uuid.UUID) -> bytes:
        """Return the bytes."""
        return value.bytes

    @classmethod
    def decode(cls, data: BytesIO) -> uuid.UUID:
        """Return the id. Raises ValueError where bytes are missing."""
        return uuid.UUID(bytes=data.read(16))


# Named as aiokafka names its own.
class MetadataResponse_v10(Response):  # type: ignore[misc] # noqa: N801
    """Topics with their ids."""

    API_KEY = 3
    API_VERSION = 10
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            tagged(("node_id", Int32), ("host", TEXT), ("port", Int32), ("rack", TEXT)),
        ),
        ("cluster_id", TEXT),
        ("controller_id", Int32),
        (
            "topics",
            tagged(
                ("error_code", Int16),
                ("topic", TEXT),
                ("topic_id", Uuid),
                ("is_internal", Boolean),
                (
                    "partitions",
                    tagged(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline_replicas", CompactArray(Int32)),
                    ),
                ),
                ("authorized_operations", Int32),
            ),
        ),
        ("authorized_operations", Int32),
        TAGS,
    )


class MetadataRequest_v10(RequestStruct):  # type: ignore[misc] # noqa: N801
    """Ask for topics by name."""

    API_KEY = 3
    API_VERSION = 10
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = MetadataResponse_v10
    SCHEMA = Schema(
        ("topics", tagged(("topic_id", Uuid), ("topic", TEXT))),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_authorized_operations", Boolean),
        ("include_topic_authorized_operations", Boolean),
        TAGS,
    )


class TopicsOf(FilledRequest[MetadataRequest_v10]):
    """Ask for some topics; none is created by asking.

    Parameters
    ----------
    operations
        Whether the answer tells what we may do to them.
    """

    def __init__(self, topics: Collection[str], *, operations: bool = False) -> None:
        super().__init__([(NOWHERE, topic, {}) for topic in sorted(topics)], False, operations, operations, {})
