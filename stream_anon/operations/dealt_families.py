"""Deal the values of a sensitive attribute into families, from a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import inf

from stream_anon.errors import InputError, SettingsError
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.domains.families import Family, ShownAs, folded, missing_last
from stream_anon.microdata.policy import Policy
from stream_anon.operations.whole_families import FamilyLosses, cut_by, deal_whole, improved
from stream_anon.operations.yaml_lines import scalar

_ADVICE = ", and those that the policy has must not grow: who appears only then would have the new value"


@dataclass(frozen=True, slots=True)
class DealtFamilies:
    """Families of the values of one attribute.

    Parameters
    ----------
    attribute
        Its name.
    families
        Those that the policy had, then new ones from the most frequent values to the rarest.
    people
        How many people of the sample have each of a family's values, in the order of the family. Somebody with two
        values counts twice.
    known
        How many families the policy had.
    rare
        How many of the new families' values fewer than k people have.
    rest
        The name that the policy publishes other values under; None if there is none.
    shown_as
        What is to stand in records.
    cost
        Where values are published: the people of a window of the sample, its loss with these families, and the loss
        of the same window without them. None where families are published, which lose nothing.
    """

    attribute: str
    families: tuple[Family, ...]
    people: tuple[tuple[int, ...], ...]
    known: int
    rare: int
    rest: str | None = None
    shown_as: ShownAs = ShownAs.FAMILY
    cost: tuple[int, float, float] | None = None

    @property
    def guess(self) -> float:
        """Return how often somebody is right who knows a person's family and takes its most frequent value.

        Somebody with two values is two cases.
        """
        return sum(map(max, self.people)) / sum(map(sum, self.people))

    def lines(self, least: int) -> Iterator[str]:
        """Yield the setting as YAML, what may be guessed beside each family."""
        yield f"{scalar(self.attribute)}:"
        yield f"  invariant: {min(least, *map(len, self.families))}"
        if self.shown_as is not ShownAs.FAMILY:
            yield f"  publish: {self.shown_as}"
        yield "  families:"
        for family, people in zip(self.families, self.people, strict=True):
            listed = ", ".join("null" if value is None else scalar(value) for value in family)
            share = f"{max(people) / sum(people):.0%}" if any(people) else "none"
            yield f"    - [{listed}]  # {share} of its people have the most frequent one"
        if self.rest is not None:
            yield f"  rest: {scalar(self.rest)}"


def deal(people: Mapping[str | None, int], least: int) -> list[Family]:
    """Return as many families of at least `least` values as there can be; O(v least) steps.

    Each has values that follow each other by frequency. Of all such families these have the least surest guess: the
    largest share of one value among a family's people, of all families, is as small as it can be. Of all families
    with that share, as few people as can be have the most frequent value of their family.

    Parameters
    ----------
    people
        How many people have each value; at least `least` values.
    """
    values = sorted(people, key=lambda value: (-people[value], missing_last(value)))
    count, extra = divmod(len(values), least)
    until = [0, *accumulate(people[value] for value in values)]

    def ways(family: int, after: int) -> Iterator[tuple[int, int, float]]:
        """Yield how many values more than they must have the families before may have, the guess and its share."""
        end = (family + 1) * least + after
        for before in range(after + 1):
            first = family * least + before
            most = people[values[first]]
            yield before, most, most / (until[end] - until[first])

    # Of the families so far, by the values that they have more than they must: first the surest guess alone, since
    # what is best up to a family by both need not be best in the end; then who is guessed where none is surer.
    sure = [0.0] + [inf] * extra
    for family in range(count):
        sure = [min(max(sure[e], share) for e, _, share in ways(family, after)) for after in range(extra + 1)]
    surest = sure[extra]
    guessed = [0.0] + [inf] * extra
    came: list[list[int]] = []
    for family in range(count):
        best = [
            min((guessed[e] + most if share <= surest else inf, e) for e, most, share in ways(family, after))
            for after in range(extra + 1)
        ]
        guessed = [number for number, _ in best]
        came.append([before for _, before in best])
    return cut_by(values, came, least)


def families_of(
    policy: Policy, declared: Sensitive, batch: CodedBatch, least: int, shown_as: ShownAs
) -> DealtFamilies:
    """Deal the values that the people of a batch have, rare ones too: a value in no family is told by its absence.

    Where values are published, families are dealt by what it costs to keep them whole in classes.

    Parameters
    ----------
    policy, declared
        As `unfamilied` returns them; the batch was read under this policy. Families that are declared may be
        published already. They stay as they are, and new values are dealt among themselves, no fewer a family:
        whoever appears only since a family has a new value has this value.

    Raises
    ------
    InputError
        If there are too few values, or two that are one in other letters.
    """
    name, known = declared.name, declared.families
    place = [attribute.name for attribute in policy.passed].index(name)
    held = {(row[place], person) for row, person in zip(batch.payload, batch.individuals.tolist(), strict=True)}
    people = Counter(value for value, _ in held)
    listed = {value for family in known for value in family}
    every = listed | people.keys()
    if alike := len(every) - len(set(map(folded, every))):
        raise InputError(
            f"{name}: {alike} values differ from another one only in case, blanks around them or Unicode form; "
            "they mean the same: make them alike before they reach the input"
        )
    new = {value: count for value, count in people.items() if value not in listed}
    if known:  # a smaller one would be a weaker policy
        least = max(least, min(map(len, known)))
    if len(new) < least and (new or not known):
        are = "values are in no family of the policy" if known else "values occur"
        raise InputError(f"{name}: {len(new)} {are}; a family needs {least}{_ADVICE if known else ''}")
    losses = FamilyLosses(policy, name, batch) if shown_as is ShownAs.VALUE else None
    dealt: Sequence[Family] = ()
    if new and losses is not None:
        dealt = improved(deal_whole(new, least, policy.crowd), least, losses.of)
    elif new:
        dealt = deal(new, least)
    families = (*known, *dealt)
    replace(declared, families=families, shown_as=shown_as)  # raises where a value cannot be in a family
    counts = tuple(tuple(people[value] for value in family) for family in families)
    rare = sum(count < policy.crowd for count in new.values())
    cost = None
    if losses is not None:
        cost = len(losses), sum(map(losses.of, families)) / max(len(losses), 1), losses.without
    return DealtFamilies(name, families, counts, len(known), rare, declared.rest, shown_as, cost)


def unfamilied(policy: Policy, name: str | None) -> tuple[Policy, Sensitive]:
    """Return the policy without families of a sensitive attribute, and the attribute as it was declared.

    Parameters
    ----------
    name
        None for the only sensitive attribute.

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
    declared = policy.attribute(chosen)
    assert isinstance(declared, Sensitive)  # noqa: S101 - it was asked before
    return without_families(policy, {chosen}), declared


def without_families(policy: Policy, names: Collection[str]) -> Policy:
    """Return the policy with some sensitive attributes published as they are."""
    attributes = (
        replace(own, families=(), rest=None, shown_as=ShownAs.FAMILY)
        if isinstance(own, Sensitive) and own.name in names
        else own
        for own in policy.attributes
    )
    return replace(policy, attributes=tuple(attributes))
