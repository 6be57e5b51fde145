"""Refinement beside linear programs that scipy solves, and beside an attacker who looks at every person."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog  # type: ignore[import-untyped]

from stream_anon.attacks.knowledge import AttackScene, HeldRelease, Known
from stream_anon.attacks.refinement import certain_codes, refine
from stream_anon.measures.boxes import Boxes, Members
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy, Tree
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from tests.attacks.downcoding import children

TREE: Tree = {"north": {"hill": ["h1", "h2"], "lake": ["l1", "l2", "l3"]}, "south": ["s1"]}


def _numbers(**changes: Any) -> NumericDomain:
    return NumericDomain(Decimal(0), Decimal(6), Decimal(1), 0, **changes)


HOMES = CategoricalDomain(Hierarchy.from_tree(TREE))
KINDS = {
    "halves": QuasiIdentifier("age", _numbers()),
    "widths": QuasiIdentifier("age", _numbers(levels=(Decimal(2), Decimal(4)))),
    "tree": QuasiIdentifier("home", HOMES),
    "tight": QuasiIdentifier("age", _numbers(tight=True), publication=PublishedForm.TIGHT),
    "sets": QuasiIdentifier("home", HOMES, publication=PublishedForm.VALUES),
}


def _published(own: QuasiIdentifier, codes: list[int]) -> tuple[int, int, tuple[int, ...]]:
    """Return what a class with these codes publishes: bounds, and a set where it publishes one."""
    if own.publication is PublishedForm.VALUES:
        occurring = tuple(sorted(set(codes)))
        return occurring[0], occurring[-1], occurring
    return (*own.node(min(codes), max(codes)), ())


def _rules(
    own: QuasiIdentifier, shown: tuple[int, int, tuple[int, ...]], records: int
) -> list[tuple[set[int], int]]:
    """Return sets of codes that at most so many records have."""
    low, high, members = shown
    inside = set(members or range(low, high + 1))
    if own.publication is PublishedForm.VALUES:
        return [(inside - {code}, records - 1) for code in members]
    if own.domain.tight:
        if high >= own.missing_code:
            return []  # "*": both ends occur, or a missing value does
        return [(inside - {low}, records - 1), (inside - {high}, records - 1)]
    return [(set(range(first, last + 1)), records - 1) for first, last in children(own, low, high)]


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(list(KINDS)), st.sampled_from(list(KINDS)))
def test_what_is_certain_is_what_the_linear_program_finds(data: st.DataObject, one: str, other: str) -> None:
    """The counts of all tuples of both attributes are unknown at once: no attribute tells more of the other."""
    both = KINDS[one], KINDS[other]
    records = data.draw(st.integers(2, 7))
    shown = []
    for own in both:
        codes = st.lists(st.integers(0, own.domain.size - 1), min_size=records, max_size=records)
        shown.append(_published(own, data.draw(codes.filter(lambda drawn: len(set(drawn)) > 1))))
    axes = [list(members or range(low, high + 1)) for low, high, members in shown]
    shape = [len(axis) for axis in axes]
    rows, most = [], []
    for axis, own in enumerate(both):
        for few, bound in _rules(own, shown[axis], records):
            rows.append(_over(shape, axis, [code in few for code in axes[axis]]))
            most.append(bound)
    for axis, own in enumerate(both):
        certain = certain_codes(own, *shown[axis])
        for number, code in enumerate(axes[axis]):
            cost = _over(shape, axis, [place == number for place in range(shape[axis])])
            least, greatest = (_least(sign * cost, rows, most, records) * sign for sign in (1, -1))
            assert least == pytest.approx(1 if code in certain else 0, abs=1e-7)
            if records > len(certain):
                assert greatest > 1 - 1e-7, "a published value is excluded"


def _over(shape: list[int], axis: int, chosen: list[bool]) -> NDArray[np.float64]:
    weights = np.array(chosen, np.float64).reshape([-1 if place == axis else 1 for place in range(2)])
    return np.asarray(np.broadcast_to(weights, shape).ravel(), np.float64)


def _least(cost: NDArray[np.float64], rows: list[Any], most: list[int], records: int) -> float:
    found = linprog(cost, A_ub=np.array(rows), b_ub=most, A_eq=np.ones((1, len(cost))), b_eq=[records])
    assert found.success
    return float(found.fun)


def test_a_fixed_level_and_a_missing_value_make_nothing_certain() -> None:
    fixed = KINDS["halves"].at_level(1)
    assert certain_codes(KINDS["halves"], 1, 2, ()) == (1, 2)
    assert fixed.node_at(1, 1) == (1, 2)
    assert certain_codes(fixed, 1, 2, ()) == ()
    tight = KINDS["tight"]
    assert certain_codes(tight, 0, tight.unknown_code, ()) == ()


def _scene(own: QuasiIdentifier, classes: list[list[int]], outside: list[int]) -> AttackScene:
    shown = [_published(own, codes) for codes in classes]
    low, high = (np.array([[one[end] for one in shown]], np.int32) for end in (0, 1))
    sizes = np.array([len(codes) for codes in classes])
    members: dict[int, Members] = {0: [one[2] for one in shown]} if own.publication is PublishedForm.VALUES else {}
    held = HeldRelease(Boxes(low, high, sizes, members), np.repeat(np.arange(len(classes)), sizes), {})
    inside = [code for codes in classes for code in codes]
    return AttackScene(held, _people(inside), _people(outside))


def _people(codes: list[int]) -> Known:
    return Known(np.array([codes], np.int32), {}, np.arange(len(codes)))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(list(KINDS)),
    st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=6), min_size=1, max_size=4),
    st.lists(st.integers(0, 5), min_size=1, max_size=6),
)
def test_the_guess_is_one_of_the_values_that_are_certain(
    kind: str, classes: list[list[int]], outside: list[int]
) -> None:
    own = KINDS[kind]
    scene = _scene(own, classes, outside)
    found = refine(scene, scene.inside, scene.outside, own, 0)

    def chances(people: list[int]) -> list[float]:
        made = []
        for code in people:
            right, weight = 0.0, 0
            for codes in classes:
                low, high, members = _published(own, codes)
                values = list(members or range(low, high + 1))
                if low == high or code not in values:
                    continue
                guessed = certain_codes(own, low, high, members) or values
                right += len(codes) * (code in guessed) / len(guessed)
                weight += len(codes)
            if weight:
                made.append(right / weight)
        return made

    inside, others = chances([code for codes in classes for code in codes]), chances(outside)
    assert found.attempts == len(inside)
    assert found.successes == pytest.approx(sum(inside))
    assert found.control is not None
    assert found.control[0] == len(others)
    assert found.control[1] == pytest.approx(sum(others))


def test_the_ends_of_ranges_give_people_away_who_are_in_the_release() -> None:
    draws = np.random.default_rng(1)
    wide = NumericDomain(Decimal(0), Decimal(9_999), Decimal(1), 0, tight=True)
    own = QuasiIdentifier("income", wide, publication=PublishedForm.TIGHT)
    drawn = np.sort(draws.integers(0, 10_000, 1_000)).reshape(100, 10).tolist()
    scene = _scene(own, drawn, draws.integers(0, 10_000, 1_000).tolist())
    found = refine(scene, scene.inside, scene.outside, own, 0)
    assert found.success.value == pytest.approx(0.1, abs=0.01)  # two of ten are at an end, and one end is guessed
    assert found.surest == 0.1
    assert found.risk.low > 0.05
    nodes = QuasiIdentifier("income", wide.by_nodes())
    scene = _scene(nodes, drawn, draws.integers(0, 10_000, 1_000).tolist())
    assert refine(scene, scene.inside, scene.outside, nodes, 0).risk.low == 0
