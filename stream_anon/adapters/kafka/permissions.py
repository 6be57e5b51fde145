"""What this user may do with topics and group, as the brokers tell it; nothing is tried out.

aiokafka's Metadata and DescribeGroups do not ask for it: the requests are declared here, as in group_fencing.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.errors import GroupAuthorizationFailedError, KafkaError
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Bytes, Int16, Int32, Schema, String

from stream_anon.adapters.kafka.connection import Connection, broker_error

_WITHIN = 15.0
_RETRY = 0.2
_NOT_TOLD = -(2**31)
_LOADING, _NOT_AVAILABLE, _NOT_COORDINATOR = 14, 15, 16
_REFUSED, _GROUP_REFUSED = 29, 30
_Text = String("utf-8")


class Operation(IntEnum):
    """What can be allowed, numbered as Kafka numbers it."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DESCRIBE = 8


# Named as aiokafka names its own; it ships no types to subclass.
class MetadataResponse_v8(Response):  # type: ignore[misc] # noqa: N801
    """Topics with what may be done to them."""

    API_KEY = 3
    API_VERSION = 8
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("brokers", Array(("node_id", Int32), ("host", _Text), ("port", Int32), ("rack", _Text))),
        ("cluster_id", _Text),
        ("controller_id", Int32),
        (
            "topics",
            Array(
                ("error_code", Int16),
                ("topic", _Text),
                ("is_internal", Boolean),
                (
                    "partitions",
                    Array(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", Array(Int32)),
                        ("isr", Array(Int32)),
                        ("offline_replicas", Array(Int32)),
                    ),
                ),
                ("authorized_operations", Int32),
            ),
        ),
        ("authorized_operations", Int32),
    )


class MetadataRequest_v8(RequestStruct):  # type: ignore[misc] # noqa: N801
    """Ask for topics and what may be done to them."""

    API_KEY = 3
    API_VERSION = 8
    RESPONSE_TYPE = MetadataResponse_v8
    SCHEMA = Schema(
        ("topics", Array(_Text)),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_authorized_operations", Boolean),
        ("include_topic_authorized_operations", Boolean),
    )


class _TopicOperations(Request[MetadataRequest_v8]):  # type: ignore[misc]
    API_KEY = 3

    def __init__(self, topics: Collection[str]) -> None:
        self._topics = list(topics)

    def build(self, request_struct_class: type[MetadataRequest_v8]) -> MetadataRequest_v8:
        return request_struct_class(self._topics, False, True, True)


class DescribeGroupsResponse_v3(Response):  # type: ignore[misc] # noqa: N801
    """Groups with what may be done to them."""

    API_KEY = 15
    API_VERSION = 3
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "groups",
            Array(
                ("error_code", Int16),
                ("group", _Text),
                ("state", _Text),
                ("protocol_type", _Text),
                ("protocol", _Text),
                (
                    "members",
                    Array(
                        ("member_id", _Text),
                        ("client_id", _Text),
                        ("client_host", _Text),
                        ("metadata", Bytes),
                        ("assignment", Bytes),
                    ),
                ),
                ("authorized_operations", Int32),
            ),
        ),
    )


class DescribeGroupsRequest_v3(RequestStruct):  # type: ignore[misc] # noqa: N801
    """Ask for groups and what may be done to them."""

    API_KEY = 15
    API_VERSION = 3
    RESPONSE_TYPE = DescribeGroupsResponse_v3
    SCHEMA = Schema(("groups", Array(_Text)), ("include_authorized_operations", Boolean))


class _GroupOperations(Request[DescribeGroupsRequest_v3]):  # type: ignore[misc]
    API_KEY = 15

    def __init__(self, group: str) -> None:
        self._group = group

    def build(self, request_struct_class: type[DescribeGroupsRequest_v3]) -> DescribeGroupsRequest_v3:
        return request_struct_class([self._group], True)


@dataclass(frozen=True, slots=True)
class Permissions:
    """What the brokers tell of a user.

    Parameters
    ----------
    told
        Topics and the group of which they tell.
    missing
        What is not allowed: (topic or group, operation).
    """

    told: frozenset[str]
    missing: tuple[tuple[str, Operation], ...]


async def permissions_of(connection: Connection, topics: Mapping[str, Collection[Operation]]) -> Permissions:
    """Return what this user may do with topics, and as a member of the group.

    Parameters
    ----------
    topics
        What must be allowed on each. Of topics that do not exist nothing is said.

    Raises
    ------
    BrokerError
        If no broker answers.
    """
    client = AIOKafkaClient(**connection.options("permissions"))
    try:
        async with asyncio.timeout(_WITHIN):
            await client.bootstrap()
            told = await _ask_topics(client, topics)
            group = await _ask_group(client, connection.group)
    except NotImplementedError:  # the brokers do not know these versions
        return Permissions(frozenset(), ())
    except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
        raise broker_error("asking for permissions", error) from None
    finally:
        await client.close()
    wanted = [(name, each) for name, operations in topics.items() if name in told for each in operations]
    missing = [(name, each) for name, each in wanted if not told[name] >> each & 1]
    if group is not None and not group >> Operation.READ & 1:
        missing.append((connection.group, Operation.READ))
    names = [*told, *([] if group is None else [connection.group])]
    return Permissions(frozenset(names), tuple(missing))


async def _ask_topics(client: AIOKafkaClient, topics: Collection[str]) -> dict[str, int]:
    answer: Any = await client.send(client.get_random_node(), _TopicOperations(topics))
    return {
        name: 0 if code == _REFUSED else mask
        for code, name, _, _, mask in answer.topics
        if code == _REFUSED or (code == 0 and mask != _NOT_TOLD)
    }


async def _ask_group(client: AIOKafkaClient, group: str) -> int | None:
    """Return the group's operations; None if not told. On a new cluster a coordinator must first be found."""
    while True:
        try:
            node = await client.coordinator_lookup(CoordinationType.GROUP, group)
            answer: Any = await client.send(node, _GroupOperations(group), group=ConnectionGroup.COORDINATION)
        except GroupAuthorizationFailedError:
            return 0
        except KafkaError as error:
            if not error.retriable:
                raise
            code = _LOADING
        else:
            code, *_, mask = answer.groups[0]
        if code == _GROUP_REFUSED:
            return 0
        if code not in (_LOADING, _NOT_AVAILABLE, _NOT_COORDINATOR):
            return None if code or mask == _NOT_TOLD else int(mask)
        await asyncio.sleep(_RETRY)
