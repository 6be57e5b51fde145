"""Propose sensitive fields: what is published as it is, and whether classes can be asked for different values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from stream_anon.adapters.tables.samples import Column
from stream_anon.microdata.attributes import MOST_ITEMS
from stream_anon.operations.propose.domains import label, number
from stream_anon.operations.propose.support import People

DOMINANT = 0.8  # share of one sensitive value beyond which two distinct values are too much to ask
MOST_HELD = 0.4
"""Share of lists that hold one value beyond which it is too much to ask that at most half of a class has it."""


@dataclass(frozen=True)
class Field:
    """What is proposed for one field; no settings: it is left out."""

    name: str
    settings: Mapping[str, object]
    remarks: tuple[str, ...] = ()
    diverse: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        """Return the keys from the record's top to the value."""
        return tuple(cast("list[str]", self.settings.get("path") or self.name.split(".")))


def sensitive_field(name: str, column: Column, people: People, texts: bool) -> Field:
    """Return what is proposed for a field whose values are single ones, by their type."""
    settings: dict[str, object] = {"role": "sensitive"}
    numbers = [number(value, texts) for value in column.values]
    if all(isinstance(value, bool) for value in column.values):
        settings["type"] = "boolean"
    elif all(found is not None for found in numbers):
        whole = all(found is not None and found == found.to_integral_value() for found in numbers)
        settings["type"] = "integer" if whole else "number"
    elif not all(isinstance(value, str) for value in column.values):
        return Field(name, {}, ("looks sensitive, but its values are of several types",))
    common = people.common(column, label)
    largest = max(Counter(map(label, column.values)).values())
    diverse = len(common) >= 2 and largest <= DOMINANT * len(column.values)
    remarks = ["DECIDE: published as it is; a rare value can name a person"]
    if not diverse:
        remarks.append("no distinct_l is proposed: one value is too frequent, or all are rare")
    return Field(name, settings, tuple(remarks), diverse)


def sensitive_list(name: str, column: Column, people: People) -> Field:
    """Return what is proposed for a field whose values are lists of texts."""
    lists = [value for value in column.values if isinstance(value, tuple)]
    items = Column()
    for row, values in zip(column.rows, lists, strict=True):
        for item in dict.fromkeys(values):
            items.add(row, label(item))
    largest = max(Counter(items.values).values())
    diverse = len(people.common(items, label)) >= 2 and largest <= MOST_HELD * len(set(items.rows))
    remarks = ["DECIDE: published as it is; a rare value, or values that are rare together, can name a person"]
    if not diverse:
        remarks.append("no distinct_l is proposed: one value is in too many lists, or all are rare")
    if any(len(values) > MOST_ITEMS for values in lists):
        remarks.append(f"records with more than {MOST_ITEMS} values in it would be rejected")
    return Field(name, {"role": "sensitive", "type": "string[]"}, tuple(remarks), diverse)
