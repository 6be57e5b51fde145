"""The two requests as structs: OffsetFetch with stable offsets, TxnOffsetCommit with the generation."""

from __future__ import annotations

from collections.abc import Mapping

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
    TaggedFields,
)


# Named as aiokafka names its own; it ships no types to subclass.
class OffsetFetchResponse_v7(Response):  # type: ignore[misc] # noqa: N801
    """Committed offsets."""

    API_KEY = 9
    API_VERSION = 7
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "topics",
            CompactArray(
                ("topic", CompactString("utf-8")),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("offset", Int64),
                        ("leader_epoch", Int32),
                        ("metadata", CompactString("utf-8")),
                        ("error_code", Int16),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("error_code", Int16),
        ("tags", TaggedFields),
    )


class OffsetFetchRequest_v7(RequestStruct):  # type: ignore[misc] # noqa: N801
    """Ask for committed offsets."""

    API_KEY = 9
    API_VERSION = 7
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = OffsetFetchResponse_v7
    SCHEMA = Schema(
        ("group", CompactString("utf-8")),
        (
            "topics",
            CompactArray(
                ("topic", CompactString("utf-8")),
                ("partitions", CompactArray(Int32)),
                ("tags", TaggedFields),
            ),
        ),
        ("require_stable", Boolean),
        ("tags", TaggedFields),
    )


class StableOffsetFetch(Request[OffsetFetchRequest_v7]):  # type: ignore[misc]
    """OffsetFetch with require_stable."""

    API_KEY = 9

    def __init__(self, group: str, partitions: Mapping[str, list[int]]) -> None:
        self._group = group
        self._topics: list[tuple[str, list[int], dict[int, bytes]]] = [
            (topic, numbers, {}) for topic, numbers in partitions.items()
        ]

    def build(self, request_struct_class: type[OffsetFetchRequest_v7]) -> OffsetFetchRequest_v7:
        """Return the struct."""
        return request_struct_class(self._group, self._topics, True, {})


class TxnOffsetCommitResponse_v3(Response):  # type: ignore[misc] # noqa: N801
    """What became of each offset."""

    API_KEY = 28
    API_VERSION = 3
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "topics",
            CompactArray(
                ("topic", CompactString("utf-8")),
                (
                    "partitions",
                    CompactArray(("partition", Int32), ("error_code", Int16), ("tags", TaggedFields)),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class TxnOffsetCommitRequest_v3(RequestStruct):  # type: ignore[misc] # noqa: N801
    """Commit offsets within a transaction, as a member of a generation."""

    API_KEY = 28
    API_VERSION = 3
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = TxnOffsetCommitResponse_v3
    SCHEMA = Schema(
        ("transactional_id", CompactString("utf-8")),
        ("group", CompactString("utf-8")),
        ("producer_id", Int64),
        ("producer_epoch", Int16),
        ("generation", Int32),
        ("member_id", CompactString("utf-8")),
        ("group_instance_id", CompactString("utf-8")),
        (
            "topics",
            CompactArray(
                ("topic", CompactString("utf-8")),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("offset", Int64),
                        ("leader_epoch", Int32),
                        ("metadata", CompactString("utf-8")),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class FencedTxnOffsetCommit(Request[TxnOffsetCommitRequest_v3]):  # type: ignore[misc]
    """TxnOffsetCommit with generation and member id."""

    API_KEY = 28

    def __init__(self, *fields: object) -> None:
        self._fields = fields

    def build(self, request_struct_class: type[TxnOffsetCommitRequest_v3]) -> TxnOffsetCommitRequest_v3:
        """Return the struct."""
        return request_struct_class(*self._fields)
