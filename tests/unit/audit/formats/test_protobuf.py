"""What the audit takes for a Protobuf record: nothing that holds bytes which a reader does not see."""

from __future__ import annotations

import struct
from typing import Any

import pytest

pytest.importorskip("google.protobuf", reason="needs the extra protobuf")
pytest.importorskip("grpc_tools", reason="needs the extra protobuf")

from google.protobuf.message_factory import GetMessageClass

from stream_anon.audit.formats.protobuf import protobuf_bodies
from stream_anon.formats.protobuf.proto_files import message_of

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


def test_a_body_that_is_missing_is_a_message_without_a_field() -> None:
    decode = protobuf_bodies(message_of(SCHEMA, (0,), {}))
    assert decode(None) == decode(b"") == {"city": None, "visits": None, "age": None}


WIDE = """
syntax = "proto3";
message Record {
  optional string city = 1;
  repeated int64 visits = 2;
  optional Inner age = 3;
  optional double weight = 4;
  optional float share = 5;
  repeated double costs = 6;
  repeated string plan = 7;
  repeated Inner stays = 8;
  optional bool paid = 17;
  optional int64 serial = 3000;
  message Inner { optional int64 least = 1; optional int64 most = 2; optional Inner inner = 3; }
}
"""
SOUND: dict[str, Any] = {
    "city": "Bern" * 100,
    "visits": [0, 1, 127, 128, 300, 2**40, -1],
    "weight": 70.5,
    "share": 0.25,
    "costs": [1.5, -2.5],
    "plan": ["a", "a", ""],
    "paid": True,
    "serial": -(2**62),
}


def _encoded(**fields: Any) -> bytes:
    return bytes(GetMessageClass(message_of(WIDE, (0,), {}))(**fields).SerializeToString())


@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 129, 16_383, 16_384])
def test_a_text_of_any_size_is_read(size: int) -> None:
    decode = protobuf_bodies(message_of(WIDE, (0,), {}))
    assert (decode(_encoded(city="x" * size)) or {})["city"] == "x" * size
    assert (decode(_encoded(serial=size)) or {})["serial"] == size


@pytest.mark.parametrize("name", SOUND)
def test_a_value_of_any_kind_is_read_and_a_single_one_may_not_stand_twice(name: str) -> None:
    decode = protobuf_bodies(message_of(WIDE, (0,), {}))
    body, value = _encoded(**{name: SOUND[name]}), SOUND[name]
    nothing = dict.fromkeys((*SOUND, "age", "stays"))
    assert decode(body) == nothing | {name: value}
    assert decode(_encoded(**SOUND)) == nothing | SOUND
    others = {other: each for other, each in SOUND.items() if other != name}
    assert decode(_encoded(**others) + body) == nothing | SOUND
    # Numbers of a list are packed: where they were parted would be published unseen.
    parted = isinstance(value, list) and isinstance(value[0], str)
    assert decode(body + body) == (nothing | {name: value + value} if parted else None)
    twice = nothing | SOUND | {name: value + value} if parted else None
    assert decode(body + _encoded(**others) + body) == twice
    for end in range(1, len(body)):
        cut = decode(body[:end])
        assert cut is None or cut[name] != value


def test_numbers_of_a_list_stand_packed_in_one_piece() -> None:
    decode = protobuf_bodies(message_of(WIDE, (0,), {}))
    assert (decode(b"\x12\x03\x01\x02\x03") or {})["visits"] == [1, 2, 3]
    assert decode(b"\x10\x01\x10\x02\x12\x01\x03") is None
    assert decode(b"\x31" + struct.pack("<d", 1.5) + b"\x31" + struct.pack("<d", 2.5)) is None


def test_the_parts_of_an_inner_message_are_one_and_hold_nothing_twice() -> None:
    decode = protobuf_bodies(message_of(WIDE, (0,), {}))
    least, most = _encoded(age={"least": 1}), _encoded(age={"most": 2})
    assert (decode(least + most) or {})["age"] == {"least": 1, "most": 2, "inner": None}
    assert decode(least + most + least) is None
    inner, same = _encoded(age={"inner": {"least": 1}}), _encoded(age={"inner": {"most": 1}})
    assert (decode(inner + least + same) or {})["age"]["inner"] == {"least": 1, "most": 1, "inner": None}
    assert decode(inner + least + inner) is None
    assert decode(_encoded(age={"least": 1}, serial=1) + least) is None


def test_messages_in_a_list_are_objects_that_json_can_hold() -> None:
    decode = protobuf_bodies(message_of(WIDE, (0,), {}))
    stays = (decode(_encoded(stays=[{"least": 1}, {"least": 1, "most": 2}])) or {})["stays"]
    assert stays == [{"least": 1, "most": None, "inner": None}, {"least": 1, "most": 2, "inner": None}]


def test_a_group_and_an_endless_number_are_no_fields() -> None:
    decode = protobuf_bodies(message_of(WIDE, (0,), {}))
    for body in (b"\x0b\x0c", b"\x1b\x1c", b"\x0b", b"\x88\x01" + b"\x80" * 20, b"\x0e\x00", b"\x0f\x00"):
        assert decode(body) is None


@pytest.mark.parametrize(("levels", "fits"), [(50, True), (99, True), (150, False), (5000, False)])
def test_messages_within_messages_are_read_as_deep_as_the_library_reads_them(levels: int, fits: bool) -> None:
    body = b""
    for _ in range(levels):
        body = b"\x1a" + _varint(len(body)) + body
    decode = protobuf_bodies(message_of(WIDE, (0,), {}))
    assert (decode(body) is not None) == fits


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + _varint(number >> 7)
