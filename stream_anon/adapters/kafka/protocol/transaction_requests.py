"""Two requests as structs: EndTxn with an epoch for each transaction, ApiVersions with the cluster's features."""

from __future__ import annotations

from io import BytesIO

from aiokafka.protocol.api import RequestStruct, Response, ResponseHeader_v0
from aiokafka.protocol.types import Boolean, Int16, Int32, Int64, Schema

from stream_anon.adapters.kafka.protocol.structs import TAGS, TEXT, FilledRequest, tagged
from stream_anon.version import __version__

_NAME = "stream-anon"
_FINALIZED = 2  # tag of the features that the whole cluster has agreed on
_FEATURES = tagged(("name", TEXT), ("max_version_level", Int16), ("min_version_level", Int16))


# Named as aiokafka names its own.
class EndTxnResponse_v5(Response):  # type: ignore[misc] # noqa: N801
    """With whom the next transaction is sent: id and epoch of the producer."""

    API_KEY = 26
    API_VERSION = 5
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        ("producer_id", Int64),
        ("producer_epoch", Int16),
        TAGS,
    )


class EndTxnRequest_v5(RequestStruct):  # type: ignore[misc] # noqa: N801
    """End a transaction and its epoch (KIP-890)."""

    API_KEY = 26
    API_VERSION = 5
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = EndTxnResponse_v5
    SCHEMA = Schema(
        ("transactional_id", TEXT),
        ("producer_id", Int64),
        ("producer_epoch", Int16),
        ("committed", Boolean),
        TAGS,
    )


class EpochEndTxn(FilledRequest[EndTxnRequest_v5]):
    """EndTxn after which the producer has another epoch.

    Never for a coordinator whose finalized transaction.version is below 2: it answers 35, and the transactional id
    cannot be used until that broker restarts.
    """

    def __init__(self, transactional_id: str, producer_id: int, producer_epoch: int, committed: bool) -> None:
        super().__init__(transactional_id, producer_id, producer_epoch, committed, {})


class ApiVersionsResponse_v4(Response):  # type: ignore[misc] # noqa: N801
    """What a broker can do; its features are in the tags."""

    API_KEY = 18
    API_VERSION = 4
    SCHEMA = Schema(
        ("error_code", Int16),
        ("api_versions", tagged(("api_key", Int16), ("min_version", Int16), ("max_version", Int16))),
        ("throttle_time_ms", Int32),
        TAGS,
    )


class ApiVersionsRequest_v4(RequestStruct):  # type: ignore[misc] # noqa: N801
    """Ask a broker what it can do."""

    API_KEY = 18
    API_VERSION = 4
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = ApiVersionsResponse_v4
    SCHEMA = Schema(("client_software_name", TEXT), ("client_software_version", TEXT), TAGS)

    def parse_response_header(self, read_buffer: BytesIO | bytes) -> ResponseHeader_v0:
        """Return the header, which has no tags in any version, so that clients of all ages can read it."""
        return ResponseHeader_v0.decode(read_buffer)


class Features(FilledRequest[ApiVersionsRequest_v4]):
    """ApiVersions in the first version that tells features as they are (KIP-1022)."""

    def __init__(self) -> None:
        super().__init__(_NAME, __version__, {})


def finalized_level(answer: ApiVersionsResponse_v4, feature: str) -> int:
    """Return the level of a feature that the cluster has agreed on; 0 if it has agreed on none."""
    told: dict[int, bytes] = answer.tags
    if _FINALIZED not in told:
        return 0
    levels = {name: most for name, most, *_ in _FEATURES.decode(BytesIO(told[_FINALIZED])) or ()}
    return int(levels.get(feature, 0))
