"""Protobuf for tests: drawn schemas and bodies, and what Google's own reader says that a body means."""

from __future__ import annotations

import datetime as dt
import re
import struct
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
from google.protobuf import duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from google.type import date_pb2, decimal_pb2
from hypothesis import strategies as st

from tests.support.avro_records import UNREADABLE

F = FieldDescriptorProto


class Unfit(Exception):  # noqa: N818 - it is an answer
    """A body is none of its message."""


def _confluent() -> FileDescriptorProto:
    file = FileDescriptorProto(name="confluent/type/decimal.proto", package="confluent.type", syntax="proto3")
    message = file.message_type.add(name="Decimal")
    for number, (name, kind) in enumerate(
        (("value", F.TYPE_BYTES), ("precision", F.TYPE_UINT32), ("scale", F.TYPE_INT32)), start=1
    ):
        message.field.add(name=name, number=number, type=kind, label=F.LABEL_OPTIONAL)
    return file


KNOWN = [
    *(
        FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
        for module in (timestamp_pb2, duration_pb2, wrappers_pb2, struct_pb2, date_pb2, decimal_pb2)
    ),
    _confluent(),
]
SPECIAL = [
    *(f".google.protobuf.{name}" for name in ("Timestamp", "Duration", "Struct", "Value", "ListValue")),
    *(f".google.protobuf.{name}Value" for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32")),
    *(f".google.protobuf.{name}Value" for name in ("Bool", "String", "Bytes")),
    ".google.type.Date",
    ".google.type.Decimal",
    ".confluent.type.Decimal",
]
INTEGERS = [F.TYPE_INT32, F.TYPE_INT64, F.TYPE_UINT32, F.TYPE_UINT64, F.TYPE_SINT32, F.TYPE_SINT64]
FIXED_32 = [F.TYPE_FIXED32, F.TYPE_SFIXED32, F.TYPE_FLOAT]
FIXED_64 = [F.TYPE_FIXED64, F.TYPE_SFIXED64, F.TYPE_DOUBLE]
SCALARS = [*INTEGERS, *FIXED_32, *FIXED_64, F.TYPE_BOOL, F.TYPE_STRING, F.TYPE_STRING, F.TYPE_BYTES, F.TYPE_ENUM]
KEYS = [*INTEGERS, F.TYPE_FIXED32, F.TYPE_SFIXED64, F.TYPE_BOOL, F.TYPE_STRING]
NUMBERS = st.integers(1, 20) | st.sampled_from([15, 16, 2047, 2048, 2**29 - 1])


@st.composite
def files(draw: st.DrawFn) -> FileDescriptorProto:
    """Draw a file of two messages that may hold each other, and an enum."""
    syntax = draw(st.sampled_from(["proto2", "proto3"]))
    file = FileDescriptorProto(name="drawn.proto", package="drawn", syntax=syntax)
    file.dependency.extend(one.name for one in KNOWN)
    enum = file.enum_type.add(name="E")
    for name, number in (("ZERO", 0), ("MINUS", -7), ("MUCH", 2**31 - 1)):
        enum.value.add(name=name, number=number)
    for name in ("A", "B"):
        message = file.message_type.add(name=name)
        # Of a message without a field Google's reader takes tags of zero, which are none.
        numbers = draw(st.lists(NUMBERS, min_size=1, max_size=6, unique=True))
        oneof = draw(st.integers(0, 1)) and message.oneof_decl.add(name="one").name
        for place, number in enumerate(numbers):
            _draw_field(draw, file, message, f"f{place}", number, bool(oneof))
        if oneof and not any(field.HasField("oneof_index") for field in message.field):
            message.field.add(name="alone", number=77, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL, oneof_index=0)
        for field in message.field:  # an oneof of its own tells whether an optional field of proto3 is there
            if field.proto3_optional:
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}")
    return file


