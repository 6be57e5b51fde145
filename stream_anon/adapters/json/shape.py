"""The type into which a policy's records are decoded, and how generated code reaches its fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec

from stream_anon.adapters.json.column_tables import accepted_type
from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Attribute, Identifier, PassThrough, ScalarType
from stream_anon.microdata.policy import Policy

_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_Member = tuple[int, Attribute]

_PASSED: dict[ScalarType, Any] = {
    ScalarType.STRING: str | None,
    ScalarType.INTEGER: int | float | None,
    ScalarType.NUMBER: int | float | None,
    ScalarType.BOOLEAN: bool | None,
}


@dataclass(frozen=True)
class Parent:
    """An object that holds declared fields: its name in its own parent, and what stands for a null."""

    reach: str
    own: str
    empty: msgspec.Struct

    def repair(self, rows: Sequence[msgspec.Struct]) -> None:
        """Put an object without fields where a record holds a null."""
        holders = map(attrgetter(self.reach), rows) if self.reach else rows
        for holder in holders:
            if getattr(holder, self.own) is None:
                msgspec.structs.force_setattr(holder, self.own, self.empty)


@dataclass(frozen=True)
class RecordShape:
    """A msgspec type with the declared fields that are read, nested as their paths say.

    Parameters
    ----------
    type
        A missing field, and every field under a missing parent, is None.
    place
        For each attribute that is read its dotted place in a record. Names in it are numbers: no text of
        the policy gets into code.
    parents
        All nested objects, outer ones first.
    """

    type: type[msgspec.Struct]
    place: dict[str, str]
    parents: tuple[Parent, ...]

    def repair(self, rows: Sequence[msgspec.Struct]) -> None:
        """Treat a parent that is null as one without fields."""
        for parent in self.parents:
            parent.repair(rows)

    def clear(self, rows: Sequence[msgspec.Struct], nulls: frozenset[str]) -> None:
        """Treat texts that mean a missing value as null; `repair` is done on the way."""
        self.repair(rows)
        for place in self.place.values():
            reach, _, own = place.rpartition(".")
            for holder in map(attrgetter(reach), rows) if reach else rows:
                value = getattr(holder, own)
                if type(value) is str and value in nulls:
                    msgspec.structs.force_setattr(holder, own, None)


def record_shape(policy: Policy) -> RecordShape:
    """Return the shape of a policy's records. Identifiers that tell no individuals apart are not read.

    Raises
    ------
    SettingsError
        For a key that msgspec does not take: it would have to be escaped in JSON.
    """
    for attribute in policy.attributes:
        if _ESCAPED.search(attribute.column):
            raise SettingsError(
                f"attributes.{attribute.name}", "must hold no quote, backslash or control character"
            )
    place: dict[str, str] = {}
    parents: list[Parent] = []

    def build(members: list[_Member], depth: int, reach: str) -> type[msgspec.Struct]:
        groups: dict[str, list[_Member]] = {}
        for i, attribute in members:
            groups.setdefault(attribute.path[depth], []).append((i, attribute))
        fields: list[tuple[str, Any, Any]] = []
        for key, group in groups.items():
            i, attribute = group[0]
            own = f"f{i}"
            there = f"{reach}.{own}" if reach else own
            if len(attribute.path) == depth + 1:
                place[attribute.name] = there
                fields.append((own, _field_type(attribute), msgspec.field(default=None, name=key)))
                continue
            slot = len(parents)
            below = build(group, depth + 1, there)
            parents.insert(slot, Parent(reach, own, below()))
            fields.append((own, below | None, msgspec.field(default=parents[slot].empty, name=key)))
        return msgspec.defstruct(f"Level{depth}", fields, frozen=True, gc=False)

    read = [(i, a) for i, a in enumerate(policy.attributes) if _is_read(policy, a)]
    return RecordShape(build(read, 0, ""), place, tuple(parents))


def _is_read(policy: Policy, attribute: Attribute) -> bool:
    return not isinstance(attribute, Identifier) or attribute.name == policy.individual


def _field_type(attribute: Attribute) -> Any:
    """Return the types that the columns understand; a value of another goes the way of single records."""
    if isinstance(attribute, PassThrough):
        return _PASSED[attribute.type]
    if isinstance(attribute, Identifier):
        return str | int | float | None
    return accepted_type(attribute)
