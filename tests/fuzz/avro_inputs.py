"""Avro schemas, some of which no sound producer registers, and bodies that are wrong in many ways."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from copy import deepcopy
from random import Random
from typing import Any

from tests.fuzz.mutations import mutated, odd_varint
from tests.fuzz.schema_policy import NAMES
from tests.support.avro_records import LOGICAL, NAMED, PLAIN, zigzag

_LONGS = (0, 1, 17, 99, 100, -1, 19_000, 2**31 - 1, -(2**31), 10**12, 2**62, 2**63 - 1, -(2**63))
TEXTS = ("", "a", "RED", "012", "2024-02-29", '"', "\\", "\x00\x1f\x7f", "\u2028ü😀", "a" * 40, "abcdefg\n", "1")
_DOUBLES = (0.0, -0.0, 1.5, 1e300, 1e-300, float("nan"), float("inf"), 0.1, 123456789.0)
WORDS = (
    b"\0",
    b"\1",
    b"\2",
    b"\3",
    b"\4",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xff" * 9 + b"\1",
    b"\x80" * 10,
    b"\xed\xa0\x80",
)
_NATURAL: Mapping[str, Any] = {
    "id": "string", "age": "int", "city": {"type": "enum", "name": "City", "symbols": ["RED", "GREEN", "BLUE"]},
    "day": {"type": "int", "logicalType": "date"}, "result": ["null", "string"],
    "amounts": {"type": "array", "items": ["int", "double"]}, "note": ["null", "string"], "amount": "double",
    "flag": "boolean",
}  # fmt: skip
_SPOILT: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, 2**70, 1.5, "", "null", "record", "array", "map", "enum", "fixed", "R",
    "nobody", "int", "bytes", "string", [], ["null"], [["null"]], {}, {"type": "array"},
    {"type": "fixed", "name": "X", "size": 2**62}, {"type": "array", "items": "R"},
    {"type": "map", "values": "null"}, {"type": "enum", "name": "E", "symbols": []},
    {"type": "array", "items": {"type": "record", "name": "N", "fields": [{"name": "n" * 90, "type": "null"}]}},
    "decimal", "timestamp-nanos", "uuid", "date", ["null"] * 40, {"type": "R"}, {"type": {"type": "int"}},
)  # fmt: skip


class _Types:
    """Draws types of fields, each with a name of its own if it needs one."""

    def __init__(self, draws: Random) -> None:
        self._draws, self._made = draws, 0

    def _name(self) -> str:
        self._made += 1
        return f"n{self._made}"

    def field(self, name: str, levels: int) -> dict[str, Any]:
        return {"name": name, "type": self.some(levels)}

    def some(self, levels: int) -> Any:
        draws = self._draws
        match draws.randrange(10 if levels else 6):
            case 0 | 1 | 2:
                return draws.choice(PLAIN)
            case 3 | 4:
                return dict(draws.choice(LOGICAL))
            case 5:
                return {"name": self._name(), **draws.choice(NAMED)}
            case 6:
                return {"type": "array", "items": self.some(levels - 1)}
            case 7:
                return {"type": "map", "values": self.some(levels - 1)}
            case 8:
                fields = [self.field(f"f{i}", levels - 1) for i in range(draws.randrange(4))]
                return {"type": "record", "name": self._name(), "fields": fields}
            case _:
                return [
                    "null",
                    draws.choice(("R", self.some(0))),
                    *(self.some(0) for _ in range(draws.randrange(3))),
                ]


def schema(draws: Random) -> dict[str, Any]:
    """Return a record of the policy's fields, mostly of the types that fit, and of others."""
    types, fields = _Types(draws), []
    for own in NAMES:
        fate = draws.random()
        if fate < 0.8:
            fields.append({"name": own, "type": _NATURAL[own]})
        elif fate < 0.92:
            fields.append(types.field(own, 2))
    if draws.random() < 0.8:
        inner = [{"name": "zip", "type": "string"}, *(types.field(f"z{i}", 1) for i in range(draws.randrange(3)))]
        fields.append({"name": "where", "type": {"type": "record", "name": "Where", "fields": inner}})
    fields += [types.field(f"x{i}", 3) for i in range(draws.randrange(4))]
    draws.shuffle(fields)
    return {"type": "record", "name": "R", "fields": fields}


