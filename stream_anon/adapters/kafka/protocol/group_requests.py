"""Ask what a user may do to a group; aiokafka's version of DescribeGroups does not."""

from __future__ import annotations

from aiokafka.protocol.api import RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Bytes, Int16, Int32, Schema, String

from stream_anon.adapters.kafka.protocol.structs import FilledRequest

_Text = String("utf-8")


# Named as aiokafka names its own.
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


class GroupOperations(FilledRequest[DescribeGroupsRequest_v3]):
    """Ask for one group."""

    def __init__(self, group: str) -> None:
        super().__init__([group], True)
