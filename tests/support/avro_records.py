"""Avro for tests: drawn schemas and bodies, and a plain reader that says what a body means."""

from __future__ import annotations

import datetime as dt
import json
import math
import struct
from decimal import Decimal
from typing import Any

import numpy as np
from hypothesis import strategies as st

MOST_LEVELS = 64
_MOST_DECIMAL = 2 ** (8 * 128 - 1)  # in 128 bytes; docs/guides/avro.md


class Unfit(Exception):  # noqa: N818 - it is an answer
    """A body is none of its schema."""


class Raw(bytes):
    """Bytes that mean nothing in JSON."""


PLAIN = ["null", "boolean", "int", "long", "float", "double", "string", "bytes"]
LOGICAL: list[dict[str, Any]] = [
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    *({"type": "long", "logicalType": f"timestamp-{unit}"} for unit in ("millis", "micros", "nanos")),
    *({"type": "long", "logicalType": f"local-timestamp-{unit}"} for unit in ("millis", "micros", "nanos")),
    {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 2},
    {"type": "bytes", "logicalType": "decimal", "precision": 4},
    {"type": "string", "logicalType": "uuid"},
    {"type": "string", "logicalType": "unheard-of"},
]
NAMED: list[dict[str, Any]] = [
    {"type": "enum", "symbols": ["RED", "GREEN"]},
    {"type": "fixed", "size": 3},
    {"type": "fixed", "size": 0},
    {"type": "fixed", "size": 16, "logicalType": "uuid"},
    {"type": "fixed", "size": 12, "logicalType": "duration"},
    {"type": "fixed", "size": 9, "logicalType": "decimal", "precision": 20, "scale": 20},
]


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a schema of a record: nested, perhaps holding itself, with unions of several types."""
    count = [0]

    def name() -> str:
        count[0] += 1
        return f"n{count[0]}"

    def part(levels: int, above: tuple[str, ...]) -> Any:
        kind = draw(st.integers(0, 9 if levels else 5))
        if kind <= 2:
            return draw(st.sampled_from(PLAIN))
        if kind <= 4:
            return draw(st.sampled_from(LOGICAL))
        if kind == 5:
            return {"name": name(), **draw(st.sampled_from(NAMED))}
        if kind == 6:
            return {"type": "array", "items": part(levels - 1, above)}
        if kind == 7:
            return {"type": "map", "values": part(levels - 1, above)}
        if kind == 8:
            return record(levels - 1, above)
        several = [part(0, above) for _ in range(draw(st.integers(0, 2)))]
        inner = draw(st.sampled_from([*above, ""])) or record(levels - 1, above)
        return ["null", inner, *several]

    def record(levels: int, above: tuple[str, ...]) -> dict[str, Any]:
        own = name()
        fields = [{"name": f"f{i}", "type": part(levels, (*above, own))} for i in range(draw(st.integers(0, 4)))]
        return {"type": "record", "name": own, "fields": fields}

    return record(3, ())


def named_types(schema: Any, found: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the types of a schema that have names."""
    found = {} if found is None else found
    if isinstance(schema, list):
        for one in schema:
            named_types(one, found)
    elif isinstance(schema, dict):
        if "name" in schema:
            found[schema["name"]] = schema
        for field in schema.get("fields", ()):
            named_types(field["type"], found)
        named_types(schema.get("items", schema.get("values")), found)
    return found


def zigzag(number: int) -> bytes:
    """Return a number as Avro writes it."""
    rest, found = (number << 1) ^ (number >> 63) if number < 0 else number << 1, bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*found, rest])


LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 20_000) | st.integers(0, 2 * 10**12)
INTS = st.integers(-(2**31), 2**31 - 1) | st.integers(-800_000, 3_000_000) | st.integers(0, 100)
TEXTS = st.text(max_size=12) | st.sampled_from(['"', "\\", "\x00\x1f\x7f", "\u2028ü😀", "a" * 40, "abcdefg\n"])


@st.composite
def bodies(draw: st.DrawFn, schema: Any, names: dict[str, Any], levels: int = 0) -> bytes:
    """Draw a body of a schema; blocks of arrays and maps come with and without their bytes."""
    if isinstance(schema, str) and schema in names:
        schema = names[schema]
    if isinstance(schema, list):
        which = 0 if levels > 12 else draw(st.integers(0, len(schema) - 1))
        return zigzag(which) + draw(bodies(schema[which], names, levels + 1))
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        return b"".join(draw(bodies(field["type"], names, levels + 1)) for field in schema["fields"])
    if kind in ("array", "map"):
        found = b""
        inner = schema["items"] if kind == "array" else schema["values"]
        for _ in range(draw(st.integers(0, 2))):
            items = []
            for _ in range(draw(st.integers(1, 3))):
                key = _text(draw(TEXTS)) if kind == "map" else b""
                items.append(key + draw(bodies(inner, names, levels + 1)))
            block = b"".join(items)
            with_size = draw(st.booleans())
            found += (zigzag(-len(items)) + zigzag(len(block)) if with_size else zigzag(len(items))) + block
        return found + b"\x00"
    if kind == "enum":
        return zigzag(draw(st.integers(0, len(schema["symbols"]) - 1)))
    if kind == "fixed":
        return draw(st.binary(min_size=schema["size"], max_size=schema["size"]))
    drawn: dict[str, st.SearchStrategy[bytes]] = {
        "null": st.just(b""),
        "boolean": st.sampled_from([b"\x00", b"\x01"]),
        "int": INTS.map(zigzag),
        "long": LONGS.map(zigzag),
        "float": st.floats(width=32).map(lambda x: struct.pack("<f", x)),
        "double": st.floats().map(lambda x: struct.pack("<d", x)),
        "string": TEXTS.map(_text),
        "bytes": st.binary(max_size=20).map(lambda x: zigzag(len(x)) + x),
    }
    return draw(drawn[kind])


