"""A reader who knows how the program chooses cannot tell whether people of one signature have exchanged its values.

Releases of a small world are made with every order in which rows can be drawn. So the probability of all that
tables and certificates tell is exact: who stands with whom, among which values, how many records each group has,
and who is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.files.series.state import SeriesState, SeriesTerms
from stream_anon.recoding.invariance.buckets import Signature
from stream_anon.recoding.invariance.invariant_groups import grouped

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
    world: Mapping[str, int], people: Sequence[str], state: SeriesState, least: tuple[int, int]
) -> Counter[Seen]:
    """Return how many of all orders give a release."""
    codes = np.array([[ord(person) % 10 for person in people]], np.int32)
    values = np.array([world[person] for person in people], np.int64)
    known = {person: _values(state, place) for person, place in state.people.items()}
    own = [known.get(person) for person in people]
    seen: Counter[Seen] = Counter()
    for order in permutations(range(len(people))):
        draws = cast("np.random.Generator", _Drawn(order))
        found = grouped(codes, SIZES, values, own, least, draws, together=bool(state.waiting))
        groups = []
        for group in range(int(found.group_of_row.max(initial=-1)) + 1):
            within = found.group_of_row == group
            shown = Counter([*values[within].tolist(), *found.values[found.groups == group].tolist()])
            groups.append((frozenset(people[row] for row in np.flatnonzero(within)), frozenset(shown.items())))
        signed = [(person, s) for person, s in zip(people, found.signatures, strict=True) if s is not None]
        seen[frozenset(groups), frozenset(signed)] += 1
    return seen


def _values(state: SeriesState, place: int) -> Signature:
    return tuple(sorted(cast("int", state.values[number]) for number in state.signatures[place]))


def _after(state: SeriesState, seen: Seen, people: Sequence[str]) -> SeriesState:
    """Return what the series remembers after a release."""
    signed = dict(seen[1])
    labels = [*state.values, *sorted(set(range(9)).difference(cast("list[int]", state.values)))]
    signatures = [tuple(sorted(map(labels.index, signature))) for signature in signed.values()]
    left_out = [person for person in people if person not in signed and person not in state.people]
    return state.after(labels, list(signed), signatures, left_out)


Told = dict[tuple[Seen, ...], tuple[Fraction, SeriesState]]


def _series(world: Mapping[str, int], releases: Sequence[Sequence[str]], least: tuple[int, int]) -> Told:
    """Return each series of releases with its probability, and what is remembered in the end."""
    terms = SeriesTerms("ill", "integer", ["person"], [], least[1], "key", ["ill"])
    found: Told = {(): (Fraction(1), SeriesState.first(terms))}
    for people in releases:
        after: Told = {}
        for past, (chance, state) in found.items():
            outcomes = _release(world, people, state, least)
            for seen, times in outcomes.items():
                own = chance * times / outcomes.total()
                after[*past, seen] = own, _after(state, seen, people)
        found = after
    return found


def _exchanged(world: Mapping[str, int], state: SeriesState) -> list[dict[str, int]]:
    """Return the worlds in which the people of one signature have exchanged two of its values."""
    signature_of = {person: _values(state, place) for person, place in state.people.items()}
    worlds = []
    for signature in set(signature_of.values()):
        for one, other in combinations(signature, 2):
            swap = {one: other, other: one}
            worlds.append(
                {
                    person: swap.get(value, value) if signature_of.get(person) == signature else value
                    for person, value in world.items()
                }
            )
    return worlds


def _compare(world: dict[str, int], releases: Sequence[Sequence[str]], least: tuple[int, int]) -> set[str]:
    """Compare each series with those of all exchanges; return who is published somewhere."""
    published: set[str] = set()
    other: dict[tuple[int, ...], Told] = {}
    for series, (chance, state) in _series(world, releases, least).items():
        published |= {person for _, signed in series for person, _ in signed}
        for exchanged in _exchanged(world, state):
            key = tuple(exchanged.values())
            if key not in other:
                other[key] = _series(exchanged, releases, least)
            assert other[key].get(series, (Fraction(0), state))[0] == chance
    return published


@pytest.mark.parametrize("least", [(1, 2), (2, 2), (2, 3)])
@pytest.mark.parametrize(
    ("world", "releases"),
    [
        # B and D leave; E, who is new, has the value that A's bucket lacks or has: nobody may see which.
        ({"A": 0, "B": 1, "C": 2, "D": 3, "E": 1, "F": 0}, ["ABCD", "ACEF"]),
        # A new value, and a value of before, among the people who come.
        ({"A": 0, "B": 1, "C": 2, "D": 0, "E": 1, "F": 4}, ["ABC", "ADEF"]),
        # Too many who are new have one value.
        ({"A": 0, "B": 1, "C": 2, "D": 0, "E": 0, "F": 1}, ["ABC", "CDE", "BDEF"]),
        # Who is new waits, and comes in later: A and B would be known to have one value.
        ({"A": 0, "B": 0, "C": 1, "D": 2}, ["AB", "ABCD"]),
        ({"A": 0, "B": 0, "C": 1, "D": 2}, ["AB", "ACD", "ABCD"]),
        ({"A": 0, "B": 0, "C": 1, "D": 2, "E": 0}, ["ABE", "AC", "BDE"]),
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
    assert _compare(world, releases, least) or least == (
        2,
        3,
    )  # with three values to choose from, few are published


def test_those_who_waited_are_published_among_the_same_values() -> None:
    """A and B would otherwise be known to have what they have alone in common."""
    world, terms = {"A": 0, "B": 0, "C": 1, "D": 2}, (1, 2)
    for series, (_, state) in _series(world, ["AB", "ABCD"], terms).items():
        assert {person for _, signed in series for person, _ in signed} == set("ABCD")
        assert len(state.signatures) == 1
    for _, state in _series(world, ["AB", "ACD", "CD"], terms).values():
        assert state.people["B"] == state.people["A"]  # B was absent
        assert not state.waiting


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=5, max_size=5),
    st.lists(st.sets(st.sampled_from("ABCDE"), min_size=1, max_size=4).map(sorted), min_size=1, max_size=3),
    st.sampled_from([(1, 2), (1, 3), (2, 2)]),
)
def test_they_may_in_any_small_world(own: list[int], releases: list[list[str]], least: tuple[int, int]) -> None:
    _compare(dict(zip("ABCDE", own, strict=True)), releases, least)
