"""The two requests as structs: OffsetFetch with stable offsets, TxnOffsetCommit with the generation."""

from __future__ import annotations

from collections.abc import Mapping

from aiokafka.protocol.api import RequestStruct, Response
from aiokafka.protocol.types import Boolean, CompactArray, Int16, Int32, Int64, Schema

from stream_anon.adapters.kafka.protocol.structs import TAGS, TEXT, FilledRequest, by_topic, tagged

_OFFSET = (("partition", Int32), ("offset", Int64), ("leader_epoch", Int32), ("metadata", TEXT))
_ERROR = ("error_code", Int16)


# Named as aiokafka names its own.
class OffsetFetchResponse_v7(Response):  # type: ignore[misc] # noqa: N801
    """Committed offsets."""

    API_KEY = 9
    API_VERSION = 7
    SCHEMA = Schema(("throttle_time_ms", Int32), by_topic(tagged(*_OFFSET, _ERROR)), _ERROR, TAGS)


class OffsetFetchRequest_v7(RequestStruct):  # type: ignore[misc] # noqa: N801
    """Ask for committed offsets."""

    API_KEY = 9
    API_VERSION = 7
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = OffsetFetchResponse_v7
    SCHEMA = Schema(("group", TEXT), by_topic(CompactArray(Int32)), ("require_stable", Boolean), TAGS)


class StableOffsetFetch(FilledRequest[OffsetFetchRequest_v7]):
    """OffsetFetch with require_stable."""

    def __init__(self, group: str, partitions: Mapping[str, list[int]]) -> None:
        super().__init__(group, [(topic, numbers, {}) for topic, numbers in partitions.items()], True, {})


class TxnOffsetCommitResponse_v3(Response):  # type: ignore[misc] # noqa: N801
    """What became of each offset."""

    API_KEY = 28
    API_VERSION = 3
    SCHEMA = Schema(("throttle_time_ms", Int32), by_topic(tagged(("partition", Int32), _ERROR)), TAGS)


class TxnOffsetCommitRequest_v3(RequestStruct):  # type: ignore[misc] # noqa: N801
    """Commit offsets within a transaction, as a member of a generation."""

    API_KEY = 28
    API_VERSION = 3
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = TxnOffsetCommitResponse_v3
    SCHEMA = Schema(
        ("transactional_id", TEXT),
        ("group", TEXT),
        ("producer_id", Int64),
        ("producer_epoch", Int16),
        ("generation", Int32),
        ("member_id", TEXT),
        ("group_instance_id", TEXT),
        by_topic(tagged(*_OFFSET)),
        TAGS,
    )


class FencedTxnOffsetCommit(FilledRequest[TxnOffsetCommitRequest_v3]):
    """TxnOffsetCommit with generation and member id."""
