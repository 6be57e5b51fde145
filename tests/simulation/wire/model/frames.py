"""Kafka's frames: which requests the model knows, how they are read, and how answers are written.

The layouts are those of aiokafka and of the package's own requests, which tests on a real broker pin.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any

from aiokafka.protocol.admin import ApiVersionRequest_v0
from aiokafka.protocol.api import RequestHeader_v1, RequestHeader_v2, RequestStruct, Response
from aiokafka.protocol.coordination import FindCoordinatorRequest_v1
from aiokafka.protocol.fetch import FetchRequest_v11
from aiokafka.protocol.metadata import MetadataRequest_v5
from aiokafka.protocol.offset import OffsetRequest_v3
from aiokafka.protocol.produce import ProduceRequest_v7
from aiokafka.protocol.transaction import (
    AddOffsetsToTxnRequest_v0,
    AddPartitionsToTxnRequest_v0,
    EndTxnRequest_v0,
    InitProducerIdRequest_v0,
)
from aiokafka.protocol.types import Int16, Int32, String, TaggedFields, UnsignedVarInt32

from stream_anon.adapters.kafka.protocol.offset_requests import OffsetFetchRequest_v7, TxnOffsetCommitRequest_v3
from stream_anon.adapters.kafka.protocol.topic_requests import MetadataRequest_v10
from stream_anon.adapters.kafka.protocol.transaction_requests import ApiVersionsRequest_v4, EndTxnRequest_v5
from tests.simulation.wire.model.describing import DescribeTransactionsRequest_v0

PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_FETCH, FIND_COORDINATOR, API_VERSIONS = 0, 1, 2, 3, 9, 10, 18
INIT, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT, DESCRIBE = 22, 24, 25, 26, 28, 65
NAMES = {
    PRODUCE: "Produce",
    FETCH: "Fetch",
    LIST_OFFSETS: "ListOffsets",
    METADATA: "Metadata",
    OFFSET_FETCH: "OffsetFetch",
    FIND_COORDINATOR: "FindCoordinator",
    API_VERSIONS: "ApiVersions",
    INIT: "InitProducerId",
    ADD_PARTITIONS: "AddPartitionsToTxn",
    ADD_OFFSETS: "AddOffsetsToTxn",
    END_TXN: "EndTxn",
    TXN_OFFSET_COMMIT: "TxnOffsetCommit",
    DESCRIBE: "DescribeTransactions",
}

_KNOWN: dict[tuple[int, int], type[RequestStruct]] = {
    (kind.API_KEY, kind.API_VERSION): kind
    for kind in (
        ProduceRequest_v7,
        FetchRequest_v11,
        OffsetRequest_v3,
        MetadataRequest_v5,
        MetadataRequest_v10,
        OffsetFetchRequest_v7,
        FindCoordinatorRequest_v1,
        ApiVersionRequest_v0,
        ApiVersionsRequest_v4,
        InitProducerIdRequest_v0,
        AddPartitionsToTxnRequest_v0,
        AddOffsetsToTxnRequest_v0,
        EndTxnRequest_v0,
        EndTxnRequest_v5,
        TxnOffsetCommitRequest_v3,
        DescribeTransactionsRequest_v0,
    )
}
# What Apache Kafka 4.1 offers of these, as far as a client's choice depends on it.
OFFERED = {
    PRODUCE: (0, 13),
    FETCH: (4, 18),
    LIST_OFFSETS: (1, 11),
    METADATA: (0, 13),
    OFFSET_FETCH: (1, 10),
    FIND_COORDINATOR: (0, 6),
    API_VERSIONS: (0, 4),
    INIT: (0, 6),
    ADD_PARTITIONS: (0, 5),
    ADD_OFFSETS: (0, 4),
    END_TXN: (0, 5),
    TXN_OFFSET_COMMIT: (0, 5),
    DESCRIBE: (0, 0),
}

_FINALIZED = 2


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the broker reads it."""

    key: int
    version: int
    correlation: int
    client: str
    body: Any

    @classmethod
    def read(cls, frame: bytes) -> Asked:
        """Return what a frame asks, its length included. Raises KeyError for a request that the model lacks."""
        data = BytesIO(frame)
        data.seek(4)
        key, version, correlation = Int16.decode(data), Int16.decode(data), Int32.decode(data)
        client = String("utf-8").decode(data) or ""
        kind = _KNOWN[key, version]
        if kind.FLEXIBLE_VERSION:
            TaggedFields.decode(data)
        body = kind.decode(data)
        if data.read():
            raise ValueError(f"{NAMES[key]} v{version} holds more than its layout")
        return cls(key, version, correlation, client, body)

    def __str__(self) -> str:
        return f"{NAMES[self.key]} v{self.version} {'' if self.key == PRODUCE else self.body}"

    def answer(self, *values: Any) -> bytes:
        """Return the frame of an answer to it, from the values of its layout."""
        kind = type(self.body)
        head = Int32.encode(self.correlation)
        if kind.FLEXIBLE_VERSION and self.key != API_VERSIONS:
            head += b"\x00"
        body = head + kind.RESPONSE_TYPE(*values).encode()
        return Int32.encode(len(body)) + body


def head(frame: bytes) -> tuple[int, str]:
    """Return key and client of a request, its length included."""
    size = int.from_bytes(frame[12:14], "big")
    return int.from_bytes(frame[4:6], "big"), frame[14 : 14 + size].decode()


def request(struct: RequestStruct, correlation: int, client: str = "script") -> bytes:
    """Return the frame of a request."""
    head = RequestHeader_v2 if struct.FLEXIBLE_VERSION else RequestHeader_v1
    body = head(struct, correlation, client).encode() + struct.encode()
    return Int32.encode(len(body)) + body


def answer_of(struct: RequestStruct, frame: bytes) -> Response:
    """Return what an answer to a request says."""
    data = BytesIO(frame)
    data.seek(4)
    struct.parse_response_header(data)
    return struct.RESPONSE_TYPE.decode(data)


def feature(name: str, level: int) -> dict[int, bytes]:
    """Return the tags of ApiVersions that tell of one feature that the cluster has agreed on."""
    text = name.encode()
    entry = UnsignedVarInt32.encode(len(text) + 1) + text + Int16.encode(level) + Int16.encode(level) + b"\x00"
    value = UnsignedVarInt32.encode(2) + entry
    return {_FINALIZED: UnsignedVarInt32.encode(len(value)) + value}  # aiokafka writes no length of its own
