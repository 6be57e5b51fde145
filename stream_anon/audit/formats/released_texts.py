"""Texts of released records: cells of CSV, and objects in which a key must not stand twice."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any

import msgspec

from stream_anon.microdata.attributes import Attribute, PassThrough, ScalarType
from stream_anon.microdata.domains.code_reading import ByLabel, ByNumber
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

_NUMBER = re.compile("-?(?:0|[1-9][0-9]{0,14})([.][0-9]{1,15})?")


def value_of_cell(attribute: Attribute | None, cell: str) -> Any:
    """Return what a cell of CSV says, by the type of its column; what cannot be read stays text."""
    if attribute is None or not attribute.published:
        return cell
    if cell == "":
        return None
    if isinstance(attribute, PassThrough):
        return cell if attribute.type is ScalarType.STRING and not attribute.many else _json(cell)
    assert isinstance(attribute, QuasiIdentifier)  # noqa: S101 - identifiers are not published
    match attribute.domain.reading():
        case ByNumber():
            return _json(cell)
        case ByLabel():
            # Labels come first: a label may look like JSON.
            if attribute.type is ScalarType.STRING:
                return _json(cell) if cell[0] == "[" and attribute.domain.read(cell) is None else cell
            value = _json(cell)
            return value if attribute.read(value) is not None else cell
    return cell


def _json(cell: str) -> Any:
    """Return a cell's JSON; the cell itself if it is none or a text."""
    number = _NUMBER.fullmatch(cell)
    if number:  # as below, and soon
        return float(cell) if number[1] else int(cell)
    try:
        value = json.loads(cell, parse_float=_finite, parse_constant=_finite, object_pairs_hook=distinct_members)
    except (ValueError, RecursionError):
        return cell
    return cell if isinstance(value, str) or value is None else value


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError("is no number of JSON")
    return value


def decode_record(value: bytes | None) -> dict[str, Any] | None:
    """Return the object of a released record, or None if the text is not one or if a key occurs twice in an object.

    Of equal keys a decoder shows the last one only: what stands under the others would be published unseen.
    """
    text = value or b""
    try:
        record = msgspec.json.decode(text)
        # Compact JSON that decodes and encodes to itself holds no key twice.
        if msgspec.json.encode(record) != text:
            record = json.loads(text, object_pairs_hook=distinct_members)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # the library's message may hold a value
        return None
    return record if isinstance(record, dict) else None


def distinct_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object; ValueError if a key stands twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key stands twice")
    return members
