"""Deal the values of a sensitive attribute into families, from a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import inf

from stream_anon.errors import InputError, SettingsError
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.domains.families import Family
from stream_anon.microdata.policy import Policy
from stream_anon.operations.propose.yaml_lines import scalar


@dataclass(frozen=True, slots=True)
class DealtFamilies:
    """Families of the values of one attribute.

    Parameters
    ----------
    attribute
        Its name.
    families
        From the most frequent values to the rarest.
    people
        How many people of the sample have each of a family's values, in the order of the family. Somebody with two
        values counts twice.
    rare_values, rare_people
        Values that fewer than k people have, which are in no family, and how many have one.
    """

    attribute: str
    families: tuple[Family, ...]
    people: tuple[tuple[int, ...], ...]
    rare_values: int
    rare_people: int

    @property
    def guess(self) -> float:
        """Return how often somebody is right who knows a person's family and takes its most frequent value."""
        return sum(map(max, self.people)) / sum(map(sum, self.people))

    def lines(self, least: int) -> Iterator[str]:
        """Yield the setting as YAML, what may be guessed beside each family."""
        yield f"{scalar(self.attribute)}:"
        yield f"  invariant: {least}"
        yield "  families:"
        for family, people in zip(self.families, self.people, strict=True):
            share = max(people) / sum(people)
            listed = ", ".join("null" if value is None else scalar(value) for value in family)
            yield f"    - [{listed}]  # {share:.0%} of its people have the most frequent one"


def deal(people: Mapping[str | None, int], least: int) -> list[Family]:
    """Return as many families of at least `least` values as there can be; O(v least) steps.

    Each has values that follow each other by frequency. Of all such families these have the least surest guess: the
    largest share of one value among a family's people, of all families, is as small as it can be. Where several are
    alike, fewer people have the most frequent value of their family.

    Parameters
    ----------
    people
        How many people have each value; at least `least` values.
    """
    values = sorted(people, key=lambda value: (-people[value], value is None, value or ""))
    count, extra = divmod(len(values), least)
    until = [0, *accumulate(people[value] for value in values)]
    # best[e]: of the families so far with e values more than they must have, the surest guess and who is guessed.
    best: list[tuple[float, int]] = [(0.0, 0)] + [(inf, 0)] * extra
    came: list[list[int]] = []
    for family in range(count):
        found = []
        for after in range(extra + 1):
            end = (family + 1) * least + after
            ways = []
            for before in range(after + 1):
                first = family * least + before
                most = people[values[first]]
                surest = max(best[before][0], most / (until[end] - until[first]))
                ways.append((surest, best[before][1] + most, before))
            found.append(min(ways))
        best = [(surest, guessed) for surest, guessed, _ in found]
        came.append([before for *_, before in found])
    ends, more = [len(values)], extra
    for family in range(count - 1, -1, -1):
        more = came[family][more]
        ends.append(family * least + more)
    return [tuple(values[first:last]) for first, last in pairwise(reversed(ends))]


def families_of(policy: Policy, name: str, batch: CodedBatch, least: int) -> DealtFamilies:
    """Deal the values that the people of a batch have.

    Parameters
    ----------
    policy
        One of `unfamilied`, under which the batch was read.
    name
        A sensitive attribute.

    Raises
    ------
    InputError
        If too few values are held by k people.
    """
    place = [attribute.name for attribute in policy.passed].index(name)
    held = {(row[place], person) for row, person in zip(batch.payload, batch.individuals.tolist(), strict=True)}
    people = Counter(value for value, _ in held)
    common = {value: count for value, count in people.items() if count >= policy.crowd}
    if len(common) < least:
        raise InputError(
            f"{name}: {len(common)} values are held by {policy.crowd} people or more; a family needs {least}"
        )
    families = tuple(deal(common, least))
    replace(_sensitive(policy, name), families=families)  # raises where a value cannot be in a family
    counts = tuple(tuple(common[value] for value in family) for family in families)
    rare = people.total() - sum(common.values())
    return DealtFamilies(name, families, counts, len(people) - len(common), rare)


def unfamilied(policy: Policy, name: str | None) -> tuple[Policy, str]:
    """Return the policy without families of a sensitive attribute, and its name; of the only one without a name.

    Raises
    ------
    SettingsError
        If there is no such attribute, or several where none is named.
    """
    sensitive = [attribute.name for attribute in policy.attributes if isinstance(attribute, Sensitive)]
    if name is None and len(sensitive) != 1:
        raise SettingsError("--attribute", f"say which: {', '.join(sensitive) or 'no attribute is sensitive'}")
    chosen = sensitive[0] if name is None else name
    if chosen not in sensitive:
        raise SettingsError("--attribute", "must be an attribute with role: sensitive")
    attributes = [
        replace(_sensitive(policy, chosen), families=()) if attribute.name == chosen else attribute
        for attribute in policy.attributes
    ]
    return replace(policy, attributes=tuple(attributes)), chosen


def _sensitive(policy: Policy, name: str) -> Sensitive:
    attribute = policy.attribute(name)
    assert isinstance(attribute, Sensitive)  # noqa: S101 - it was asked before
    return attribute
