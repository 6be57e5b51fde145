"""Programs that would lead the kernel out of its arrays are refused; those of the compiler are not."""

from __future__ import annotations

import json
from base64 import b64encode

import numpy as np
import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import InputError
from stream_anon.formats.protobuf import opcodes as op
from stream_anon.formats.protobuf.message_reader import MessageReader
from stream_anon.formats.protobuf.program import program_of
from stream_anon.formats.protobuf.proto_files import Messages, message_of
from stream_anon.formats.protobuf.verifying import verify
from stream_anon.microdata.texts import Texts

BROAD = """
syntax = "proto2";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/type/date.proto";
enum Color { RED = 0; BLUE = 7; }
message Broad {
  map<string, Color> colors = 1;
  map<int32, Broad> inner = 2;
  oneof one { int32 a = 3; string b = 4; Color c = 5; }
  repeated double many = 6 [packed = true];
  optional google.protobuf.Struct free = 7;
  optional google.protobuf.Timestamp at = 8;
  optional google.type.Date day = 9;
  repeated group Part = 10 { optional bool yes = 1; }
}
"""
FIELDS = ("colors", "inner", "one", "a", "b", "many", "free", "at", "day", "part")
PATHS = [(name,) for name in FIELDS]
KEY, VALUE = 1, 2


def _broad() -> op.Program:
    return program_of(message_of(BROAD, [0], {}), PATHS)


def _map_schema(key: int, value: int, kind: int = FieldDescriptorProto.TYPE_STRING) -> str:
    """Return a descriptor of a message with a map whose key and value have any numbers, as no compiler makes it."""
    one = FieldDescriptorProto.LABEL_OPTIONAL
    entry = DescriptorProto(name="MEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=key, label=one, type=kind)
    entry.field.add(name="value", number=value, label=one, type=FieldDescriptorProto.TYPE_DOUBLE)
    message = DescriptorProto(name="M", nested_type=[entry])
    message.field.add(
        name="m", number=1, label=FieldDescriptorProto.LABEL_REPEATED, type=FieldDescriptorProto.TYPE_MESSAGE,
        type_name=".M.MEntry",
    )  # fmt: skip
    return b64encode(
        FileDescriptorProto(name="m.proto", syntax="proto3", message_type=[message]).SerializeToString()
    ).decode()


def test_an_entry_of_a_map_is_no_message_of_a_record() -> None:
    messages = Messages(BROAD, {})
    assert messages.places == ((None, None, ()),)
    assert sorted(messages.by_number.values()) == [(0,), (0, 2)]
    with pytest.raises(InputError, match="no such message"):
        messages.at((0, 0))


def test_what_a_compiler_makes_is_sound() -> None:
    verify(_broad())


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [(2, 1, FieldDescriptorProto.TYPE_STRING), (1, 3, FieldDescriptorProto.TYPE_STRING),
     (1, 2, FieldDescriptorProto.TYPE_DOUBLE), (1, 2, FieldDescriptorProto.TYPE_BYTES)],
)  # fmt: skip
def test_a_map_whose_entries_no_compiler_would_make_is_no_schema(key: int, value: int, kind: int) -> None:
    try:
        message = message_of(_map_schema(key, value, kind), [0], {})
    except InputError:
        return  # Google's library refused it first
    with pytest.raises(InputError, match="no sound program"):
        MessageReader(message, [("m",)], 1000)


def test_a_map_in_a_descriptor_is_read() -> None:
    reader = MessageReader(message_of(_map_schema(KEY, VALUE), [0], {}), [("m",)], 1000)
    body = b"\x0a\x0c\x0a\x01a\x11" + np.float64(1.5).tobytes()
    [text] = reader.unwrap(Texts.of([body])).texts
    assert json.loads(text or b"") == {"m": {"a": 1.5}}


def _entry(program: op.Program) -> int:
    return int(np.flatnonzero(program.messages[:, op.KIND] == op.ENTRY)[0])


def _field(program: op.Program, operation: int) -> int:
    return int(np.flatnonzero(program.fields[:, op.OPERATION] == operation)[0])


@pytest.mark.parametrize(
    ("operation", "column", "number"),
    [
        (op.MESSAGE, op.FIRST, 10**6),
        (op.MESSAGE, op.OFTEN, op.ONE),
        (op.MESSAGE, op.FIRST, 0),
        (op.INT_32, op.TWIN, 0),
        (op.INT_32, op.TWIN, -2),
        (op.INT_32, op.FORM, op.LENGTH),
        (op.INT_32, op.NUMBER, 10**6),
        (op.INT_32, op.OPERATION, 99),
        (op.CLOSED_ENUM, op.FIRST, 1),
        (op.CLOSED_ENUM, op.SECOND, 10**6),
        (op.CLOSED_ENUM, op.FIRST, -1),
        (op.STRING, op.TEXT_STOP, 10**6),
        (op.STRING, op.TEXT_START, -1),
    ],
)
def test_a_field_that_leads_elsewhere_is_refused(operation: int, column: int, number: int) -> None:
    program = _broad()
    program.fields[_field(program, operation), column] = number
    with pytest.raises(InputError, match="no sound program"):
        verify(program)


def test_a_message_of_another_kind_or_size_is_refused() -> None:
    for kind in range(op.DECIMAL_TEXT + 2):
        program = _broad()
        was, program.messages[_entry(program), op.KIND] = program.messages[_entry(program), op.KIND], kind
        if kind != was:
            with pytest.raises(InputError):
                verify(program)
    for column in (op.FIRST_FIELD, op.FIELDS):
        program = _broad()
        program.messages[0, column] += 1
        with pytest.raises(InputError):
            verify(program)
    program = _broad()
    program.messages[0, op.KIND] = op.ENTRY
    with pytest.raises(InputError):
        verify(program)


@given(st.data())
def test_a_changed_program_is_refused_or_names_only_what_is_there(data: st.DataObject) -> None:
    program = _broad()
    part = data.draw(st.sampled_from([program.messages, program.fields, program.tables]))
    flat = part.reshape(-1)
    flat[data.draw(st.integers(0, len(flat) - 1))] = data.draw(
        st.integers(-3, 60) | st.sampled_from([2**31, -(2**63)])
    )
    try:
        verify(program)
    except InputError:
        return
    for _, first, count in program.messages.tolist():
        fields = program.fields[first : first + count]
        assert len(fields) == count
        assert all(first <= twin < first + count for twin in fields[:, op.TWIN].tolist() if twin != -1)
        for field in fields.tolist():
            assert 0 <= field[op.TEXT_START] <= field[op.TEXT_STOP] <= len(program.texts)
            if field[op.OPERATION] == op.MESSAGE:
                kind = program.messages[field[op.FIRST], op.KIND]
                assert (kind == op.ENTRY) == (field[op.OFTEN] == op.MAP)
