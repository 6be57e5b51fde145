"""Downcoding (Cohen, USENIX Security 2022): a minimal generalization tells that no narrower one was legal."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from tests.attacks.conftest import Measured
from tests.attacks.town import ENGINES, Person, Service, classes_of, share, town_policy, townspeople


def _children(attribute: QuasiIdentifier, low: int, high: int) -> list[tuple[int, int]]:
    """Return the greatest nodes below the one over `low` to `high`."""
    found, start = [], low
    while start <= high:
        stop = start
        for end in range(high, start, -1):
            if attribute.node(start, end) == (start, end) and (start, end) != (low, high):
                stop = end
                break
        found.append((start, stop))
        start = stop + 1
    return found


def _bits(policy: Policy, release: Release, people: Sequence[Person]) -> tuple[float, int]:
    """Return the bits that minimality gives away, and of how many generalized values."""
    bits, cells = 0.0, 0
    for j, attribute in enumerate(policy.quasi_identifiers):
        codes = np.array([attribute.code(person[attribute.name]) for person in people])
        children: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for c, rows in enumerate(classes_of(release)):
            node = (int(release.classes.low[j][c]), int(release.classes.high[j][c]))
            assert attribute.node(*node) == node, "something narrower than a node was published"
            assert ((codes[rows] >= node[0]) & (codes[rows] <= node[1])).all()
            if node[0] == node[1]:
                continue
            if node not in children:
                children[node] = _children(attribute, *node)
            inside = codes[(codes >= node[0]) & (codes <= node[1])]
            shares = [np.mean((inside >= a) & (inside <= b)) for a, b in children[node]]
            one_child = sum(part ** len(rows) for part in shares)  # had chance put the rows under the node
            bits -= math.log2(max(1 - one_child, 1e-9))
            cells += 1
    return bits, cells


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("skewed", [False, True])
def test_nodes_are_published_but_not_wider_than_they_must_be(engine: str, skewed: bool, measured: Measured) -> None:
    """Promised: with `nodes` only nodes of the declared hierarchy leave, never a true value of somebody.

    Not promised: that a node is wider than it must be. Its minimality proves that its rows lie under two of its
    children at least; measured is how surprising that is to who knows how frequent the children are.
    """
    policy, people = town_policy(engine=engine), townspeople(1000)
    if skewed:  # nearly all live in one place and are of one sex
        people = [{**p, "home": "h1", "sex": "female"} if i % 25 else p for i, p in enumerate(people)]
    bits, cells = _bits(policy, Service(policy).release(people), people)
    assert cells
    where = "96 % in one place and of one sex" if skewed else "evenly spread"
    measured(f"k = 5, {engine}, {where}: minimality gives {bits / cells:.2f} bits a generalized value of a class")


def test_tight_ranges_give_two_true_values_for_each_class(measured: Measured) -> None:
    """Promised for `tight`: the range covers its class. Its ends are true values of somebody, as documented."""
    policy, people = town_policy(tight=True), townspeople(1000)
    release = Service(policy).release(people)
    ends = exact = 0
    for c, rows in enumerate(classes_of(release)):
        ages = [people[row]["age"] for row in rows]
        assert int(release.classes.low[0][c]) <= min(ages)
        assert int(release.classes.high[0][c]) >= max(ages)
        ends += 2
        exact += (int(release.classes.low[0][c]) == min(ages)) + (int(release.classes.high[0][c]) == max(ages))
    measured(
        f"`tight`: {share(exact, ends)} of the ends of published ranges are true ages of somebody in the class"
    )
