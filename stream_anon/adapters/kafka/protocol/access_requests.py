"""Requests that ask what a user may do; aiokafka's versions of Metadata and DescribeGroups do not."""

from __future__ import annotations

from collections.abc import Collection

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Bytes, Int16, Int32, Schema, String

_Text = String("utf-8")


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


class TopicOperations(Request[MetadataRequest_v8]):  # type: ignore[misc]
    """Ask for some topics."""

    API_KEY = 3

    def __init__(self, topics: Collection[str]) -> None:
        self._topics = list(topics)

    def build(self, request_struct_class: type[MetadataRequest_v8]) -> MetadataRequest_v8:
        """Return the request; no topic is created by asking."""
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


class GroupOperations(Request[DescribeGroupsRequest_v3]):  # type: ignore[misc]
    """Ask for one group."""

    API_KEY = 15

    def __init__(self, group: str) -> None:
        self._group = group

    def build(self, request_struct_class: type[DescribeGroupsRequest_v3]) -> DescribeGroupsRequest_v3:
        """Return the request."""
        return request_struct_class([self._group], True)