def spoilt(sound: Any, draws: Random) -> str:
    """Return the text of a schema in which some part is another one, or bytes are."""
    tree = json.loads(json.dumps(sound))
    for _ in range(draws.choice((1, 1, 2, 4))):
        places = list(_places(tree))
        around, key = draws.choice(places)
        fate = draws.random()
        if fate < 0.15 and isinstance(around, dict):
            del around[key]
        elif fate < 0.4:
            other, its_key = draws.choice(places)
            if its_key in (other if isinstance(other, dict) else range(len(other))):
                around[key] = json.loads(json.dumps(other[its_key]))
        else:
            around[key] = deepcopy(draws.choice(_SPOILT))  # it may be spoilt itself
    text = json.dumps(tree)
    if draws.random() < 0.05:
        text = mutated(text.encode(), draws, [], [b'"', b"{", b"["]).decode(errors="replace")
    return text


def _places(tree: Any) -> Any:
    """Yield what holds each part of a tree, and where in it the part is."""
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from _places(tree[key])


class Bodies:
    """Writes bodies of a schema, in `odd` of a thousand parts something else than the schema says."""

    def __init__(self, draws: Random, names: Mapping[str, Any], odd: int) -> None:
        self._draws, self._names, self._odd = draws, names, odd

    def body(self, schema: Any, levels: int = 0) -> bytes:
        draws = self._draws
        if draws.randrange(1_000) < self._odd:
            return draws.choice((b"", draws.randbytes(3), odd_varint(draws)))
        if isinstance(schema, str) and schema in self._names:
            schema = self._names[schema]
        if isinstance(schema, list):
            which = 0 if levels > 8 else draws.randrange(len(schema))
            return zigzag(which) + self.body(schema[which], levels + 1)
        kind = schema["type"] if isinstance(schema, dict) else schema
        if kind == "record":
            return b"".join(self.body(field["type"], levels + 1) for field in schema["fields"])
        if kind in ("array", "map"):
            return self._blocks(schema, kind, levels)
        return self._scalar(kind, schema)

    def _blocks(self, schema: Any, kind: str, levels: int) -> bytes:
        draws, found = self._draws, b""
        for _ in range(0 if levels > 8 else draws.choice((0, 1, 1, 2))):
            items = []
            for _ in range(draws.choice((1, 2))):
                key = _text(draws.choice(TEXTS)) if kind == "map" else b""
                items.append(key + self.body(schema["items" if kind == "array" else "values"], levels + 1))
            block = b"".join(items)
            with_size = draws.random() < 0.3
            found += (zigzag(-len(items)) + zigzag(len(block)) if with_size else zigzag(len(items))) + block
        return found + b"\0"

    def _scalar(self, kind: str, schema: Any) -> bytes:
        draws = self._draws
        match kind:
            case "null":
                return b""
            case "boolean":
                return draws.choice((b"\0", b"\1"))
            case "int":
                return zigzag(draws.choice(_LONGS[:8]))
            case "long":
                return zigzag(draws.choice(_LONGS))
            case "float":
                return struct.pack("<f", draws.choice(_DOUBLES[:3] + _DOUBLES[5:]))
            case "double":
                return struct.pack("<d", draws.choice((*_DOUBLES, draws.random())))
            case "string":
                return _text(draws.choice(TEXTS))
            case "enum":
                return zigzag(draws.randrange(max(len(schema["symbols"]), 1)))
            case "fixed":
                return draws.randbytes(schema["size"])
            case _:
                size = draws.choice((0, 1, 8, 20))
                return zigzag(size) + draws.randbytes(size)


def _text(text: str) -> bytes:
    return zigzag(len(text.encode())) + text.encode()
