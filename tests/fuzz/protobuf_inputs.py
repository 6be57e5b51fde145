"""Protobuf descriptors, some of which no compiler makes, and bodies that are wrong in many ways."""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError

from tests.fuzz.avro_inputs import TEXTS
from tests.fuzz.mutations import mutated, odd_varint
from tests.fuzz.schema_policy import NAMES
from tests.support.protobuf_records import FIXED_32, FIXED_64, KEYS, KNOWN, SCALARS, SPECIAL, varint

F = FieldDescriptorProto
_NUMBERS = (*range(1, 17), 2_047, 2_048, 2**29 - 1)
_BITS = (0, 1, 5, 17, 99, 2**31 - 1, 2**32, 2**63, 2**64 - 7, 253_402_300_799, 86_400)
_BYTES = (b"\xff\xfe", b"\xed\xa0\x80", b"-0.250e-3", b"12", b"+7", b"\x01" * 9)
_DOUBLES = (0.0, -0.0, 1.5, float("nan"), float("-inf"), 0.1)
WORDS = (
    b"\0", b"\x08", b"\x0a", b"\x0b", b"\x0c", b"\x0d", b"\x12", b"\x13", b"\x14", b"\x80" * 10,
    b"\xff" * 9 + b"\1", b"\x0a\0", b"\x0a\1a", b"\x10\1", b"\x0a\xff\xff\xff\xff\x07", b"\xfa\xff\xff\xff\x0f",
)  # fmt: skip
_NATURAL = {
    "id": F.TYPE_STRING, "age": F.TYPE_INT32, "city": F.TYPE_ENUM, "day": F.TYPE_STRING,
    "result": F.TYPE_STRING, "amounts": F.TYPE_DOUBLE, "note": F.TYPE_STRING, "amount": F.TYPE_DOUBLE,
    "flag": F.TYPE_BOOL, "where": F.TYPE_MESSAGE,
}  # fmt: skip
_SENSITIVE = ("result", "amounts")
"""Of these a default counts as missing if nobody wrote it, which Google's reader does not tell."""


def file(draws: Random) -> FileDescriptorProto:
    """Return a file whose first message has the policy's fields, mostly of the types that fit."""
    found = FileDescriptorProto(name="drawn.proto", package="drawn", syntax=draws.choice(("proto2", "proto3")))
    found.dependency.extend(one.name for one in KNOWN)
    enum = found.enum_type.add(name="E")
    for name, number in (("ZERO", 0), ("MINUS", -7), ("MUCH", 2**31 - 1)):
        enum.value.add(name=name, number=number)
    names = [
        *(name for name in (*NAMES, "where") if draws.random() < 0.85),
        *(f"x{i}" for i in range(draws.randrange(4))),
    ]
    for message, own in (("A", names or ["id"]), ("B", ["zip", *(f"z{i}" for i in range(draws.randrange(5)))])):
        _fill(draws, found, found.message_type.add(name=message), own)
    return found


def _fill(draws: Random, file: FileDescriptorProto, message: DescriptorProto, names: list[str]) -> None:
    oneof = draws.random() < 0.4
    if oneof:
        message.oneof_decl.add(name="one")
        message.field.add(name="alone", number=77, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL, oneof_index=0)
    for name, number in zip(names, draws.sample(_NUMBERS, len(names)), strict=True):
        field = message.field.add(name=name, number=number, label=F.LABEL_OPTIONAL, type=F.TYPE_STRING)
        if name in _NATURAL and draws.random() < 0.8:
            field.type = _NATURAL[name]
            field.label = F.LABEL_REPEATED if name == "amounts" else F.LABEL_OPTIONAL
            _name_type(field, ".drawn.B")
        elif draws.random() < 0.25:
            _make_map(draws, message, field)
        else:
            field.type = draws.choice((*SCALARS, *[F.TYPE_MESSAGE] * 8))
            _name_type(field, draws.choice((".drawn.A", ".drawn.B", *SPECIAL)))
            _label(draws, file, field, oneof=oneof)
        if (
            name in _SENSITIVE
            and file.syntax == "proto3"
            and field.label == F.LABEL_OPTIONAL
            and field.type != F.TYPE_MESSAGE
        ):
            field.proto3_optional = not field.HasField("oneof_index")
    for field in message.field:  # an oneof of its own tells whether an optional field of proto3 is there
        if field.proto3_optional:
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")


def _name_type(field: Any, message: str) -> None:
    if field.type == F.TYPE_ENUM:
        field.type_name = ".drawn.E"
    elif field.type == F.TYPE_MESSAGE:
        field.type_name = message


def _label(draws: Random, file: FileDescriptorProto, field: Any, *, oneof: bool) -> None:
    fate = draws.randrange(4)
    if field.type == F.TYPE_MESSAGE and field.type_name.startswith(".drawn") and file.syntax == "proto2":
        field.type = draws.choice((F.TYPE_MESSAGE, F.TYPE_GROUP))
    if fate == 0:
        field.label = F.LABEL_REPEATED
    elif fate == 1 and oneof:
        field.oneof_index = 0
    elif fate == 2 and file.syntax == "proto3":
        field.proto3_optional = True


def _make_map(draws: Random, message: DescriptorProto, field: Any) -> None:
    entry = message.nested_type.add(name=f"{field.name.capitalize()}Entry")
    entry.options.map_entry = True
    field.type, field.label = F.TYPE_MESSAGE, F.LABEL_REPEATED
    field.type_name = f".drawn.{message.name}.{entry.name}"
    entry.field.add(name="key", number=1, type=draws.choice(KEYS), label=F.LABEL_OPTIONAL)
    value = entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL)
    value.type = draws.choice((*SCALARS, F.TYPE_MESSAGE))
    _name_type(value, draws.choice((".drawn.A", ".drawn.B", *SPECIAL)))


