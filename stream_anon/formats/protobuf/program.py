"""Compile a message, and the paths that are read of it, into the program that the kernel walks by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from google.protobuf.descriptor import FieldDescriptor as Of

from stream_anon.errors import InputError
from stream_anon.formats.protobuf import opcodes as op
from stream_anon.formats.protobuf.verifying import verify
from stream_anon.formats.writing.wanted import EVERYTHING, TOLD, Wanted, Wants, wanted_below
from stream_anon.microdata.keys import PADDING, padded_words

MOST_FIELDS = 20_000
_encode = msgspec.json.Encoder().encode

_WRAPPED = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
_KINDS = {
    **{f"google.protobuf.{kind}Value": op.VALUE for kind in _WRAPPED},
    **{f"google.protobuf.{kind}": op.VALUE for kind in ("Struct", "Value", "ListValue")},
    "google.protobuf.Timestamp": op.TIMESTAMP,
    "google.protobuf.Duration": op.DURATION,
    "google.type.Date": op.DATE,
    "google.type.Decimal": op.DECIMAL_TEXT,
    "confluent.type.Decimal": op.DECIMAL,
}
_SCALARS = {
    Of.TYPE_INT32: (op.INT_32, op.VARINT),
    Of.TYPE_INT64: (op.INT_64, op.VARINT),
    Of.TYPE_UINT32: (op.UINT_32, op.VARINT),
    Of.TYPE_UINT64: (op.UINT_64, op.VARINT),
    Of.TYPE_SINT32: (op.SINT_32, op.VARINT),
    Of.TYPE_SINT64: (op.SINT_64, op.VARINT),
    Of.TYPE_BOOL: (op.BOOLEAN, op.VARINT),
    Of.TYPE_ENUM: (op.ENUM, op.VARINT),
    Of.TYPE_FIXED32: (op.FIXED_32_UNSIGNED, op.FIXED_32),
    Of.TYPE_SFIXED32: (op.FIXED_32_SIGNED, op.FIXED_32),
    Of.TYPE_FLOAT: (op.FLOAT, op.FIXED_32),
    Of.TYPE_FIXED64: (op.FIXED_64_UNSIGNED, op.FIXED_64),
    Of.TYPE_SFIXED64: (op.FIXED_64_SIGNED, op.FIXED_64),
    Of.TYPE_DOUBLE: (op.DOUBLE, op.FIXED_64),
    Of.TYPE_STRING: (op.STRING, op.LENGTH),
    Of.TYPE_BYTES: (op.BYTES, op.LENGTH),
    Of.TYPE_MESSAGE: (op.MESSAGE, op.LENGTH),
    Of.TYPE_GROUP: (op.MESSAGE, op.GROUP),
}


def program_of(message: Any, paths: Sequence[tuple[str, ...]], told: Sequence[tuple[str, ...]] = ()) -> op.Program:
    """Return the program that reads bodies of a message.

    Parameters
    ----------
    message
        Its descriptor; see `schemas.message_of`.
    paths
        The names that lead to each field that is read; what lies under such a field is read too.
    told
        Those of the paths at which a field that is not there is missing, also where it might be its default.

    Raises
    ------
    InputError
        If more than `MOST_FIELDS` fields are read, or the program is not sound; see `verifying.verify`.
    """
    program = _Compiler().program(message, wanted_below(paths, told))
    verify(program)
    return program


class _Compiler:
    """Makes each message once for each way in which it is read, so that a message may hold itself."""

    def __init__(self) -> None:
        self._messages: list[tuple[int, int, int]] = []
        self._fields: list[tuple[int, ...]] = []
        self._tables: list[int] = []
        self._texts = bytearray(b" ")  # a single word would be of another type to the compiler
        self._known: dict[tuple[str, Wants, int], int] = {}
        self._waiting: list[tuple[Any, Wants, int]] = []
        self._enums: dict[str, tuple[int, int]] = {}

    def program(self, message: Any, wanted: Wants) -> op.Program:
        """Return the program."""
        self._place(message, wanted, _kind_of(message))
        for one, of_it, kind in self._waiting:  # and those that are added meanwhile
            first = len(self._fields)
            self._messages.append((kind, first, self._read(one, of_it, kind)))
        return op.Program(
            np.array(self._messages, np.int64),
            np.array(self._fields, np.int64).reshape(len(self._fields), op.FIELD_COLUMNS),
            np.array(self._tables, np.int64),
            padded_words(bytes(self._texts) + PADDING),
            max(count for _, _, count in self._messages),
        )

    def _place(self, message: Any, wanted: Wants, kind: int) -> int:
        """Return the place of a message; it is made later."""
        key = (message.full_name, wanted if kind == op.OBJECT else EVERYTHING, kind)
        if key not in self._known:
            self._known[key] = len(self._waiting)
            self._waiting.append((message, key[1], kind))
        return self._known[key]

    def _read(self, message: Any, wanted: Wants, kind: int) -> int:
        """Make the fields of a message; return how many there are."""
        first = len(self._fields)
        told = sorted(message.fields, key=lambda field: field.number)
        wants = {field.name: wanted.below(field.name) for field in told}
        opened = {field.containing_oneof.name for field in told if field.containing_oneof and wants[field.name]}
        kept = [f for f in told if wants[f.name] or (f.containing_oneof and f.containing_oneof.name in opened)]
        if first + len(kept) > MOST_FIELDS:
            raise InputError("this Protobuf schema has too many fields")
        twins: dict[str, list[int]] = {}
        for place, field in enumerate(kept, first):
            if field.containing_oneof:
                twins.setdefault(field.containing_oneof.name, []).append(place)
        for place, field in enumerate(kept, first):
            members = twins[field.containing_oneof.name] if field.containing_oneof else [place]
            twin = members[(members.index(place) + 1) % len(members)]
            self._fields.append(self._field(field, wants[field.name], kind, -1 if twin == place else twin))
        return len(kept)

    def _field(self, field: Any, wanted: Wanted, kind: int, twin: int) -> tuple[int, ...]:
        operation, form = _SCALARS[field.type]
        often = op.MANY if field.is_repeated else op.ONE
        first = second = zero = 0
        if not wanted:
            operation = op.IGNORED
            if field.enum_type is not None and field.enum_type.is_closed:
                first, second = self._enum(field.enum_type)
        elif operation == op.MESSAGE:
            inner = field.message_type
            if inner.GetOptions().map_entry:
                often, wanted = op.MAP, EVERYTHING
            first = self._place(inner, wanted, _kind_of(inner))
        elif operation == op.ENUM:
            first, second = self._enum(field.enum_type)
            zero = field.enum_type.values[0].number
            operation = op.CLOSED_ENUM if field.enum_type.is_closed else op.ENUM
            operation = op.NULL if field.enum_type.full_name == "google.protobuf.NullValue" else operation
        # Whoever writes an entry may leave out a key or a value that is its default.
        implied = (kind == op.ENTRY or not field.has_presence) and often == op.ONE and wanted is not TOLD
        default = zero if implied else op.NO_DEFAULT
        start = len(self._texts)
        self._texts += _encode(field.name) + b":"
        stop = len(self._texts)
        return (field.number, operation, form, often, twin, default, first, second, start, stop)

    def _enum(self, enum: Any) -> tuple[int, int]:
        """Return the place of an enum in the tables, and how many numbers it has."""
        if enum.full_name not in self._enums:
            names: dict[int, str] = {}
            for value in enum.values:
                names.setdefault(value.number, value.name)
            self._enums[enum.full_name] = (len(self._tables), len(names))
            for number, name in sorted(names.items()):
                start = len(self._texts)
                self._texts += _encode(name)
                self._tables += [number, start, len(self._texts)]
        return self._enums[enum.full_name]


def _kind_of(message: Any) -> int:
    """Return the kind of a message; one that only bears a known name is an object."""
    if message.GetOptions().map_entry:
        return op.ENTRY
    kind = _KINDS.get(message.full_name, op.OBJECT)
    if kind == op.VALUE and message.full_name == "google.protobuf.Value":
        oneofs = {field.containing_oneof.name if field.containing_oneof else "" for field in message.fields}
        return kind if len(oneofs) == 1 and "" not in oneofs else op.OBJECT
    if kind == op.VALUE:
        return kind if len(message.fields) == 1 else op.OBJECT
    held = {f.number: -1 if f.is_repeated else _SCALARS[f.type][0] for f in message.fields}
    return kind if kind == op.OBJECT or held == op.SPECIAL_FIELDS[kind] else op.OBJECT