def _text(text: str) -> bytes:
    return zigzag(len(text.encode())) + text.encode()


class PlainReader:
    """Reads one body, value by value, as Avro 1.12 says; `Unfit` for what is none. `values` counts them."""

    def __init__(self, body: bytes, names: dict[str, Any], *, logical: bool = True) -> None:
        self._body, self._at, self._names, self._logical = body, 0, names, logical
        self.values = 0

    def whole(self, schema: Any) -> Any:
        value = self._value(schema, 0)
        if self._at != len(self._body):
            raise Unfit
        return value

    def _bytes(self, size: int) -> bytes:
        if not 0 <= size <= len(self._body) - self._at:
            raise Unfit
        self._at += size
        return self._body[self._at - size : self._at]

    def _long(self, bits: int = 64) -> int:
        value = 0
        for turn in range(10):
            byte = self._bytes(1)[0]
            value |= (byte & 0x7F) << (7 * turn)
            if byte < 0x80:
                break
        else:
            raise Unfit
        number = (value >> 1) ^ -(value & 1)
        if value >= 2**64 or not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise Unfit
        return number

    def _text(self) -> str:
        try:
            return self._bytes(self._long()).decode()
        except UnicodeDecodeError:
            raise Unfit from None

    def _value(self, schema: Any, levels: int) -> Any:
        self.values += 1
        if isinstance(schema, str) and schema in self._names:
            schema = self._names[schema]
        if isinstance(schema, list):
            which = self._long()
            if not 0 <= which < len(schema):
                raise Unfit
            return self._value(schema[which], levels)
        told = schema if isinstance(schema, dict) else {"type": schema}
        kind = told["type"]
        if kind in ("record", "array", "map"):
            if levels == MOST_LEVELS:
                raise Unfit
            return self._nest(told, levels + 1)
        value = self._scalar(kind, told)
        logical = told.get("logicalType")
        return meaning(value, logical, told) if self._logical and logical else value

    def _nest(self, told: dict[str, Any], levels: int) -> Any:
        if told["type"] == "record":
            return {field["name"]: self._value(field["type"], levels) for field in told["fields"]}
        items, members = [], {}
        while count := self._long():
            if count < 0:
                self._long()
            if abs(count) > 10_000:  # of the values that are drawn none has so many
                raise Unfit
            for _ in range(abs(count)):
                if told["type"] == "array":
                    items.append(self._value(told["items"], levels))
                else:
                    key = self._text()
                    members[key] = self._value(told["values"], levels)
        return items if told["type"] == "array" else members

    def _scalar(self, kind: str, told: dict[str, Any]) -> Any:
        if kind == "null":
            return None
        if kind == "boolean":
            byte = self._bytes(1)[0]
            if byte > 1:
                raise Unfit
            return byte == 1
        if kind in ("int", "long"):
            return self._long(32 if kind == "int" else 64)
        if kind == "float":
            return np.float32(struct.unpack("<f", self._bytes(4))[0])
        if kind == "double":
            return struct.unpack("<d", self._bytes(8))[0]
        if kind == "string":
            return self._text()
        if kind == "enum":
            which = self._long()
            if not 0 <= which < len(told["symbols"]):
                raise Unfit
            return told["symbols"][which]
        return Raw(self._bytes(told["size"] if kind == "fixed" else self._long()))


UNREADABLE: list[Any] = [[]]
"""What stands in JSON for what it cannot say."""
_FRACTIONS = {"millis": 3, "micros": 6, "nanos": 9}


def meaning(value: Any, logical: str, told: dict[str, Any]) -> Any:
    """Return what a value of a logical type means: a text, a `Decimal`, or `Raw` for what cannot be read."""
    unit = _FRACTIONS.get(logical.rpartition("-")[2])
    try:
        if logical == "date":
            return (dt.date(1970, 1, 1) + dt.timedelta(days=value)).isoformat()
        if logical.startswith("time-") and unit:
            second, fraction = divmod(value, 10**unit)
            time = dt.time(second // 3600, second // 60 % 60, second % 60)
            return f"{time.isoformat()}.{fraction:0{unit}}"
        if unit:
            second, fraction = divmod(value, 10**unit)
            moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=second)
            zone = "Z" if logical.startswith("timestamp") else ""
            return f"{moment.replace(tzinfo=None).isoformat()}.{fraction:0{unit}}{zone}"
    except (OverflowError, ValueError):
        return Raw()
    if logical == "decimal":
        number, scale = int.from_bytes(value, "big", signed=True), told.get("scale", 0)
        if not -_MOST_DECIMAL <= number < _MOST_DECIMAL:
            return Raw()
        return Decimal((number < 0, tuple(map(int, str(abs(number)))), -scale))
    if logical == "uuid" and isinstance(value, bytes):
        digits = value.hex()
        return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])
    return value


def in_json(value: Any) -> Any:
    """Return a value as `json.loads` reads it, with numbers as `Decimal` so that each digit counts."""
    if isinstance(value, dict):
        return {key: in_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [in_json(one) for one in value]
    if isinstance(value, bytes) or (isinstance(value, float | np.float32) and not math.isfinite(value)):
        return UNREADABLE
    if isinstance(value, float | np.float32):
        return Decimal(str(value))  # repr is the shortest
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


def read_json(text: bytes) -> Any:
    """Return a JSON text with all its digits."""
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)
