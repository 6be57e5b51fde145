"""Risks over many windows are those of all their classes together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.measures.risk import journalist, marketer, prosecutor
from stream_anon.operations.report.figures.risks import AttackerRisk, ClassSizes

WINDOWS = st.lists(
    st.lists(st.tuples(st.integers(1, 3_000), st.integers(0, 100_000)), max_size=8), min_size=1, max_size=6
)


def _risks(sizes: ClassSizes) -> dict[str, AttackerRisk]:
    return {risk.attacker: risk for risk in sizes.risks()}


@given(WINDOWS, st.floats(0.001, 1))
def test_windows_together_have_the_risks_of_all_their_classes(
    windows: list[list[tuple[int, int]]], threshold: float
) -> None:
    counted = ClassSizes(threshold)
    for window in windows:
        pairs = np.array(window, np.int64).reshape(-1, 2)
        counted.add(pairs[:, 0], pairs[:, 0] + pairs[:, 1])
    pairs = np.array([pair for window in windows for pair in window], np.int64).reshape(-1, 2)
    sizes, population = pairs[:, 0], pairs.sum(axis=1)
    if not len(pairs):
        assert counted.risks() == []
        return
    known, unknown = prosecutor(sizes, threshold), journalist(sizes, population, threshold)
    found = _risks(counted)
    assert found["prosecutor"].highest == known.highest
    assert found["prosecutor"].average == pytest.approx(known.average)
    assert found["prosecutor"].above == pytest.approx(known.above)
    assert found["marketer"].average == pytest.approx(marketer(sizes))
    assert found["journalist"].highest == unknown.highest
    assert found["journalist"].average == pytest.approx(unknown.average)
    assert found["journalist"].above == pytest.approx(unknown.above)


@given(st.lists(st.integers(1, 10**15), min_size=1, max_size=50))
def test_sizes_are_counted_by_three_digits(sizes: list[int]) -> None:
    counted = ClassSizes(None)
    counted.add(np.array(sizes, np.int64))
    assert (counted.classes, counted.people) == (len(sizes), sum(sizes))
    assert (counted.smallest, counted.largest) == (min(sizes), max(sizes))
    middle = sorted(sizes)[(len(sizes) - 1) // 2]
    assert counted.median is not None
    assert counted.median <= middle < counted.median * 1.01 + 1
    assert counted.median == int(str(middle)[:3].ljust(len(str(middle)), "0"))
    assert sum(count for _, count in counted.spread()) == len(sizes)


def test_sizes_are_spread_over_steps() -> None:
    counted = ClassSizes(None)
    counted.add(np.array([1, 2, 4, 5, 9, 10, 19, 1_000, 1_999, 2_000]))
    assert list(counted.spread()) == [(1, 1), (2, 2), (5, 2), (10, 2), (1_000, 2), (2_000, 1)]


def test_a_class_of_nobody_is_none_and_without_classes_there_is_no_risk() -> None:
    counted = ClassSizes(0.1)
    counted.add(np.array([], np.int64))
    counted.add(np.array([0]), np.array([7]))
    assert counted.risks() == []
    assert (counted.smallest, counted.median, list(counted.spread())) == (None, None, [])


def test_a_journalist_is_judged_only_where_the_population_of_all_windows_is_known() -> None:
    counted = ClassSizes(0.1)
    counted.add(np.array([5]), np.array([50]))
    assert _risks(counted)["journalist"].highest == 1 / 50
    counted.add(np.array([5]))
    assert "journalist" not in _risks(counted)


def test_there_are_at_least_as_many_people_as_were_released() -> None:
    """A population that lacks some of them is wrong: they are in it."""
    counted = ClassSizes(None)
    counted.add(np.array([5]), np.array([2]))
    assert _risks(counted)["journalist"] == AttackerRisk("journalist", 1 / 5, 1 / 5, None)
