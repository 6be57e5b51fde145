from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.clustering.legality import is_legal, ledger_of
from stream_anon.clustering.matching import matched_values
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.criteria import Criteria
from tests.support import tables
from tests.support.tables import Table, diverse_values


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 5)), min_size=1, max_size=12), st.integers(1, 6))
def test_values_of_one_person_are_counted_for_several(pairs: list[tuple[int, int]], enough: int) -> None:
    people, values = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    marks = np.zeros((2, 6), np.int32)
    found = matched_values(np.arange(len(pairs)), people, values, enough, marks)
    assert not marks.any()
    assert min(found, enough) == min(diverse_values(pairs), enough)


@given(table=tables.tables(), data=st.data())
def test_the_kernel_calls_other_classes_legal_than_a_count_by_hand(table: Table, data: st.DataObject) -> None:
    rows = list(range(len(table.rows)))
    if not rows:
        return
    ledger = ledger_of(table.rows, table.criteria)
    for _ in range(3):
        members = sorted(data.draw(st.sets(st.sampled_from(rows), min_size=1)))
        assert is_legal(np.array(members), ledger) == tables.is_legal(table.rows, members, table.criteria)
        assert not ledger.marks[:2].any()


def test_one_person_with_many_values_makes_a_class_diverse() -> None:
    people, values = np.array([0, 0, 1, 2], np.int32), np.array([[0, 1, 2, 2]], np.int32)
    rows = Columns(np.zeros((1, 4), np.int32), people, values)
    for least, legal in ((2, True), (3, False)):
        ledger = ledger_of(rows, Criteria(2, 0.5, np.array([least])))
        assert is_legal(np.arange(4), ledger) is legal
