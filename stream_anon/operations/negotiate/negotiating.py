"""Negotiate a policy's levels over a sample: read it, build the lattice, ask, and say how long the answer took.

The sample is a file, or the newest records of the input topic, as `check` reads them: nothing is written, no group
is joined. What leaves here are counts, and names that the policy declares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from statistics import median
from typing import Any

import numpy as np

from stream_anon.errors import SettingsError
from stream_anon.measures.grouping import dense, grouped, people
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.bounds import RecordBound, Shield
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.policy import Policy
from stream_anon.operations.samples import RecordSample
from stream_anon.ports import Clock
from stream_anon.recoding.lattice.attribute_levels import AttributeLevels, by_name, levels_of
from stream_anon.recoding.lattice.lattice import Lattice
from stream_anon.recoding.lattice.rows import Rows
from stream_anon.recoding.lattice.subset import chosen_levels
from stream_anon.recoding.negotiation import Answer, Request, Scheme, negotiate

_TIMED = 5  # answers, of which the median time is told


def parse_bound(text: str) -> RecordBound:
    """Return the bound that `40` or `0.5%` stands for; SettingsError for any other text."""
    bound = RecordBound.parse(text)
    if bound is None:
        raise SettingsError("--max-suppressed", "must be a number of records, such as 40, or a share, such as 0.5%")
    return bound


@dataclass(frozen=True, slots=True)
class NegotiationRequest:
    """What the options of the command ask for.

    Parameters
    ----------
    k, l
        None: what the policy asks for.
    limits
        Highest level of the hierarchy by attribute; none for an attribute that may go up to its root.
    """

    k: int | None
    l: int | None  # noqa: E741 - the letter of the paper
    limits: Mapping[str, int]
    most_suppressed: RecordBound


@dataclass(frozen=True, slots=True)
class ShieldShortfall:
    """The records that fewer people share by a shield's attributes than it asks, of those not suppressed for k."""

    shield: Shield
    records: int


@dataclass(frozen=True, slots=True)
class Negotiation:
    """An answer with what it is about.

    Parameters
    ----------
    lattice
        That was asked.
    nodes, nodes_in_all
        Its nodes; and those of the lattice of all levels, of which it may be a chosen subset.
    sensitive
        The attributes whose values l counts.
    milliseconds
        Median time of the answer.
    shields
        Those of the policy that do not hold by themselves, with what falls short of them: by the exact answer, or
        by the relaxation of suppression where there is none.
    """

    request: Request
    lattice: Lattice
    answer: Answer
    records: int
    individuals: int
    rejected: int
    nodes: int
    nodes_in_all: int
    sensitive: tuple[str, ...]
    milliseconds: float
    shields: tuple[ShieldShortfall, ...] = ()

    @property
    def levels(self) -> tuple[AttributeLevels, ...]:
        """Return the lattice's levels, by attribute."""
        return self.lattice.levels

    @property
    def subset(self) -> bool:
        """Return whether the answer is the best of a chosen subset of levels only."""
        return self.nodes < self.nodes_in_all

    def named(self, levels: Sequence[int]) -> dict[str, int]:
        """Return levels of the lattice as levels of the hierarchies."""
        return dict(by_name(self.levels, levels))

    def document(self) -> dict[str, Any]:
        """Return the answer as an object that JSON can hold."""
        exact, relaxations = self.answer.exact, self.answer.relaxations
        document: dict[str, Any] = {"exact": self._scheme(exact), "relaxations": None}
        if relaxations is not None:
            weaker = relaxations.privacy
            privacy = weaker and {
                "k": weaker.k,
                **({"l": weaker.l} if self.request.l > 1 else {}),
                "suppressed": weaker.suppressed,
            }
            document["relaxations"] = {
                "suppression": self._scheme(relaxations.suppression),
                "height": self._scheme(relaxations.height),
                "privacy": privacy,
            }
        document |= {"visited": self.answer.visited, "milliseconds": round(self.milliseconds, 3)}
        if self.shields:
            document["shields"] = [
                {"attributes": list(own.shield.attributes), "k": own.shield.k, "records_short": own.records}
                for own in self.shields
            ]
        if self.subset:
            document["subset"] = {"nodes": self.nodes, "of": self.nodes_in_all}
        return document

    def _scheme(self, scheme: Scheme | None) -> dict[str, Any] | None:
        if scheme is None:
            return None
        return {"levels": self.named(scheme.levels), "suppressed": scheme.suppressed}


