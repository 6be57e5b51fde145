"""Populations for tests, and how many of their people fit what is published, counted in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from stream_anon.microdata.attributes import Attribute, PublishedForm, Unknown
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.population.presence_bound import PopulationCounts, PresenceBound
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release

DIGEST = "sha256:" + "7" * 64


def population(people: Iterable[Sequence[int]], digest: str = DIGEST) -> PopulationCounts:
    """Return the population of people, each given by codes."""
    counted = Counter(tuple(map(int, codes)) for codes in people)
    codes = np.array(list(counted), np.int32).T.copy()
    return PopulationCounts(codes, np.array(list(counted.values()), np.int64), digest)


def bounded(most: float, known: PopulationCounts) -> dict[str, Any]:
    """Return what a policy needs to have a bound on presence in a population."""
    return {"presence": PresenceBound(most, known.digest, known.people), "population": known}


def of_nodes(attributes: Iterable[Attribute]) -> tuple[Any, ...]:
    """Return attributes with quasi-identifiers published as nodes, as presence needs them."""
    return tuple(
        replace(one, domain=one.domain.by_nodes(), publication=PublishedForm.NODES)
        if isinstance(one, QuasiIdentifier)
        else one
        for one in attributes
    )


def fits(attribute: QuasiIdentifier, value: object, code: int) -> bool:
    """Return whether a code lies under a published value."""
    read = attribute.read(value)
    if read is None:
        return False
    limited = attribute.max_level not in (None, attribute.domain.height)
    if value == "*" and attribute.unknown is Unknown.ROOT and limited:
        return code == attribute.unknown_code
    return read[0] <= code <= read[-1]


def fitting(policy: Policy, values: Sequence[object]) -> int:
    """Return how many people of a policy's population fit a published tuple."""
    known = policy.population
    assert known is not None
    return sum(
        int(count)
        for codes, count in zip(known.codes.T.tolist(), known.counts.tolist(), strict=True)
        if all(
            fits(attribute, value, code)
            for attribute, value, code in zip(policy.quasi_identifiers, values, codes, strict=True)
        )
    )


def shares(policy: Policy, release: Release) -> list[Fraction]:
    """Return which part of those who fit each published class is in it, from published values alone."""
    tuples = list(zip(*release.classes.values, strict=True))
    sizes = release.classes.individuals.tolist()
    return [Fraction(size, fitting(policy, values)) for size, values in zip(sizes, tuples, strict=True)]
