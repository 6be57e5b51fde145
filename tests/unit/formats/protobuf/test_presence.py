"""A sensitive field of Protobuf that nobody wrote is missing, and no value that a class could reach l by."""

from __future__ import annotations

import json

import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.message_factory import GetMessageClass

from stream_anon.formats.protobuf.message_reader import MessageReader
from stream_anon.formats.protobuf.proto_files import message_of
from stream_anon.formats.registered_formats import REGISTERED, WantedFields
from stream_anon.formats.registry.registered import RegisteredSchema
from stream_anon.microdata.texts import Texts

SCHEMA = """syntax = "proto3"; message V {
  string person = 1; int32 age = 2; string illness = 3; int32 stage = 4; bool sure = 5; Ward ward = 6; In in = 7;
  optional string told = 8; repeated string labs = 9;
  message In { double dose = 1; int32 day = 2; } enum Ward { NONE = 0; EYES = 1; } }"""
PATHS = tuple(
    tuple(name.split("."))
    for name in ("person", "age", "illness", "stage", "sure", "ward", "in.dose", "in.day", "told", "labs")
)
CHOICE = """syntax = "proto2"; enum Size { SMALL = 1; LARGE = 2; }
message C { oneof one { string read = 1; Size unread = 2; } }"""
SENSITIVE = tuple(path for path in PATHS if path[0] not in ("person", "age") and path[-1] != "day")


@pytest.mark.parametrize("given", [{}, {"illness": "flu"}, {"stage": 2, "ward": 1, "sure": True, "labs": ["a"]}])
def test_what_googles_reader_finds_set_is_a_value_and_the_rest_is_missing(given: dict[str, object]) -> None:
    message = message_of(SCHEMA, (0,), {})
    kind = GetMessageClass(message)
    body = kind(**{"person": "p", "in": {}, **given}).SerializeToString()
    [text] = MessageReader(message, PATHS, 10_000, SENSITIVE).unwrap(Texts.of([body])).texts
    found = json.loads(text or b"")
    told = MessageToDict(kind.FromString(body), preserving_proto_field_name=True)
    assert {name for name in found if name not in ("age", "in")} == set(told) - {"in"}
    assert found["age"] == 0, "a quasi-identifier that is not there is its default, as before"
    assert found["in"] == {"day": 0}


def test_a_default_that_was_written_is_a_value() -> None:
    message = message_of(SCHEMA, (0,), {})
    body = b"\x1a\x00\x20\x00\x28\x00"
    [text] = MessageReader(message, PATHS, 10_000, SENSITIVE).unwrap(Texts.of([body])).texts
    found = json.loads(text or b"")
    assert (found["illness"], found["stage"], found["sure"]) == ("", 0, False)


def test_bodies_of_a_registry_are_read_so() -> None:
    form = REGISTERED["protobuf"].body(WantedFields(PATHS, SENSITIVE, 10_000))
    parsed = form.parse(RegisteredSchema(SCHEMA, "PROTOBUF"))
    reader, _ = parsed.reader((0,))
    [text] = reader.unwrap(Texts.of([b"\x0a\x01p"])).texts
    assert json.loads(text or b"") == {"person": "p", "age": 0}


@pytest.mark.parametrize("number", [0, 1, 2, 3, 127])
def test_a_number_that_its_enum_does_not_know_replaces_no_member_of_a_oneof_that_is_read(number: int) -> None:
    message = message_of(CHOICE, (0,), {})
    body = b"\x0a\x01x\x10" + bytes([number])
    [text] = MessageReader(message, [("read",)], 10_000).unwrap(Texts.of([body])).texts
    wanted = MessageToDict(GetMessageClass(message).FromString(body))
    assert json.loads(text or b"") == {name: value for name, value in wanted.items() if name == "read"}
