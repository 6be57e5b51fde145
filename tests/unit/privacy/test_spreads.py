"""What the gate counts of sensitive values, beside figures worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.privacy.criteria import Spread, Spreads
from stream_anon.privacy.spreads import spreads_of

EVERYTHING = Spread(entropy_l=2, c=2, l=2, t=0.5, alpha=0.5)


def _spreads(
    groups: Sequence[int], values: Sequence[int], asked: Spread = EVERYTHING, people: Sequence[int] | None = None
) -> Spreads:
    who = np.arange(len(groups)) if people is None else np.array(people)
    return spreads_of(
        np.array(groups, np.int64),
        max(groups, default=-1) + 1,
        who.astype(np.int32),
        np.array(values, np.int32),
        asked,
    )


@pytest.mark.parametrize(("l", "tilt"), [(2, 5 / 6), (3, 5 / 3), (4, 5.0), (5, inf)])
def test_recursion_sums_up_from_the_value_in_place_l(l: int, tilt: float) -> None:  # noqa: E741
    values = [2] * 5 + [0] * 3 + [3] * 2 + [1]
    found = _spreads([0] * 11, values, Spread(c=9, l=l))
    assert found.tilt.tolist() == [pytest.approx(tilt)]


def test_shares_and_entropy_are_those_of_the_rows_with_a_value() -> None:
    found = _spreads([0] * 8, [0, 0, 1, -1, -1, -1, -1, -1])
    assert found.share.tolist() == [pytest.approx(2 / 3)]
    assert found.entropy.tolist() == [pytest.approx(-(2 / 3) * log(2 / 3) - (1 / 3) * log(1 / 3))]


def test_each_group_is_counted_alone() -> None:
    found = _spreads([1, 0, 1, 0, 1, 0, 1], [0, 2, 0, 1, 1, 2, 0])
    assert found.share.tolist() == [pytest.approx(2 / 3), pytest.approx(3 / 4)]
    assert found.tilt.tolist() == [pytest.approx(2.0), pytest.approx(3.0)]
    # All together 3, 2 and 2 of seven.
    assert found.distance.tolist() == [pytest.approx(2 / 3 - 2 / 7 + 1 / 3 - 2 / 7), pytest.approx(3 / 4 - 3 / 7)]


@pytest.mark.parametrize(
    ("ordered", "distances"), [(False, [0.5, 0.75, 0.75]), (True, [0.5 / 3, 1.5 / 3, 1.5 / 3])]
)
def test_equal_and_ordered_distances_are_those_of_the_paper(ordered: bool, distances: list[float]) -> None:
    """All together show each of four values as often: a half of two, or one alone, against a quarter each."""
    found = _spreads([0] * 4 + [1] * 2 + [2] * 2, [1, 2, 2, 1, 3, 3, 0, 0], Spread(t=0.5, ordered=ordered))
    assert found.distance.tolist() == [pytest.approx(distance) for distance in distances]


def test_values_that_nobody_released_are_no_places_in_the_order() -> None:
    """Values 0, 5 and 9 are three places: a neighbour is half of the way."""
    found = _spreads([0, 1, 2], [0, 5, 9], Spread(t=0.5, ordered=True))
    assert found.distance.tolist() == [pytest.approx(0.5), pytest.approx(1 / 3), pytest.approx(0.5)]


def test_all_are_alike_where_only_one_value_is_known() -> None:
    found = _spreads([0, 0, 1, 1], [3, 3, 3, 3], Spread(t=0.5, ordered=True))
    assert found.distance.tolist() == [0, 0]


def test_people_are_compared_with_people_and_records_with_records() -> None:
    """Persons 4 and 5 come twice. Over people both groups are even as all are, over records neither is."""
    groups = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    values = [0, 0, 1, 1, 1, 1, 1, 1, 0, 0]
    found = _spreads(groups, values, people=[0, 1, 2, 3, 4, 4, 5, 5, 6, 7])
    # Of the records six in ten are 1: a half in one group, two thirds in the other.
    assert found.distance.tolist() == [pytest.approx(0.1), pytest.approx(2 / 3 - 0.6)]
    assert found.share.tolist() == [pytest.approx(0.5), pytest.approx(2 / 3)]


def test_a_pair_counts_once_in_each_group_and_once_in_the_reference() -> None:
    """Person 0 shows value 0 in both groups, and often in the first."""
    groups, values, people = [0] * 5 + [1] * 3, [0, 0, 0, 0, 1, 0, 1, 2], [0, 0, 0, 0, 1, 0, 2, 3]
    found = _spreads(groups, values, people=people)
    # Pairs: a half, a half | a third each; of all four pairs one is 0, two are 1, one is 2.
    assert found.share.tolist() == [pytest.approx(4 / 5), pytest.approx(1 / 2 - 1 / 6)]
    by_records = [4 / 5 - 5 / 8, 1 / 3 - 1 / 4 + 1 / 3 - 1 / 8]
    by_pairs = [1 / 4, 1 / 3 - 1 / 4 + 1 / 3 - 1 / 4]
    expected = [max(pair) for pair in zip(by_records, by_pairs, strict=True)]
    assert found.distance.tolist() == [pytest.approx(distance) for distance in expected]
    assert found.entropy[0] == pytest.approx(-0.8 * log(0.8) - 0.2 * log(0.2))
    assert found.tilt.tolist() == [pytest.approx(4.0), pytest.approx(0.5)]


def test_the_share_of_missing_values_is_a_distance_too() -> None:
    groups, values = [0] * 4 + [1] * 4, [-1, -1, -1, 0, 0, 0, 0, 0]
    found = _spreads(groups, values)
    assert found.distance.tolist() == [pytest.approx(3 / 4 - 3 / 8), pytest.approx(3 / 8)]
    assert found.share.tolist() == [1, 1]


def test_a_group_without_a_value_has_no_share_and_no_entropy() -> None:
    found = _spreads([0, 0, 1], [-1, -1, 0])
    assert found.share.tolist() == [0, 1]
    assert found.entropy.tolist() == [0, 0]
    assert found.tilt.tolist() == [inf, inf]
    assert found.distance.tolist() == [pytest.approx(1 / 3), pytest.approx(2 / 3)]


def test_delta_is_the_largest_logarithm_and_beta_the_largest_gain() -> None:
    """All together show 0 in six of twelve, 1 in four, 2 in two."""
    groups = [0] * 6 + [1] * 6
    values = [0, 0, 0, 0, 1, 2, 0, 0, 1, 1, 1, 2]
    found = _spreads(groups, values, Spread(delta=2))
    # Shares 4/6, 1/6, 1/6 | 2/6, 3/6, 1/6 against 1/2, 1/3, 1/6.
    assert found.disclosure.tolist() == [pytest.approx(log(2)), pytest.approx(log(3 / 2))]
    assert found.gain.tolist() == [pytest.approx(1 / 3), pytest.approx(1 / 2)]
    assert _spreads(groups, values, Spread(beta=2)).gain.tolist() == found.gain.tolist()
    assert _spreads(groups, values, Spread(alpha=0.5)).gain.tolist() == [0, 0]


def test_a_value_that_a_group_lacks_is_infinitely_far_by_delta_and_no_gain() -> None:
    found = _spreads([0, 0, 1, 1, 1], [0, 1, 0, 1, 2], Spread(delta=2, beta=2))
    assert found.disclosure.tolist() == [inf, pytest.approx(log(5 / 3))]
    assert found.gain.tolist() == [pytest.approx(1 / 4), pytest.approx(2 / 3)]


def test_the_share_of_missing_values_is_compared_by_delta_and_beta_as_one_value_more() -> None:
    asked = Spread(delta=2, beta=2)
    # Three of eight are missing, values are 0 in three of five and 1 in two of five.
    found = _spreads([0] * 4 + [1] * 4, [-1, -1, 0, 1, -1, 0, 0, 1], asked)
    assert found.disclosure.tolist() == [pytest.approx(log(4 / 3)), pytest.approx(log(3 / 2))]
    assert found.gain.tolist() == [pytest.approx(1 / 3), pytest.approx(1 / 9)]
    # Nobody is missing in one group, nobody has a value in the other.
    found = _spreads([0] * 2 + [1] * 3, [0, 1, -1, -1, -1], asked)
    assert found.disclosure.tolist() == [inf, inf]
    assert found.gain.tolist() == [0, pytest.approx(2 / 3)]
    # A row alone is all of its group.
    found = _spreads([0] * 3 + [1], [-1, 0, 0, -1], asked)
    assert found.disclosure.tolist() == [pytest.approx(log(3 / 2)), inf]
    assert found.gain.tolist() == [0, pytest.approx(1)]


@pytest.mark.parametrize("asked", [Spread(beta=2), Spread(delta=2), Spread(delta=2, beta=2)])
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(-1, 2)), min_size=1, max_size=20))
def test_gains_are_those_of_the_definition_missing_ones_too(
    asked: Spread, rows: list[tuple[int, int, int]]
) -> None:
    found = _spreads([group for group, *_ in rows], [row[2] for row in rows], asked, [row[1] for row in rows])
    for group in {group for group, *_ in rows}:
        own = [(person, value) for number, person, value in rows if number == group]
        every = [(person, value) for _, person, value in rows]
        counted = [_ratios([v for _, v in a], [v for _, v in b]) for a, b in ((own, every), (set(own), set(every)))]
        ratios = [ratio for each in counted for ratio in each]
        assert found.gain[group] == pytest.approx(max(0.0, *(ratio - 1 for ratio in ratios)))
        worst = max(abs(log(ratio)) if ratio else inf for ratio in ratios)
        assert found.disclosure[group] == pytest.approx(worst)


def _ratios(own: list[int], every: list[int]) -> list[float]:
    """Return each value's share here over its share there, of those that have one; of missing ones among all."""
    here, there = ([value for value in values if value >= 0] for values in (own, every))
    ratios = [here.count(v) / max(len(here), 1) / (there.count(v) / len(there)) for v in set(there)]
    missing = len(every) - len(there)
    return [*ratios, (len(own) - len(here)) / len(own) / (missing / len(every))] if missing else ratios