def _draw_field(
    draw: st.DrawFn, file: FileDescriptorProto, message: DescriptorProto, name: str, number: int, has_oneof: bool
) -> None:
    field = message.field.add(name=name, number=number, label=F.LABEL_OPTIONAL)
    shape = draw(st.integers(0, 9))
    field.type = draw(st.sampled_from(SCALARS)) if shape <= 4 else F.TYPE_MESSAGE
    if shape <= 4 and field.type == F.TYPE_ENUM:
        field.type_name = ".drawn.E"
    elif shape == 5:
        field.type_name = draw(st.sampled_from(SPECIAL))
    elif shape in (6, 7):
        field.type_name = draw(st.sampled_from([".drawn.A", ".drawn.B"]))
        if file.syntax == "proto2" and draw(st.booleans()):
            field.type = F.TYPE_GROUP
    elif shape >= 8:
        entry = message.nested_type.add(name=f"{name.capitalize()}Entry")
        entry.options.map_entry = True
        field.type_name, field.label = f".drawn.{message.name}.{entry.name}", F.LABEL_REPEATED
        entry.field.add(name="key", number=1, type=draw(st.sampled_from(KEYS)), label=F.LABEL_OPTIONAL)
        value = entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL)
        value.type = draw(st.sampled_from([*SCALARS, F.TYPE_MESSAGE]))
        if value.type == F.TYPE_ENUM:
            value.type_name = ".drawn.E"
        elif value.type == F.TYPE_MESSAGE:
            value.type_name = draw(st.sampled_from([".drawn.A", ".drawn.B", *SPECIAL]))
        return
    fate = draw(st.integers(0, 3))
    if fate == 0:
        field.label = F.LABEL_REPEATED
        if field.type not in (F.TYPE_STRING, F.TYPE_BYTES, F.TYPE_MESSAGE, F.TYPE_GROUP) and draw(st.booleans()):
            field.options.packed = True
    elif fate == 1 and has_oneof:
        field.oneof_index = 0
    elif fate == 2 and file.syntax == "proto3":
        field.proto3_optional = True


def descriptors(file: FileDescriptorProto) -> tuple[Any, Any]:
    """Return the descriptor of a file's first message, and the class by which the oracle reads it."""
    pool = DescriptorPool()
    for one in (*KNOWN, file):
        pool.AddSerializedFile(one.SerializeToString())
    name = f"{file.package}.{file.message_type[0].name}"
    return pool.FindMessageTypeByName(name), plain_class(name, file)


def plain_class(name: str, *more: FileDescriptorProto) -> Any:
    """Return the class by which the oracle reads a message of the known files or others."""
    plain = DescriptorPool()
    for one in (*KNOWN, *more):
        plain.AddSerializedFile(_without_texts(one).SerializeToString())
    return GetMessageClass(plain.FindMessageTypeByName(name))


def _without_texts(file: FileDescriptorProto) -> FileDescriptorProto:
    """Return a file whose texts are bytes and whose maps are lists of entries.

    So the reader of Google neither refuses a text that a later one replaces, nor drops an entry for what else is in
    it, and every number of an entry's enum is kept.
    """
    found = FileDescriptorProto.FromString(file.SerializeToString())
    waiting = list(found.message_type)
    while waiting:
        message = waiting.pop()
        waiting += message.nested_type
        is_entry = message.options.map_entry
        message.options.ClearField("map_entry")
        for field in message.field:
            if field.type == F.TYPE_STRING:
                field.type = F.TYPE_BYTES
                field.json_name = "text"  # how `meaning` tells it from bytes
            elif is_entry and field.type == F.TYPE_ENUM:
                field.type = F.TYPE_INT32
                field.ClearField("type_name")
                field.json_name = "enum"
        names = {field.name: field.json_name for field in message.field if field.json_name in ("text", "enum")}
        for field in message.field:
            field.json_name = f"{names.get(field.name, 'own')}_{field.name}"
    return found


def meaning(kind: Any, body: bytes) -> Any:
    """Return what a body says, as JSON without an object for each decimal; raises `Unfit` for what is none."""
    message = kind()
    try:
        message.ParseFromString(body)
    except DecodeError:
        raise Unfit from None
    return _SPECIAL.get(message.DESCRIPTOR.full_name, _object)(message)


