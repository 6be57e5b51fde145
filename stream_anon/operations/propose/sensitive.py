"""Propose sensitive fields: what is published as it is, and whether classes can be asked for different values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from stream_anon.formats.tables.undeclared_samples import SampledField
from stream_anon.judging.tally import MOST_LINKABLE
from stream_anon.microdata.attributes import MOST_ITEMS
from stream_anon.operations.propose.guess import Guess, label, misfits, percent
from stream_anon.operations.propose.proposed_numbers import coercion, number, numbers_of, ranges
from stream_anon.operations.propose.support import FEWEST, People, Reading, read

DOMINANT = 0.8  # share of one sensitive value beyond which two distinct values are too much to ask
MOST_HELD = 0.4
"""Share of lists that hold one value beyond which it is too much to ask that at most half of a class has it."""


@dataclass(frozen=True)
class ProposedField:
    """What is proposed for one field; no settings: it is left out."""

    name: str
    settings: Mapping[str, object]
    remarks: tuple[str, ...] = ()
    diverse: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        """Return the keys from the record's top to the value."""
        return tuple(cast("list[str]", self.settings.get("path") or self.name.split(".")))


def sensitive_field(name: str, column: SampledField, people: People, texts: bool, k: int) -> ProposedField | Guess:
    """Return what is proposed for a field whose values are single ones, by their type.

    A guess stands for numbers some of which too few people share: no run publishes these as they are.
    """
    settings: dict[str, object] = {"role": "sensitive"}
    numbers = numbers_of(column, texts=texts)
    if numbers is not None:
        if people.rare(numbers, max(k, FEWEST)):
            return _as_ranges(column, numbers, people, k, texts)
        whole = all(found == found.to_integral_value() for found in numbers.meanings)
        settings |= {"type": "integer" if whole else "number", **coercion(column, number, texts=texts)}
        values = numbers
    else:
        truth = read(column, lambda value: label(value) if isinstance(value, bool) else None)
        plain = read(column, lambda value: value if isinstance(value, str) else None)
        values = max((truth, plain), key=len)
        settings |= {"type": "boolean"} if values is truth else {}
        if 2 * len(values) <= len(column.values):
            return ProposedField(name, {}, ("looks sensitive, but its values are of several types",))
    diverse = len(people.common(values)) >= 2 and values.counts.max() <= DOMINANT * len(values)
    remarks = [*misfits(column, len(values)), *_rare(values, people, k)]
    if not diverse:
        remarks.append("no distinct_l is proposed: one value is too frequent, or all are rare")
    return ProposedField(name, settings, tuple(remarks), diverse)


def _rare(values: Reading, people: People, k: int) -> tuple[str, ...]:
    """Return what is to be said of values that are published as they are."""
    sharing = people.sharing(values)
    rare = int(values.counts[sharing < k].sum())
    if rare <= MOST_LINKABLE * len(values):
        return ("DECIDE: published as it is; a rare value can name a person",)
    return (
        f"DECIDE: published as it is, but {percent(rare, len(values))} of its values are held by fewer than {k}",
        "people, and `rare-values` prevents a run. Let the producer write fewer and broader values, or leave it",
        "out, or, if you have weighed that a rare value can name a person, add `accept_linkable: true`",
    )


def _as_ranges(column: SampledField, numbers: Reading, people: People, k: int, texts: bool) -> Guess:
    """Return the ranges in which sensitive numbers may be published; without settings if there are none."""
    found = ranges(column, people, texts)
    rare = int(numbers.counts[people.sharing(numbers) < max(k, FEWEST)].sum())
    told = f"{percent(rare, len(numbers))} of its numbers are held by fewer than {max(k, FEWEST)} people"
    if found is None:
        return Guess({}, (f"looks sensitive, but {told}, and no range is shared by enough",))
    remarks = (
        f"DECIDE: looks sensitive, but {told}, whom it would name:",
        "published as ranges that all people of a class share, none narrower than `step`. An attacker who",
        "finds a person's class learns the range: leave it out if that is too much",
    )
    return Guess(found.settings, (*remarks, *found.remarks))


def sensitive_list(name: str, column: SampledField, people: People) -> ProposedField:
    """Return what is proposed for a field whose values are lists of texts."""
    items = SampledField()
    for row, values in zip(column.rows, column.values, strict=True):
        for item in dict.fromkeys(values if isinstance(values, tuple) else ()):
            items.add(row, label(item))
    read_items = read(items, lambda value: value)
    largest = int(read_items.counts.max())
    diverse = len(people.common(read_items)) >= 2 and largest <= MOST_HELD * len(set(items.rows))
    remarks = ["DECIDE: published as it is; a rare value, or values that are rare together, can name a person"]
    if not diverse:
        remarks.append("no distinct_l is proposed: one value is in too many lists, or all are rare")
    if any(isinstance(values, tuple) and len(values) > MOST_ITEMS for values in column.distinct):
        remarks.append(f"records with more than {MOST_ITEMS} values in it would be rejected")
    return ProposedField(name, {"role": "sensitive", "type": "string[]"}, tuple(remarks), diverse)
