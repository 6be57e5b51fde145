from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.clustering.held_values import matched_values
from stream_anon.clustering.legality import is_legal, may_part
from stream_anon.clustering.rules import rules_of
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.criteria import Criteria, Spread
from tests.support import tables
from tests.support.tables import Table, diverse_values


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 5)), min_size=1, max_size=12), st.integers(1, 6))
def test_values_are_counted_for_different_people(pairs: list[tuple[int, int]], enough: int) -> None:
    people, values = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    marks = np.zeros((2, 6), np.int32)
    found = matched_values(np.arange(len(pairs)), people, values, enough, marks)
    assert not marks.any()
    assert min(found, enough) == min(diverse_values(pairs), enough)


@given(table=tables.tables(), data=st.data())
def test_the_kernel_calls_the_classes_legal_that_a_count_by_hand_does(table: Table, data: st.DataObject) -> None:
    rows = list(range(len(table.rows)))
    if not rows:
        return
    rules = rules_of(table.rows, table.criteria)
    for _ in range(3):
        members = sorted(data.draw(st.sets(st.sampled_from(rows), min_size=1)))
        assert is_legal(np.array(members), rules) == tables.is_legal(table.rows, members, table.criteria)
        assert not rules.marks[:2].any()


@given(table=tables.tables(), data=st.data())
def test_rows_that_could_be_two_legal_classes_may_be_cut(table: Table, data: st.DataObject) -> None:
    if not len(table.rows):
        return
    chosen = st.sets(st.integers(0, len(table.rows) - 1), min_size=1, max_size=8)
    members = sorted(data.draw(chosen))
    rules = rules_of(table.rows, table.criteria)
    may = may_part(np.array(members), rules)
    for side in range(1, 2 ** len(members) - 1):
        parts = ([m for i, m in enumerate(members) if side >> i & 1 == way] for way in (0, 1))
        if all(tables.is_legal(table.rows, part, table.criteria) for part in parts):
            assert may
            break


def test_a_value_that_many_hold_counts_once_for_each_class() -> None:
    values = np.array([[0, 0, 0, 0, 1, -1, -1, 2]], np.int32)
    rows = Columns(np.zeros((1, 8), np.int32), np.arange(8, dtype=np.int32), values)
    rules = rules_of(rows, Criteria(1, 1.0, np.array([2])))
    for members, may in (([0, 1, 2, 3], False), ([0, 1, 2, 4], False), ([0, 1, 4, 7], True), ([0, 4, 5, 6], False)):
        assert may_part(np.array(members), rules) is may


def test_one_person_with_many_values_does_not_make_a_class_diverse() -> None:
    people, values = np.array([0, 0, 1, 2], np.int32), np.array([[0, 1, 2, 2]], np.int32)
    rows = Columns(np.zeros((1, 4), np.int32), people, values)
    for least, legal in ((2, True), (3, False)):
        rules = rules_of(rows, Criteria(2, 0.5, np.array([least])))
        assert is_legal(np.arange(4), rules) is legal


@pytest.mark.parametrize("asked", [Spread(t=0.2), Spread(delta=0.5), Spread(beta=0.6)])
def test_a_class_in_which_nobody_comes_twice_is_compared_with_all_pairs_too(
    asked: Spread,
) -> None:
    """Person 0 comes four times: 5/8 of the records show value 0, and 2/5 of the pairs."""
    people, values = np.array([0, 0, 0, 0, 1, 2, 3, 4], np.int32), np.array([[0, 0, 0, 0, 1, 1, 0, 1]], np.int32)
    rows = Columns(np.zeros((1, 8), np.int32), people, values)
    criteria = Criteria(2, 0.5, np.array([0]), (asked,))
    members = [3, 5, 6]  # 2/3 show value 0: near to the records, far from the pairs
    assert not tables.is_legal(rows, members, criteria)
    assert not is_legal(np.array(members), rules_of(rows, criteria))