def test_delta_and_beta_are_the_worse_of_records_and_people() -> None:
    """Person 0 comes three times with value 0."""
    found = _spreads([0] * 5 + [1] * 3, [0, 0, 0, 1, 1, 0, 0, 1], Spread(delta=2, beta=2), [0, 0, 0, 1, 2, 3, 4, 5])
    # Records: 3/5, 2/5 | 2/3, 1/3 against 5/8, 3/8. Pairs: 1/3, 2/3 | 2/3, 1/3 against 1/2 each.
    assert found.disclosure.tolist() == [pytest.approx(log(3 / 2)), pytest.approx(log(3 / 2))]
    assert found.gain.tolist() == [pytest.approx(1 / 3), pytest.approx(1 / 3)]


def test_no_distance_is_counted_where_none_is_asked_for() -> None:
    assert _spreads([0, 1], [0, 1], Spread(alpha=0.5)).distance.tolist() == [0, 0]


def test_values_of_two_people_are_told_apart_where_one_is_missing() -> None:
    """Person 1 has no value, person 0 the greatest one: two pairs, and nobody comes twice."""
    found = _spreads([0, 0, 0], [-1, 1, 0], people=[1, 0, 2])
    assert found.share.tolist() == [pytest.approx(1 / 2)]
    assert found.entropy.tolist() == [pytest.approx(log(2))]


