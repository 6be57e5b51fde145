"""Avro records without framing, of one schema that knows whatever JSON knows, for the conformance suite."""

from __future__ import annotations

import json
import struct
from typing import Any

from stream_anon.formats.avro.avro_reader import AvroReader
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.unwrapping import UnwrappingCodec
from stream_anon.microdata.policy import Policy
from tests.support.avro_records import PlainReader, Unfit, zigzag

_LEVELS = 6
_NULL, _BOOLEAN, _LONG, _DOUBLE, _STRING, _ARRAY, _MAP = range(7)


def _anything(levels: int) -> list[Any]:
    plain = ["null", "boolean", "long", "double", "string"]
    if not levels:
        return plain
    inner = _anything(levels - 1)
    return [*plain, {"type": "array", "items": inner}, {"type": "map", "values": inner}]


SCHEMA = {"type": "map", "values": _anything(_LEVELS)}


class AvroCodec(UnwrappingCodec):
    """Reads Avro and writes JSON."""

    def __init__(self, policy: Policy, *, max_record_bytes: int = 1_048_576) -> None:
        paths = [attribute.path for attribute in policy.attributes]
        reader = AvroReader(json.dumps(SCHEMA), paths, max_record_bytes)
        super().__init__([reader], JsonCodec(policy, max_record_bytes=max_record_bytes))
        self._most = max_record_bytes

    def most_released(self, read: int) -> int:
        return super().most_released(self._most)  # a number of one byte may have twenty digits


def written(record: dict[str, Any]) -> bytes | None:
    """Return a record as Avro has it; None if it holds what the schema does not know."""
    try:
        return _map(record, _LEVELS)
    except (OverflowError, UnicodeEncodeError, RecursionError):
        return None


def _map(value: dict[str, Any], levels: int) -> bytes:
    members = [_text(key) + _union(one, levels) for key, one in value.items()]
    return (zigzag(len(members)) if members else b"") + b"".join(members) + b"\x00"


def _text(text: str) -> bytes:
    return zigzag(len(text.encode())) + text.encode()


def _union(value: Any, levels: int) -> bytes:
    if value is None:
        return zigzag(_NULL)
    if isinstance(value, bool):
        return zigzag(_BOOLEAN) + bytes([value])
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise OverflowError
        return zigzag(_LONG) + zigzag(value)
    if isinstance(value, float):
        return zigzag(_DOUBLE) + struct.pack("<d", value)
    if isinstance(value, str):
        return zigzag(_STRING) + _text(value)
    if not levels:
        raise OverflowError
    if isinstance(value, dict):
        return zigzag(_MAP) + _map(value, levels - 1)
    items = b"".join(_union(one, levels - 1) for one in value)
    return zigzag(_ARRAY) + (zigzag(len(value)) if value else b"") + items + b"\x00"


def meant(body: bytes) -> Any:
    """Return what a record says; `ValueError` if it says nothing."""
    try:
        return PlainReader(body, {}).whole(SCHEMA)
    except Unfit:
        raise ValueError from None
