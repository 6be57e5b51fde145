"""Compile a schema, and the paths that are read of it, into the program that the kernel walks by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from stream_anon.errors import InputError
from stream_anon.formats.avro import opcodes as op
from stream_anon.formats.avro.avro_schemas import LOGICAL, RECORDS, AvroSchema
from stream_anon.formats.avro.verifying import verify
from stream_anon.formats.writing.literals import UNREADABLE
from stream_anon.formats.writing.numbers import MOST_SCALE
from stream_anon.formats.writing.wanted import EVERYTHING, Wanted, wanted_below
from stream_anon.microdata.keys import PADDING, padded_words

MOST_STEPS = 1_000_000
_UUID_BYTES = 16
_encode = msgspec.json.Encoder().encode

_PLAIN = {
    "boolean": op.BOOLEAN,
    "int": op.INT,
    "long": op.LONG,
    "float": op.FLOAT,
    "double": op.DOUBLE,
    "string": op.STRING,
}
_PER_SECOND = {"millis": (1_000, 3), "micros": (1_000_000, 6), "nanos": (1_000_000_000, 9)}
_COUNTED: dict[tuple[str, Any], tuple[int, int, int]] = {
    ("int", "date"): (op.DAY, 0, 0),
    ("int", "time-millis"): (op.TIME, *_PER_SECOND["millis"]),
    ("long", "time-micros"): (op.TIME, *_PER_SECOND["micros"]),
    **{("long", f"timestamp-{unit}"): (op.MOMENT, *of) for unit, of in _PER_SECOND.items()},
    **{("long", f"local-timestamp-{unit}"): (op.LOCAL_MOMENT, *of) for unit, of in _PER_SECOND.items()},
}


def program_of(schema: AvroSchema, paths: Sequence[tuple[str, ...]]) -> op.Program:
    """Return the program that reads bodies of a schema.

    Parameters
    ----------
    paths
        The keys that lead to each field that is read; what lies under such a field is read too.

    Raises
    ------
    InputError
        If the schema takes more than `MOST_STEPS` steps, a part of it is not as Avro says, or the program is not
        sound; see `verifying.verify`.
    """
    try:
        program = _Compiler(schema).program(wanted_below(paths))
        verify(program)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"this is not an Avro schema ({type(error).__name__})") from None
    return program


class _Compiler:
    """Makes steps from the last to the first: each is made when it is known where it leads.

    Named types are made once for each way in which they are read, and called, so that they may hold themselves.
    """

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema
        self._steps: list[list[int]] = []
        self._tables: list[int] = []
        self._texts = bytearray()
        self._enums: dict[int, int] = {}
        self._begins: dict[tuple[int, Wanted], int] = {}  # the steps that records begin at, once they are made
        self._callers: dict[tuple[int, Wanted], list[int]] = {}  # the steps that call others
        self._waiting: list[tuple[dict[str, Any], Wanted]] = []

    def program(self, wanted: Wanted) -> op.Program:
        """Return the program; the first step is at 0."""
        first = self._step(op.NOTHING)
        end = self._step(op.END)
        self._steps[first][op.NEXT] = self._value(self._schema.root, wanted, b"", end)
        while self._waiting:
            record, of_it = self._waiting.pop()
            key, begin = (id(record), of_it), self._record(record, of_it)
            self._begins[key] = begin
            for caller in self._callers.pop(key):
                self._steps[caller][op.FIRST] = begin
        texts = padded_words(bytes(self._texts) + 2 * PADDING)
        return op.Program(np.array(self._steps, np.int64), np.array(self._tables, np.int64), texts)

    def _step(
        self,
        operation: int,
        text: bytes = b"",
        then: int = 0,
        first: int = 0,
        second: int = 0,
        written: bool = False,
    ) -> int:
        if len(self._steps) == MOST_STEPS:
            raise InputError("this Avro schema is too large")
        start = self._text(text)
        self._steps.append([operation, written, first, second, start, start + len(text), then])
        return len(self._steps) - 1

    def _text(self, text: bytes) -> int:
        start = len(self._texts)
        self._texts += text
        return start

    def _value(self, part: Any, wanted: Wanted, text: bytes, then: int) -> int:
        """Return the step at which a value begins; `text` comes before it, and `then` behind it."""
        part = self._schema.resolved(part)
        if isinstance(part, list):
            steps = [self._value(one, wanted, b"", then) for one in part]
            place = len(self._tables)
            self._tables += steps
            return self._step(op.UNION, text, then, place, len(steps))
        told = part if isinstance(part, dict) else {"type": part}
        kind = told["type"]
        if kind in RECORDS:
            return self._call(told, wanted, text, then)
        if kind == "null":
            return self._step(op.NOTHING, text + b"null", then) if wanted else then  # it takes no bytes
        if kind == "map":
            inner = EVERYTHING if wanted else wanted
            return self._items(told["values"], inner, (text, b"{", b"}"), then, keys=True)
        if wanted and wanted is not EVERYTHING:  # and this has no keys
            text, wanted = text + UNREADABLE, None
        if kind == "array":
            return self._items(told["items"], wanted, (text, b"[", b"]"), then, keys=False)
        return self._scalar(told, bool(wanted), text, then)

    def _call(self, record: dict[str, Any], wanted: Wanted, text: bytes, then: int) -> int:
        key = (id(record), wanted)
        step = self._step(op.CALL, text, then, self._begins.get(key, 0))
        if key in self._callers:
            self._callers[key].append(step)
        elif key not in self._begins:
            self._callers[key] = [step]
            self._waiting.append((record, wanted))
        return step

    def _record(self, record: dict[str, Any], wanted: Wanted) -> int:
        """Return the step at which a record's fields begin."""
        fields = [(field, wanted.below(field["name"]) if wanted else None) for field in record["fields"]]
        read = [place for place, (_, of_it) in enumerate(fields) if of_it]
        opened = b"" if read or not wanted else b"{"
        step = self._step(op.RETURN, opened + b"}" if wanted else b"")
        for place, (field, of_it) in reversed(list(enumerate(fields))):
            text = b"" if not of_it else (b"{" if place == read[0] else b",") + _encode(field["name"]) + b":"
            step = self._value(field["type"], of_it, text, step)
        return step

    def _items(
        self, inner: Any, wanted: Wanted, texts: tuple[bytes, bytes, bytes], then: int, *, keys: bool
    ) -> int:
        text, opened, closed = texts
        written = bool(wanted)
        after = self._step(op.NOTHING, closed, then) if written else then
        item = self._step(op.ITEM, b"", after, second=int(keys), written=written)
        self._steps[item][op.FIRST] = self._value(inner, wanted, b"", item)
        return self._step(op.ARRAY, text + opened if written else text, item)

    def _scalar(self, told: dict[str, Any], written: bool, text: bytes, then: int) -> int:
        kind, logical = told["type"], told.get(LOGICAL)
        if kind == "enum":
            return self._step(op.ENUM, text, then, self._symbols(told), len(told["symbols"]), written)
        size = op.NO_SIZE
        if kind == "fixed":
            size = told["size"]
            if type(size) is not int or not 0 <= size < 2**31:
                raise InputError("a fixed type has no size in this Avro schema")
        if kind in ("bytes", "fixed"):
            scale = _scale(told)
            if logical == "decimal" and scale is not None:
                return self._step(op.DECIMAL, text, then, scale, size, written)
            if logical == "uuid" and size == _UUID_BYTES:
                return self._step(op.UUID, text, then, size, 0, written)
            operation = op.BYTES if kind == "bytes" else op.FIXED
            return self._step(operation, text + UNREADABLE if written else text, then, size)
        operation, first, second = _COUNTED.get((kind, logical), (_PLAIN[kind], 0, 0))
        return self._step(operation, text, then, first, second, written)

    def _symbols(self, enum: dict[str, Any]) -> int:
        """Return the place of an enum's texts, which are written once however often it is used."""
        place = self._enums.get(id(enum))
        if place is None:
            place = self._enums[id(enum)] = len(self._tables)
            for symbol in map(_encode, enum["symbols"]):
                start = self._text(symbol)
                self._tables += [start, start + len(symbol)]
        return place


def _scale(told: dict[str, Any]) -> int | None:
    """Return the scale of a decimal; None if the schema has no sound one, or one too long to be written."""
    scale, precision = told.get("scale", 0), told.get("precision")
    if type(scale) is not int or type(precision) is not int or precision < 1:
        return None
    return scale if 0 <= scale <= min(precision, MOST_SCALE) else None