def _object(message: Any) -> Any:
    found = {}
    for field in message.DESCRIPTOR.fields:
        if field.is_repeated:
            values = getattr(message, field.name)
            if not values:
                continue
            if field.message_type is not None and _is_entry(field):
                found[field.name] = _entries(values)
            else:
                found[field.name] = [_value(field, value) for value in values]
        elif not field.has_presence or message.HasField(field.name):
            found[field.name] = _value(field, getattr(message, field.name))
    return found


def _is_entry(field: Any) -> bool:
    inner = field.message_type
    return inner.containing_type is not None and inner.name.endswith("Entry")


def _entries(entries: Iterable[Any]) -> dict[str, Any]:
    found = {}
    for entry in entries:
        key_field, field = entry.DESCRIPTOR.fields
        key = _value(key_field, entry.key)
        if field.json_name == "enum_value":
            file = field.file
            closed = file.enum_types_by_name["E"].is_closed
            if entry.value not in (0, -7, 2**31 - 1) and closed:
                continue
            name = _E_NAMES.get(entry.value, entry.value)
            found[_key(key)] = name
        else:
            found[_key(key)] = _value(field, entry.value)
    return found


_E_NAMES = {0: "ZERO", -7: "MINUS", 2**31 - 1: "MUCH"}


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _value(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return _SPECIAL.get(field.message_type.full_name, _object)(value)
    if field.enum_type is not None:
        if field.enum_type.name == "NullValue":
            return None
        named = field.enum_type.values_by_number.get(value)
        return value if named is None else named.name
    if field.json_name.startswith("text_"):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise Unfit from None
    if field.type == F.TYPE_BYTES:
        return UNREADABLE
    if field.type in (F.TYPE_FLOAT, F.TYPE_DOUBLE):
        if not np.isfinite(value):
            return UNREADABLE
        return Decimal(str(np.float32(value)) if field.type == F.TYPE_FLOAT else repr(value))
    return value


def _timestamp(message: Any) -> Any:
    if not 0 <= message.nanos < 10**9 or not -62_135_596_800 <= message.seconds <= 253_402_300_799:
        return UNREADABLE
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=message.seconds)
    return moment.replace(tzinfo=None).isoformat() + _fraction(message.nanos) + "Z"


def _fraction(nanos: int) -> str:
    return re.sub(r"^\.(\d{3})(\d{3})?(000)+$|^\.0{9}$", lambda m: f".{m[1]}{m[2] or ''}" if m[1] else "",
                  f".{nanos:09}") if nanos else ""  # fmt: skip


def _duration(message: Any) -> Any:
    seconds, nanos = message.seconds, message.nanos
    if abs(seconds) > 315_576_000_000 or abs(nanos) >= 10**9 or seconds * nanos < 0:
        return UNREADABLE
    sign = "-" if seconds < 0 or nanos < 0 else ""
    return f"{sign}{abs(seconds)}{_fraction(abs(nanos))}s"


def _date(message: Any) -> Any:
    try:
        return dt.date(message.year, message.month, message.day).isoformat()
    except (ValueError, OverflowError):
        return UNREADABLE


def _decimal_text(message: Any) -> Any:
    try:
        text = message.value.decode()
    except UnicodeDecodeError:
        return UNREADABLE
    if text == "":
        return 0
    text = text.removeprefix("+")
    if len(text) > 128 or not re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", text):
        return UNREADABLE
    return Decimal(text)


def _decimal(message: Any) -> Any:
    number = int.from_bytes(message.value, "big", signed=True)
    if not 0 <= message.scale <= 300 or not -(2**1023) <= number < 2**1023:
        return UNREADABLE
    return number if message.scale == 0 else Decimal(f"{number}E-{message.scale}")  # exact, which scaleb is not


def _struct(message: Any) -> Any:
    return _entries(message.fields)


def _any_value(message: Any) -> Any:
    which = message.WhichOneof("kind")
    return None if which is None else _value(message.DESCRIPTOR.fields_by_name[which], getattr(message, which))


def _list(message: Any) -> Any:
    return [_any_value(value) for value in message.values]


def _wrapped(message: Any) -> Any:
    return _value(message.DESCRIPTOR.fields_by_name["value"], message.value)


