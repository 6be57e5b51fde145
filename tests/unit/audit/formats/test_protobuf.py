"""What the audit takes for a Protobuf record: nothing that holds bytes which a reader does not see."""

from __future__ import annotations

import pytest

pytest.importorskip("google.protobuf", reason="needs the extra protobuf")
pytest.importorskip("grpc_tools", reason="needs the extra protobuf")

from stream_anon.adapters.protobuf.schemas import message_of
from stream_anon.audit.formats.protobuf import protobuf_bodies

SCHEMA = """
syntax = "proto3";
message Record {
  optional string city = 1;
  repeated int64 visits = 2;
  optional Age age = 3;
  message Age { optional int64 least = 1; }
}
"""


@pytest.mark.parametrize(
    "hidden",
    [
        b"\x08\x2a",  # a number in the place of a text
        b"\x15ANNA",  # four bytes in the place of numbers
        b"\x1a\x05\x0dANNA",  # the same in an inner record
        b"\x19ANNABELL",  # eight bytes in the place of an inner record
        b"\x25ANNA",  # a field that nobody declares
    ],
)
def test_a_body_with_bytes_that_a_reader_does_not_see_is_no_record(hidden: bytes) -> None:
    decode = protobuf_bodies(message_of(SCHEMA, (0,), {}))
    sound = b"\x0a\x04Bern\x12\x02\x01\x02"
    assert decode(sound) == {"city": "Bern", "visits": [1, 2], "age": None}
    assert decode(sound + hidden) is None
