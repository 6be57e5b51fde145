"""Write released records: one JSON object each, published fields in policy order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import add, itemgetter
from typing import Any

import msgspec

from stream_anon.microdata.attributes import Attribute, PassThrough, QuasiIdentifier, ScalarType
from stream_anon.microdata.coding import Passed
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Classes, Release

_encode = msgspec.json.Encoder().encode
_FEW = 4  # a value's text is kept for the call where values come up at least so often on average


@dataclass(frozen=True, slots=True)
class _Fixed:
    text: bytes


@dataclass(frozen=True, slots=True)
class _OfClass:
    row: int


@dataclass(frozen=True, slots=True)
class _OfRecord:
    place: int


_Part = _Fixed | _OfClass | _OfRecord


class ReleaseEncoder:
    """Encode releases of one policy, about half a microsecond a record.

    A class's quasi-identifiers are written once, from the class alone; only fields that pass are written for
    each record. Nothing is kept between two calls.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._parts = _join_fixed(_object(policy, [(a, a.path) for a in policy.published]))

    def encode(self, release: Release) -> list[bytes]:
        """Return one JSON object for each released record, in the release's order."""
        rows = release.order.tolist()
        classes: list[int] = release.class_of_row[release.order].tolist()
        payload: Sequence[Any] = release.payload
        passed: list[Passed] = [payload[i] for i in rows]
        columns: list[Iterable[bytes]] = []
        waiting: list[_Part] = []  # parts that are the same for all records of a class
        for part in self._parts:
            if isinstance(part, _OfRecord):
                columns += _of_classes(waiting, release.classes, classes)
                values = list(map(itemgetter(part.place), passed))
                columns.append(_texts(self._policy.passed[part.place], values))
                waiting = []
            else:
                waiting.append(part)
        columns += _of_classes(waiting, release.classes, classes)
        if len(columns) == 1:
            return list(columns[0])
        if len(columns) == 2:
            return list(map(add, *columns))
        return list(map(b"".join, zip(*columns, strict=True)))


def _object(policy: Policy, fields: list[tuple[Attribute, tuple[str, ...]]]) -> list[_Part]:
    """Return the parts of an object; fields under one parent stand together at the place of the first."""
    groups: dict[str, list[tuple[Attribute, tuple[str, ...]]]] = {}
    for attribute, path in fields:
        groups.setdefault(path[0], []).append((attribute, path[1:]))
    parts: list[_Part] = []
    for key, members in groups.items():
        parts.append(_Fixed((b"," if parts else b"{") + _encode(key) + b":"))
        attribute, rest = members[0]
        if rest:
            parts += _object(policy, members)
        elif isinstance(attribute, QuasiIdentifier):
            parts.append(_OfClass(policy.quasi_identifiers.index(attribute)))
        elif isinstance(attribute, PassThrough):
            parts.append(_OfRecord(policy.passed.index(attribute)))
    return [*parts, _Fixed(b"}")] if parts else [_Fixed(b"{}")]


def _join_fixed(parts: list[_Part]) -> list[_Part]:
    joined: list[_Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, _Fixed) and isinstance(last, _Fixed):
            joined[-1] = _Fixed(last.text + part.text)
        else:
            joined.append(part)
    return joined


def _of_classes(parts: list[_Part], classes: Classes, class_of: list[int]) -> list[Iterable[bytes]]:
    """Return the column of what is the same for all records of a class; none for no parts."""
    if not parts:
        return []
    pieces: list[Sequence[bytes]] = []
    for part in parts:
        if isinstance(part, _OfClass):
            pieces.append(list(map(_encode, classes.values[part.row])))
        elif isinstance(part, _Fixed):
            pieces.append([part.text] * len(classes))
    texts = list(map(b"".join, zip(*pieces, strict=True)))
    return [map(texts.__getitem__, class_of)]


def _texts(attribute: PassThrough, column: list[Any]) -> Iterable[bytes]:
    """Return the JSON of each value. Only texts and truths are looked up: 1 and 1.0 are one key."""
    if attribute.type in (ScalarType.STRING, ScalarType.BOOLEAN):
        distinct = set(column)
        if len(distinct) * _FEW <= len(column):
            texts = {value: _encode(value) for value in distinct}
            return map(texts.__getitem__, column)
    return map(_encode, column)