def negotiate_over(policy: Policy, sample: RecordSample, asked: NegotiationRequest, clock: Clock) -> Negotiation:
    """Build the lattice over a sample and answer.

    Raises
    ------
    SettingsError
        If the policy has no such attribute or level, or nothing can answer: see `negotiate`.
    InputError
        If no record fits the policy.
    """
    sample.require_records()
    rows = Rows.of(sample.batch)
    every = [levels_of(a, codes) for a, codes in zip(policy.quasi_identifiers, rows.codes, strict=True)]
    wanted = _limits(policy, every, asked.limits)
    levels = chosen_levels(every, rows, wanted)
    lattice = Lattice(levels, rows)
    limits = tuple(own.at_most(all_.numbers[top]) for own, all_, top in zip(levels, every, wanted, strict=True))
    k, l = asked.k or policy.k, wanted_l(policy, asked.l)  # noqa: E741
    if k is None:
        raise SettingsError("--k", "is needed: the policy asks for none")
    request = Request(k, limits, asked.most_suppressed.of(len(rows)), l)
    times = []
    for _ in range(_TIMED):
        begun = clock.monotonic()
        answer = negotiate(lattice, request)
        times.append(1000 * (clock.monotonic() - begun))
    return Negotiation(
        request,
        lattice,
        answer,
        len(rows),
        lattice.individuals,
        len(sample.batch.rejects),
        lattice.shape.nodes,
        prod(each.height + 1 for each in every),
        tuple(attribute.name for attribute in counted_policy(policy, l).diverse),
        median(times),
        shortfalls(policy.open_shields, rows, levels, answer.within_limits.levels, k),
    )


def shortfalls(
    shields: Sequence[Shield], rows: Rows, levels: Sequence[AttributeLevels], scheme: Sequence[int], k: int
) -> tuple[ShieldShortfall, ...]:
    """Return what falls short of each shield if a table is published on some levels.

    Parameters
    ----------
    levels, scheme
        In the order of the rows' quasi-identifiers, the levels of each and the one that is published.
    k
        Groups of fewer individuals are suppressed first.
    """
    published = {
        own.name: own.nodes[level][own.places(codes)]
        for own, level, codes in zip(levels, scheme, rows.codes, strict=True)
    }
    individuals, _ = dense(rows.individuals)
    groups, count = grouped(published.values(), len(rows))
    kept = people(groups, count, individuals)[groups] >= k
    told = []
    for shield in shields:
        groups, count = grouped((published[name][kept] for name in shield.attributes), int(kept.sum()))
        short = people(groups, count, dense(individuals[kept])[0])[groups] < shield.k
        told.append(ShieldShortfall(shield, int(np.count_nonzero(short))))
    return tuple(told)


def wanted_l(policy: Policy, asked: int | None) -> int:
    """Return the distinct values that each group must hold: those asked for, else the most that the policy asks."""
    if asked is None:
        return max((each.values for each in policy.diversity.values()), default=0) or 1
    if asked > 1 and not any(isinstance(attribute, Sensitive) for attribute in policy.attributes):
        raise SettingsError("--l", "needs an attribute with role: sensitive")
    return asked


def counted_policy(policy: Policy, l: int) -> Policy:  # noqa: E741
    """Return the policy under which the sensitive values are read that l counts.

    Raises
    ------
    SettingsError
        If one of them is a list: its sets of values are no values that groups could count.
    """
    for attribute in policy.counted if l > 1 else ():
        if attribute.many:
            told = f"counts single values, and {attribute.name} is a list: say --l 1, and try lists with plan"
            raise SettingsError("--l", told)
    diversity = {attribute.name: Diversity(distinct_l=l) for attribute in policy.counted} if l > 1 else {}
    return replace(policy, diversity=diversity)


def _limits(policy: Policy, levels: Sequence[AttributeLevels], asked: Mapping[str, int]) -> list[int]:
    heights = {attribute.name: attribute.domain.height for attribute in policy.quasi_identifiers}
    for name, number in asked.items():
        if name not in heights:
            raise SettingsError("--max-level", f"{name} is not a quasi-identifier of the policy")
        if not 0 <= number <= heights[name]:
            raise SettingsError("--max-level", f"{name} has levels 0 to {heights[name]}")
    return [own.at_most(asked.get(own.name, heights[own.name])) for own in levels]
