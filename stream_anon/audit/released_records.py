"""Read released records: which fields they have, and which values the policy can have published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from stream_anon.audit.formats.moments import as_json, zones_of
from stream_anon.audit.formats.series import Layout, ReadSeries, Series
from stream_anon.audit.formats.stated_schemas import CONNECT, Stated, StatingRecord
from stream_anon.audit.verdict import Kind
from stream_anon.microdata.attributes import (
    MOST_ITEMS,
    Attribute,
    Identifier,
    PassThrough,
    PublishedForm,
    ScalarType,
    Sensitive,
)
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.output.output_members import flat_path, members_of
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.output.typed import ENDS, read_typed, typed_form
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.schemas.connect_schema import PAYLOAD, SCHEMA

_ABSENT = object()
_PAIR = {SCHEMA, PAYLOAD}
_MOST_REMEMBERED = 100_000
_TYPES: dict[ScalarType, tuple[type, ...]] = {
    ScalarType.STRING: (str,),
    ScalarType.INTEGER: (int,),
    ScalarType.NUMBER: (int, float),
    ScalarType.BOOLEAN: (bool,),
}

ReadTuple = tuple[bytes, tuple[Any, ...]]
Problem = tuple[Kind, str | None]  # with the name of a declared attribute
Decoded = Mapping[str, Any] | StatingRecord | None
"""A released record as its bytes were decoded; None for one that is no object."""


class ValueBook:
    """Knows of every published value whether the policy can publish it, and its NCP.

    It remembers what it looked up, for all windows: a bounded number of values of each attribute.
    """

    def __init__(self, policy: Policy) -> None:
        self._attributes = policy.quasi_identifiers
        self._known: list[dict[bytes, float | None]] = [{} for _ in self._attributes]

    def ncp(self, place: int, value: Any) -> float | None:
        """Return the NCP of a value of the quasi-identifier at `place`; None if it cannot be published."""
        known = self._known[place]
        try:
            key = msgspec.json.encode(value)
        except (TypeError, ValueError, RecursionError):
            return None
        if key not in known:
            if len(known) >= _MOST_REMEMBERED:
                known.clear()
            known[key] = _ncp(self._attributes[place], value)
        return known[key]


def _ncp(attribute: QuasiIdentifier, value: Any) -> float | None:
    codes = attribute.read(value)
    if codes is None:
        return None
    if attribute.publication is PublishedForm.VALUES:
        return attribute.ncp_set(codes)
    return attribute.ncp(codes[0], codes[-1])


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """A released record: the published tuple as JSON, and the values that pass, in policy order."""

    key: bytes
    quasi: tuple[Any, ...]
    passed: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    path: tuple[str, ...]
    types: tuple[type, ...] | None  # of a field that passes and has no families
    quasi: bool
    many: bool | None  # whether it is a list; None where nobody knows
    families: frozenset[str | None]  # what alone may be published of it; empty for any value
    second: bool  # the greatest value of an interval whose least one stands before it


class ReleasedRecordReader:
    """Takes records apart as the policy says, about 10 us for ten fields on an idle core.

    Whatever shape the records have, their tuples are those that natural ones show, as certificates tell them.

    Parameters
    ----------
    typed
        Whether the types of passing fields are known. Else texts pass as any scalar, and any schema may be stated.
    """

    def __init__(self, policy: Policy, *, typed: bool = True) -> None:
        types = _TYPES if typed else _TYPES | {ScalarType.STRING: (str, int, float, bool)}
        members = members_of(policy.published, policy.shape)
        self._fields = [
            _Field(
                member.attribute.name,
                member.path,
                _types(member.attribute, types),
                isinstance(member.attribute, QuasiIdentifier),
                _many(member.attribute, typed=typed),
                _families(member.attribute),
                member.end == ENDS[1],
            )
            for member in members
        ]
        self._forms = [typed_form(a) for a in policy.quasi_identifiers] if policy.shape is not Shape.NATURAL else []
        self._natural: dict[bytes, ReadTuple] = {}
        hidden = [a for a in policy.attributes if isinstance(a, Identifier)]
        self._identifiers = {a.path: a.name for a in hidden}
        if policy.shape is Shape.FLAT:
            self._identifiers |= {flat_path(a): a.name for a in hidden}
        self._layout = Layout([field.path for field in self._fields])
        self._declared = {field.path for field in self._fields}
        self._branches = {path[:i] for path in self._declared for i in range(1, len(path))}
        keys = self._declared | self._branches
        # A policy may declare fields of these names itself.
        self._may_be_paired = policy.shape is not Shape.NATURAL and not {path[0] for path in keys} >= _PAIR
        self._zones = zones_of(policy)
        self._policy = policy if typed else None
        self._own_schemas: dict[str, bytes | None] = {}  # by their form
        self._sizes = [(path, sum(key[:-1] == path for key in keys)) for path in [(), *self._branches]]

    def opened(self, record: Mapping[str, Any] | StatingRecord) -> tuple[Mapping[str, Any], list[Problem]]:
        """Return the fields of a record, and what is wrong with the schema that it states, if it states one.

        A pair that Kafka Connect reads states its schema itself. A schema must be that of the policy, or somebody
        could publish anything in it.
        """
        if isinstance(record, Mapping):
            if record.keys() != _PAIR or not self._may_be_paired or not isinstance(record[PAYLOAD], dict):
                return record, []
            record = StatingRecord(Stated(CONNECT, msgspec.json.encode(record[SCHEMA])), record[PAYLOAD])
        fields = as_json(record.fields, self._zones) if record.stated.form == "avro" else record.fields
        return fields, [] if self._is_own(record.stated) else [(Kind.WRONG_SCHEMA, None)]

    def _is_own(self, stated: Stated) -> bool:
        if self._policy is None:
            return True
        if stated.form not in self._own_schemas:
            self._own_schemas[stated.form] = stated.own(self._policy)
        return self._own_schemas[stated.form] == stated.said

    def read(self, record: Mapping[str, Any]) -> tuple[ReadRecord, list[Problem]]:
        """Return a record's tuple and what is wrong with its fields."""
        problems: list[Problem] = []
        quasi: list[Any] = []
        passed: list[Any] = []
        for field in self._fields:
            path = field.path
            value = record.get(path[0], _ABSENT) if len(path) == 1 else _find(record, path)
            if value is _ABSENT:
                problems.append((Kind.MISSING_FIELD, field.name))
                value = None
            elif field.types is not None and value is not None and not _is_of(value, field.types, field.many):
                problems.append((Kind.WRONG_TYPE, field.name))
                value = None
            elif field.families and not _is_one_of(value, field.families):
                problems.append((Kind.ILLEGAL_VALUE, field.name))
                value = None
            if field.second:
                quasi[-1] = {ENDS[0]: quasi[-1], ENDS[1]: value}
            elif field.quasi:
                quasi.append(value)
            else:
                passed.append(value)
        # With no field missing, a stray one makes an object larger than it must be.
        if problems or any(len(_find(record, path)) != size for path, size in self._sizes):
            problems += self._strays(record, ())
        return ReadRecord(*self._tuple(quasi), tuple(passed)), problems

    def read_series(self, series: Series) -> ReadSeries | None:
        """Return what `read` says of several records; None if one of them may have a fault."""
        columns = series.columns(self._layout)
        if columns is None:
            return None
        quasi: list[Sequence[Any]] = []
        passed: list[Sequence[Any]] = []
        for field, column in zip(self._fields, columns, strict=True):
            if field.types is not None and not _are_of(column, field.types, field.many):
                return None
            if field.families and not all(_is_one_of(value, field.families) for value in column):
                return None
            if field.second:
                ends = zip(quasi[-1], column, strict=True)
                quasi[-1] = [{ENDS[0]: least, ENDS[1]: most} for least, most in ends]
            elif field.quasi:
                quasi.append(column)
            else:
                passed.append(column)
        written = list(map(msgspec.json.encode, zip(*quasi, strict=True)))
        if len(written) < len(series):  # there is not a quasi-identifier
            return None
        first = dict(zip(written, zip(*quasi, strict=True), strict=True))
        known = {text: self._tuple(list(one)) for text, one in first.items()}
        return ReadSeries([known[text][0] for text in written], dict(known.values()), passed)

    def _tuple(self, values: list[Any]) -> ReadTuple:
        """Return the published tuple as natural records show it, as JSON and as values."""
        key = msgspec.json.encode(values)
        if not self._forms:
            return key, tuple(values)
        known = self._natural.get(key)
        if known is None:
            if len(self._natural) >= _MOST_REMEMBERED:
                self._natural.clear()
            natural = tuple(map(read_typed, self._forms, values))
            known = self._natural[key] = msgspec.json.encode(natural), natural
        return known

    def _strays(self, record: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[Problem]:
        """Yield the fields that must not be there. An undeclared key is not repeated: it may be a value."""
        for key, value in record.items():
            path = (*above, key)
            if path in self._declared:
                continue
            if path in self._branches and isinstance(value, dict):
                yield from self._strays(value, path)
            elif path not in self._branches or value is not None:
                yield from self._hidden(path, value)

    def _hidden(self, path: tuple[str, ...], value: Any) -> Iterable[Problem]:
        """Return what an undeclared field is or holds: identifiers, or something undeclared."""
        below = [(full[len(path) :], name) for full, name in self._identifiers.items() if full[: len(path)] == path]
        deeper = [name for rest, name in below if _find(value, rest) is not _ABSENT]
        return [(Kind.IDENTIFYING_FIELD, name) for name in deeper] or [(Kind.UNDECLARED_FIELD, None)]


def _types(attribute: Attribute, types: Mapping[ScalarType, tuple[type, ...]]) -> tuple[type, ...] | None:
    """Return the types of a field that passes as it is; None for others, families too: these are texts."""
    return types[attribute.type] if isinstance(attribute, PassThrough) and not _families(attribute) else None


def _many(attribute: Attribute, *, typed: bool) -> bool | None:
    """Return whether an attribute has lists; None where its type is not known."""
    return isinstance(attribute, PassThrough) and attribute.many if typed else None


def _families(attribute: Attribute) -> frozenset[str | None]:
    """Return what may stand for values in families: their texts and that of the rest, or the values themselves.

    A text is the values in order, a missing one last.
    """
    if not isinstance(attribute, Sensitive):
        return frozenset()
    if attribute.shown_as is ShownAs.VALUE:
        return frozenset(value for family in attribute.families for value in family)
    ordered = (sorted(family, key=lambda value: (value is None, value or "")) for family in attribute.families)
    texts = ("|".join("null" if value is None else value for value in family) for family in ordered)
    return frozenset([*texts, *([] if attribute.rest is None else [attribute.rest])])


def _is_one_of(value: Any, families: frozenset[str | None]) -> bool:
    """Return whether a value is one of these. A list or an object is none, and cannot be looked up."""
    return (value is None or isinstance(value, str)) and value in families


def _is_of(value: Any, types: tuple[type, ...], many: bool | None) -> bool:
    """Return whether a value is of one of the types, or is a list of such values."""
    if many or (many is None and type(value) is list):
        return type(value) is list and len(value) <= MOST_ITEMS and all(type(item) in types for item in value)
    return type(value) in types


def _are_of(values: Sequence[Any], types: tuple[type, ...], many: bool | None) -> bool:
    """Return whether each of the values is missing, or is of one of the types, or is a list of such values."""
    if not many and set(map(type, values)) <= {*types, type(None)}:
        return True
    return all(value is None or _is_of(value, types, many) for value in values)


def _find(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return _ABSENT
        value = value[key]
    return value