def test_pairs_of_two_groups_are_told_apart() -> None:
    """In the order of people and values the pairs are numbered 0, 1 (the first group) and 2, 3 (the other)."""
    found = _spreads([1, 1, 1, 0, 0], [0, 0, 1, 0, 1], people=[0, 0, 1, 2, 3])
    assert found.share.tolist() == [pytest.approx(1 / 2), pytest.approx(2 / 3)]
    assert found.entropy[0] == pytest.approx(log(2))
    assert found.tilt.tolist() == [pytest.approx(1), pytest.approx(2)]


@pytest.mark.parametrize("ordered", [False, True])
def test_a_window_of_one_row_is_at_no_distance_from_itself(ordered: bool) -> None:
    for value in (0, 3, -1):
        assert _spreads([0], [value], Spread(t=0.5, ordered=ordered)).distance.tolist() == [0]
    assert _spreads([0, 0], [2, -1], Spread(t=0.5, ordered=ordered)).distance.tolist() == [0]


def test_two_values_are_the_two_ends_of_an_order() -> None:
    found = _spreads([0, 0, 1, 1, 1, 1], [0, 0, 4, 4, 0, 4], Spread(t=0.5, ordered=True))
    assert found.distance.tolist() == [pytest.approx(0.5), pytest.approx(0.25)]


def test_a_group_without_a_value_is_as_far_in_an_order_as_its_missing_values() -> None:
    found = _spreads([0, 0, 1, 1], [-1, -1, 0, 1], Spread(t=0.5, ordered=True))
    assert found.distance.tolist() == [pytest.approx(0.5), pytest.approx(0.5)]


def test_a_group_without_a_row_has_no_share_and_holds_nobody_up() -> None:
    found = _spreads([0, 2, 2], [0, 0, 1])
    assert found.share.tolist() == [1, 0, pytest.approx(1 / 2)]
    assert found.entropy.tolist() == [0, 0, pytest.approx(log(2))]


def test_of_no_row_nothing_is_counted() -> None:
    assert _spreads([], [], Spread(t=0.5)).distance.tolist() == []