_SPECIAL: dict[str, Any] = {
    "google.protobuf.Timestamp": _timestamp,
    "google.protobuf.Duration": _duration,
    "google.protobuf.Struct": _struct,
    "google.protobuf.Value": _any_value,
    "google.protobuf.ListValue": _list,
    **{name.removeprefix("."): _wrapped for name in SPECIAL[5:14]},
    "google.type.Date": _date,
    "google.type.Decimal": _decimal_text,
    "confluent.type.Decimal": _decimal,
}


def varint(number: int, longer: int = 0) -> bytes:
    """Return a number as Protobuf writes it, in more bytes than it needs if asked to."""
    found, number = bytearray(), number % 2**64
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    for _ in range(min(longer, 10 - len(found))):
        found[-1] |= 0x80
        found.append(0)
    return bytes(found)


BITS = st.integers(0, 2**64 - 1) | st.integers(0, 300) | st.sampled_from([2**64 - 7, 2**31 - 1, 253_402_300_799])
TEXTS = st.text(max_size=12).map(str.encode) | st.sampled_from(
    [b'"\\\x00\x1f\x7f', "\u2028ü😀".encode(), b"a" * 40, b"-0.250e-3", b"12", b"+7", b"\xff\xfe", b"\xed\xa0\x80"]
)


@st.composite
def bodies(draw: st.DrawFn, message: Any, levels: int = 0) -> bytes:
    """Draw a body: fields in any order, some of them several times, and some that the message does not know."""
    fields = list(message.fields)
    found = b""
    for _ in range(draw(st.integers(0, 5 if levels < 4 else 1))):
        if fields and draw(st.integers(0, 7)):
            found += draw(_occurrences(draw(st.sampled_from(fields)), levels))
        else:
            found += _tag(draw(NUMBERS), 0) + varint(draw(BITS), draw(st.integers(0, 3)))
    return found


def _tag(number: int, form: int) -> bytes:
    return varint(number << 3 | form)


@st.composite
def _occurrences(draw: st.DrawFn, field: Any, levels: int) -> bytes:
    if field.message_type is not None:
        body = draw(bodies(field.message_type, levels + 1))
        if field.type == F.TYPE_GROUP:
            return _tag(field.number, 3) + body + _tag(field.number, 4)
        return _tag(field.number, 2) + varint(len(body)) + body
    if field.type in (F.TYPE_STRING, F.TYPE_BYTES):
        body = draw(TEXTS if field.type == F.TYPE_STRING else st.binary(max_size=20))
        return _tag(field.number, 2) + varint(len(body), draw(st.integers(0, 1))) + body
    if field.is_repeated and draw(st.booleans()):
        body = b"".join(draw(st.lists(_scalars(field), max_size=4)))
        return _tag(field.number, 2) + varint(len(body)) + body
    form = 5 if field.type in FIXED_32 else 1 if field.type in FIXED_64 else 0
    return _tag(field.number, form) + draw(_scalars(field))


@cache
def _scalars_of(kind: int) -> st.SearchStrategy[bytes]:
    if kind in FIXED_32:
        return st.binary(min_size=4, max_size=4) | st.floats(width=32).map(lambda x: struct.pack("<f", x))
    if kind in FIXED_64:
        return st.binary(min_size=8, max_size=8) | st.floats().map(lambda x: struct.pack("<d", x))
    if kind == F.TYPE_ENUM:
        return st.sampled_from([0, -7, 2**31 - 1, 5]).map(varint)
    return st.builds(varint, BITS, st.integers(0, 2))


def _scalars(field: Any) -> st.SearchStrategy[bytes]:
    return _scalars_of(field.type)


def pruned(value: Any, paths: Sequence[tuple[str, ...]]) -> Any:
    """Return what paths of keys lead to in an object."""
    if isinstance(value, list):
        return [pruned(one, paths) for one in value]
    if not isinstance(value, dict) or () in paths:
        return value
    firsts = {path[0] for path in paths}
    return {
        key: pruned(inner, [path[1:] for path in paths if path[0] == key])
        for key, inner in value.items()
        if key in firsts
    }
