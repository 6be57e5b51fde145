"""What a schema has and JSON has not is a reject wherever it stands, also where a list is wanted."""

from __future__ import annotations

import json
import struct
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_anon.formats.avro.avro_reader import AvroReader
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.protobuf.message_reader import MessageReader
from stream_anon.formats.protobuf.proto_files import message_of
from stream_anon.formats.unwrapping import Unwrapper, UnwrappingCodec
from stream_anon.microdata.attributes import LIST_MARK, ScalarType
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.policy import Policy
from stream_anon.settings.policy_file import load_policy
from tests.support.avro_records import zigzag
from tests.support.marked_records import MARK, MarkUnwrapper
from tests.support.policies import write_document

MOST = 10_000
NOT_A_NUMBER, ENDLESS = struct.pack("<d", float("nan")), struct.pack("<d", float("-inf"))
KINDS = [
    ("sensitive", "string[]"),
    ("insensitive", "string"),
    *(("insensitive", f"{one}{LIST_MARK}") for one in ScalarType),
]
kinds = pytest.mark.parametrize(("role", "kind"), KINDS)

AVRO: dict[str, tuple[Any, bytes]] = {
    "bytes": ("bytes", zigzag(3) + b"HIV"),
    "no bytes": ("bytes", zigzag(0)),
    "fixed": ({"type": "fixed", "name": "F", "size": 2}, b"ab"),
    "nan": ("double", NOT_A_NUMBER),
    "endless": ("double", ENDLESS),
    "short nan": ("float", struct.pack("<f", float("nan"))),
    "a union's bytes": (["null", "string", "bytes"], zigzag(2) + zigzag(1) + b"x"),
    "a list of bytes": ({"type": "array", "items": "bytes"}, zigzag(1) + zigzag(1) + b"x" + b"\0"),
    "a list with nan": ({"type": "array", "items": "double"}, zigzag(1) + NOT_A_NUMBER + b"\0"),
    "a late day": ({"type": "int", "logicalType": "date"}, zigzag(2**31 - 1)),
    "a late moment": ({"type": "long", "logicalType": "timestamp-millis"}, zigzag(2**62)),
    "no time": ({"type": "int", "logicalType": "time-millis"}, zigzag(-1)),
    "a huge decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 9},
        zigzag(200) + b"\x01" * 200,
    ),
}
PROTOBUF: dict[str, tuple[str, bytes]] = {
    "bytes": ("bytes value = 1;", b"\x0a\x03HIV"),
    "absent bytes": ("bytes value = 1;", b""),
    "nan": ("double value = 1;", b"\x09" + NOT_A_NUMBER),
    "endless": ("optional double value = 1;", b"\x09" + ENDLESS),
    "short nan": ("float value = 1;", b"\x0d" + struct.pack("<f", float("nan"))),
    "bytes in a oneof": ("oneof o { string other = 2; bytes value = 1; }", b"\x0a\x01x"),
    "a list of bytes": ("repeated bytes value = 1;", b"\x0a\x01x"),
    "a list with nan": ("repeated double value = 1;", b"\x0a\x08" + NOT_A_NUMBER),
    "wrapped bytes": ("google.protobuf.BytesValue value = 1;", b"\x0a\x03\x0a\x01x"),
    "no wrapped bytes": ("google.protobuf.BytesValue value = 1;", b"\x0a\x00"),
    "wrapped nan": ("google.protobuf.DoubleValue value = 1;", b"\x0a\x09\x09" + NOT_A_NUMBER),
    "no moment": ("google.protobuf.Timestamp value = 1;", b"\x0a\x06\x10\x80\x94\xeb\xdc\x03"),
    "no duration": ("google.protobuf.Duration value = 1;", b"\x0a\x06\x10\x80\x94\xeb\xdc\x03"),
    "no day": ("google.type.Date value = 1;", b"\x0a\x00"),
    "no decimal": ("google.type.Decimal value = 1;", b"\x0a\x03\x0a\x01x"),
}
IMPORTS = ("google/protobuf/wrappers", "google/protobuf/timestamp", "google/protobuf/duration", "google/type/date",
           "google/type/decimal")  # fmt: skip
PROTO = 'syntax = "proto3"; ' + " ".join(f'import "{one}.proto";' for one in IMPORTS) + " message M { %s }"


@cache
def _message(field: str) -> Any:
    return message_of(PROTO % field, [0], {})


def policy_of(folder: Path, kind: str, role: str) -> Policy:
    value: dict[str, Any] = {"role": role, "type": kind}
    if role == "insensitive":
        value["accept_linkable"] = True
    attributes = {"age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}, "missing": "leaf"}}
    privacy = {"k": 2, "individual": "every-record"}
    return load_policy(write_document(folder, {"privacy": privacy, "attributes": {**attributes, "value": value}}))


def decoded(policy: Policy, readers: list[Unwrapper], body: bytes) -> CodedBatch:
    return UnwrappingCodec(readers, JsonCodec(policy)).decode([body], 0, np.arange(1))


def check_rejected(policy: Policy, batch: CodedBatch) -> None:
    assert len(batch) == 0
    assert [Reason(reason) for reason in batch.rejects.reasons.tolist()] == [Reason.WRONG_TYPE]
    assert [policy.attributes[at].name for at in batch.rejects.attributes.tolist()] == ["value"]


@kinds
@pytest.mark.parametrize("name", AVRO)
def test_what_json_cannot_say_of_avro_is_of_the_wrong_type(name: str, role: str, kind: str, tmp_path: Path) -> None:
    policy, (schema, body) = policy_of(tmp_path, kind, role), AVRO[name]
    text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "value", "type": schema}]})
    reader = AvroReader(text, [one.path for one in policy.attributes], MOST)
    check_rejected(policy, decoded(policy, [reader], body))


@kinds
@pytest.mark.parametrize("name", PROTOBUF)
def test_what_json_cannot_say_of_protobuf_is_of_the_wrong_type(
    name: str, role: str, kind: str, tmp_path: Path
) -> None:
    policy, (field, body) = policy_of(tmp_path, kind, role), PROTOBUF[name]
    reader = MessageReader(_message(field), [one.path for one in policy.attributes], MOST)
    check_rejected(policy, decoded(policy, [MarkUnwrapper(), reader], MARK + body))


@pytest.mark.parametrize(("role", "kind"), [("sensitive", "string[]"), ("insensitive", "number[]")])
def test_a_list_without_items_is_a_row_of_no_items(role: str, kind: str, tmp_path: Path) -> None:
    policy = policy_of(tmp_path, kind, role)
    schema = {"type": "array", "items": "string" if kind == "string[]" else "double"}
    text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "value", "type": schema}]})
    batch = decoded(policy, [AvroReader(text, [one.path for one in policy.attributes], MOST)], b"\0")
    assert list(batch.payload) == [((),)]
