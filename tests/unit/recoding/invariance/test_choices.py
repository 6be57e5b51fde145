"""A reader who knows how the program chooses cannot tell whether people of one signature have exchanged its values.

Releases of a small world are made with every order in which rows can be drawn. So the probability of all that
tables and certificates tell is exact: who stands with whom, among which values, how many records each group has,
and who is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.recoding.invariance.buckets import Signature
from stream_anon.recoding.invariance.grouping import grouped

SIZES = np.array([10], np.int64)
Group = tuple[frozenset[str], frozenset[tuple[int, int]]]
"""Who is in it, and how often it shows each value."""
Seen = tuple[frozenset[Group], frozenset[tuple[str, Signature]]]
"""Of one release: its groups, and everybody's signature."""


class _Drawn:
    """Draws rows in a given order, and always the first of several."""

    def __init__(self, order: Sequence[int]) -> None:
        self._order = np.array(order, np.int64)

    def permutation(self, size: int) -> NDArray[np.int64]:
        assert size == len(self._order)
        return self._order

    def choice(self, rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        return np.full(count, rows[0])


def _release(
    world: Mapping[str, int], people: Sequence[str], known: Mapping[str, Signature], least: tuple[int, int]
) -> Counter[Seen]:
    """Return how many of all orders give a release."""
    codes = np.array([[ord(person) % 10 for person in people]], np.int32)
    values = np.array([world[person] for person in people], np.int64)
    seen: Counter[Seen] = Counter()
    for order in permutations(range(len(people))):
        draws = cast("np.random.Generator", _Drawn(order))
        found = grouped(codes, SIZES, values, [known.get(person) for person in people], least, draws)
        groups = []
        for group in range(int(found.group_of_row.max(initial=-1)) + 1):
            within = found.group_of_row == group
            shown = Counter([*values[within].tolist(), *found.values[found.groups == group].tolist()])
            groups.append((frozenset(people[row] for row in np.flatnonzero(within)), frozenset(shown.items())))
        own = [(person, s) for person, s in zip(people, found.signatures, strict=True) if s is not None]
        seen[frozenset(groups), frozenset(own)] += 1
    return seen


def _series(
    world: Mapping[str, int], releases: Sequence[Sequence[str]], least: tuple[int, int]
) -> dict[tuple[Seen, ...], Fraction]:
    """Return the probability of each series of releases."""
    found: dict[tuple[Seen, ...], Fraction] = {(): Fraction(1)}
    for people in releases:
        after: dict[tuple[Seen, ...], Fraction] = {}
        for past, chance in found.items():
            known = {person: signature for _, own in reversed(past) for person, signature in own}
            outcomes = _release(world, people, known, least)
            for seen, times in outcomes.items():
                after[*past, seen] = after.get((*past, seen), Fraction(0)) + chance * times / outcomes.total()
        found = after
    return found


def _exchanged(world: Mapping[str, int], series: Sequence[Seen]) -> list[dict[str, int]]:
    """Return the worlds in which the people of one signature have exchanged two of its values."""
    signature_of = {person: signature for _, own in series for person, signature in own}
    worlds = []
    for signature in set(signature_of.values()):
        for one, other in product(signature, repeat=2):
            swap = {one: other, other: one}
            worlds.append(
                {
                    person: swap.get(value, value) if signature_of.get(person) == signature else value
                    for person, value in world.items()
                }
            )
    return worlds


@pytest.mark.parametrize("least", [(1, 2), (2, 2), (2, 3)])
@pytest.mark.parametrize(
    ("world", "releases"),
    [
        # B and D leave; E, who is new, has the value that A's bucket lacks or has: nobody may see which.
        ({"A": 0, "B": 1, "C": 2, "D": 3, "E": 1, "F": 0}, ["ABCD", "ACEF"]),
        # A new value, and a value of before, among the people who come.
        ({"A": 0, "B": 1, "C": 2, "D": 0, "E": 1, "F": 4}, ["ABC", "ADEF"]),
        # Too many who are new have one value: all of them wait, and come in later.
        ({"A": 0, "B": 1, "C": 2, "D": 0, "E": 0, "F": 1}, ["ABC", "CDE", "BDEF"]),
        # Several orders matter: who is with whom is drawn.
        ({"A": 0, "B": 1, "C": 0, "D": 1, "E": 2, "F": 3, "G": 2}, ["ABCDEF", "ABDFG"]),
        ({"A": 0, "B": 1, "C": 0, "D": 2, "E": 1, "F": 2}, ["ABCD", "ABCEF"]),
        # Nobody leaves, nobody comes: the same people are cut anew.
        ({"A": 0, "B": 1, "C": 0, "D": 1}, ["ABCD", "ABCD"]),
    ],
)
def test_the_people_of_a_signature_may_have_exchanged_its_values(
    world: dict[str, int], releases: list[str], least: tuple[int, int]
) -> None:
    likely = _series(world, releases, least)
    other: dict[tuple[int, ...], dict[tuple[Seen, ...], Fraction]] = {}
    for series, chance in likely.items():
        for exchanged in _exchanged(world, series):
            key = tuple(exchanged.values())
            if key not in other:
                other[key] = _series(exchanged, releases, least)
            assert other[key].get(series) == chance