def spoilt(sound: FileDescriptorProto, draws: Random) -> FileDescriptorProto:
    """Return a file in which something is as no compiler makes it."""
    found = FileDescriptorProto.FromString(sound.SerializeToString())
    for _ in range(draws.choice((1, 1, 2, 4))):
        messages = [*found.message_type, *(inner for outer in found.message_type for inner in outer.nested_type)]
        message = draws.choice(messages)
        if not message.field or draws.random() < 0.15:
            found.syntax = draws.choice(("", "proto2", "proto3", "editions", "x"))
            found.enum_type[0].value[draws.randrange(3)].number = draws.choice((0, 1, -1, 2**31 - 1, -(2**31)))
        elif draws.random() < 0.4:
            _spoil_message(message, draws)
        else:
            _spoil_field(draws.choice(list(message.field)), draws, [one.name for one in messages])
    if draws.random() < 0.1:
        with suppress(DecodeError):
            found = FileDescriptorProto.FromString(mutated(found.SerializeToString(), draws, [], WORDS))
    return found


def _spoil_message(message: DescriptorProto, draws: Random) -> None:
    fields = list(message.field)
    one, other = draws.choice(fields), draws.choice(fields)
    match draws.randrange(4):
        case 0:
            message.options.map_entry = draws.random() < 0.7
        case 1:
            one.number, other.number = other.number, one.number
        case 2:
            message.field.extend(fields[: draws.randrange(3)])
        case _:
            del message.field[draws.randrange(len(fields))]


def _spoil_field(field: Any, draws: Random, messages: Sequence[str]) -> None:
    match draws.randrange(6):
        case 0:
            field.number = draws.choice((0, 1, 2, 3, -1, 2**29, 19_000, 2**31 - 1))
        case 1:
            field.type = draws.choice((*SCALARS, F.TYPE_MESSAGE, F.TYPE_GROUP))
        case 2:
            field.label = draws.choice((F.LABEL_OPTIONAL, F.LABEL_REPEATED, F.LABEL_REQUIRED))
        case 3:
            field.type_name = draws.choice((".drawn.E", *SPECIAL, *(f".drawn.{name}" for name in messages)))
        case 4:
            field.oneof_index = draws.choice((0, 1, -1, 5))
        case _:
            field.name = draws.choice(("", "key", "value", "a" * 300, "id"))


def text_of(found: FileDescriptorProto) -> str:
    """Return a file as some clients register it."""
    return b64encode(found.SerializeToString()).decode()


class Bodies:
    """Writes bodies of messages of a file, in `odd` of a thousand parts something else than the file says."""

    def __init__(self, draws: Random, file: FileDescriptorProto, odd: int) -> None:
        self._draws, self._odd = draws, odd
        self._messages = {
            f"{'.' if one.package else ''}{one.package}.{name}": own
            for one in (*KNOWN, file)
            for name, own in _named(one.message_type, "")
        }

    def body(self, name: str, levels: int = 0) -> bytes:
        draws, message = self._draws, self._messages[name]
        fields = [field for field in message.field if draws.random() < 0.9] if levels < 4 else []
        if draws.random() < 0.2:
            fields += fields[:2]
            draws.shuffle(fields)
        found = b"".join(self._field(field, levels) for field in fields)
        if draws.random() < 0.1:
            found += _tag(draws.choice(_NUMBERS), 0) + varint(draws.choice(_BITS))
        return found

    def _field(self, field: Any, levels: int) -> bytes:
        draws = self._draws
        if draws.randrange(1_000) < self._odd:
            return draws.choice((draws.randbytes(3), odd_varint(draws), _tag(field.number, draws.randrange(8))))
        if field.type == F.TYPE_GROUP:
            return _tag(field.number, 3) + self.body(field.type_name, levels + 1) + _tag(field.number, 4)
        if field.type == F.TYPE_MESSAGE:
            return _tag(field.number, 2) + _long(self.body(field.type_name, levels + 1))
        if field.type in (F.TYPE_STRING, F.TYPE_BYTES):
            text = draws.choice(TEXTS).encode() if draws.random() < 0.95 else draws.choice(_BYTES)
            return _tag(field.number, 2) + _long(text)
        if field.label == F.LABEL_REPEATED and draws.random() < 0.5:
            return _tag(field.number, 2) + _long(b"".join(self._scalar(field) for _ in range(draws.randrange(4))))
        form = 5 if field.type in FIXED_32 else 1 if field.type in FIXED_64 else 0
        return _tag(field.number, form) + self._scalar(field)

    def _scalar(self, field: Any) -> bytes:
        draws = self._draws
        if field.type in FIXED_32:
            return struct.pack("<f", draws.choice(_DOUBLES))
        if field.type in FIXED_64:
            return struct.pack("<d", draws.choice(_DOUBLES))
        number = draws.choice((0, -7, 2**31 - 1, 5) if field.type == F.TYPE_ENUM else _BITS)
        return varint(number, draws.choice((0, 0, 0, 2)))


def _named(messages: Any, around: str) -> Any:
    for message in messages:
        yield around + message.name, message
        yield from _named(message.nested_type, f"{around}{message.name}.")


def _tag(number: int, form: int) -> bytes:
    return varint(number << 3 | form)


def _long(body: bytes) -> bytes:
    return varint(len(body)) + body
