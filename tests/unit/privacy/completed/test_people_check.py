"""The gate of completed classes counts people, values and counterfeits as a few plain lines do."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.bounds import RecordBound
from stream_anon.privacy.completed.people_check import (
    CompletedRows,
    PeopleCounts,
    broken_completions,
    people_counts,
)

K = 4
VALUE = st.integers(-1, 2)
ROWS = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 30), VALUE, VALUE), max_size=60)


def _counts(records: list[int], people: list[int], values: list[int]) -> PeopleCounts:
    return PeopleCounts(*(np.array(own, np.int64) for own in (records, people)), np.array([values], np.int64))


def _broken(records: list[int], people: list[int], values: list[int], most: float = 0.1) -> list[bool]:
    found = broken_completions(_counts(records, people, values), K, np.array([2]), RecordBound(most))
    return [bool(one) for one in found]


@given(ROWS)
def test_counts_are_those_of_a_plain_recount(rows: list[tuple[int, int, int, int]]) -> None:
    classes = 4
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    found = people_counts(
        CompletedRows(columns[0].astype(np.int32), columns[1], columns[2:].astype(np.int32)), classes
    )
    for number in range(classes):
        own = [row[1:] for row in rows if row[0] == number]
        people = {row[0] for row in own if row[0] >= 0}
        values = [{row[place] for row in own if row[0] >= 0 and row[place] >= 0} for place in (1, 2)]
        counted = (found.records[number], found.individuals[number], *found.values[:, number].tolist())
        assert counted == (len(own), len(people), *map(len, values))


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12), st.integers(0, 3)), min_size=1, max_size=8),
    st.sampled_from([0.01, 0.05, 0.1, 0.29]),
)
def test_a_class_is_broken_exactly_where_its_promise_is(classes: list[tuple[int, int, int]], most: float) -> None:
    classes = [(records, min(people, records), values) for records, people, values in classes]
    records, people, values = (list(own) for own in zip(*classes, strict=True))
    made = [own - real for own, real in zip(records, people, strict=True)]
    too_many = sum(made) > Fraction(str(most)) * sum(records)
    expected = [
        (own < K if not extra else own + extra != K or 2 * own < K or too_many) or different < 2
        for own, extra, different in zip(people, made, values, strict=True)
    ]
    assert _broken(records, people, values, most) == expected


def test_each_bound_is_exact() -> None:
    enough, more = [100, 4], [100, 2]
    assert _broken(enough, more, [2, 2]) == [False, False]
    assert _broken([100, 4], [100, 1], [2, 2]) == [False, True]  # more counterfeits than people
    assert _broken([100, 5], [100, 3], [2, 2]) == [False, True]  # more records than k
    assert _broken([100, 5], [100, 4], [2, 2]) == [False, True]  # enough people have no need of them
    assert _broken([100, 3], [100, 3], [2, 2]) == [False, True]  # too few people and no counterfeit
    assert _broken(enough, more, [2, 1]) == [False, True]  # one value among the people
    assert _broken(enough, more, [1, 2]) == [True, False]
    assert _broken([96, 4], [96, 2], [2, 2], 0.02) == [False, False]
    assert _broken([95, 4], [95, 2], [2, 2], 0.02) == [False, True]  # 2 of 99 are above 2 %


def test_each_of_several_attributes_has_the_values_that_are_asked() -> None:
    counts = PeopleCounts(np.array([9, 9, 9]), np.array([9, 9, 9]), np.array([[2, 1, 2], [3, 3, 2]]))
    assert broken_completions(counts, K, np.array([2, 3]), RecordBound(0.1)).tolist() == [False, True, True]


def test_somebody_with_two_records_is_no_counterfeit_that_may_be() -> None:
    rows = CompletedRows(np.zeros(5, np.int32), np.array([0, 1, 2, 3, 3]), np.array([[0, 1, 0, 1, 0]], np.int32))
    counts = people_counts(rows, 1)
    assert broken_completions(counts, K, np.array([2]), RecordBound(0.5)).tolist() == [True]
