from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.clustering.cell_partitioner import one_cell
from stream_anon.clustering.family_partitioner import FamilyPartitioner
from stream_anon.clustering.partitioning import TOO_HIGH, UNPLACED
from stream_anon.clustering.rules import Rules
from stream_anon.microdata.columns import NO_VALUE, Columns
from stream_anon.privacy.criteria import Criteria
from stream_anon.privacy.gate import recount

FAMILY_OF = np.array([0, 0, 1, 1, 1, NO_VALUE], np.int32)
SIZES = np.array([2, 3])
ASKED = Criteria(3, 1.0, np.array([2]), families=(SIZES,))


def _rows(values: list[int], codes: list[int] | None = None) -> Columns:
    n = len(values)
    own = np.array([codes or [0] * n], np.int32)
    return Columns(own, np.arange(n, dtype=np.int32), np.array([values], np.int32), families=(FAMILY_OF,))


def _close(rows: Columns, partitioner: FamilyPartitioner, asked: Criteria = ASKED) -> list[int]:
    partitioner.add(rows)
    partitioner.check_invariants()
    return partitioner.close(rows, asked).tolist()


class Runs:
    """Makes classes of so many rows one after the other, and notes what it was asked."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.looked: list[int] = []
        self.asked: list[int] = []

    def look_at(self, rows: Columns, rules: Rules) -> None:
        self.looked.append(len(rows))

    def partition(self, rows: Columns, rules: Rules) -> NDArray[np.int32]:
        self.asked.append(int(rules.asked[0, 0]))
        return (np.arange(len(rows)) // self._size).astype(np.int32)


def test_each_class_is_of_one_family_and_numbered_without_gaps() -> None:
    values = [0, 2, 1, 3, 0, 4, 1, 2, 3, 0, 1, 4]
    inside = Runs(3)
    classes = _close(_rows(values), FamilyPartitioner(one_cell, inside))
    assert classes == [0, 2, 0, 2, 0, 2, 1, 3, 3, 1, 1, 3]
    assert inside.asked == [2, 3]
    assert inside.looked == [12], "it learns from all rows, once"


def test_a_family_of_which_a_value_is_missing_has_no_place() -> None:
    assert _close(_rows([0, 1, 0, 2, 3, 2, 3]), FamilyPartitioner(one_cell)) == [0, 0, 0, *[UNPLACED] * 4]


def test_a_family_of_fewer_than_k_people_has_no_place() -> None:
    assert _close(_rows([0, 1, 2, 3, 4]), FamilyPartitioner(one_cell)) == [UNPLACED, UNPLACED, 0, 0, 0]


def test_what_is_in_no_family_has_no_place() -> None:
    assert _close(_rows([0, 5, 1, NO_VALUE, 0]), FamilyPartitioner(one_cell)) == [0, UNPLACED, 0, UNPLACED, 0]


def test_a_family_that_is_whole_in_no_cell_lies_too_high() -> None:
    rows = _rows([0, 0, 0, 1, 1, 1, 2, 3, 4], [0, 0, 0, 1, 1, 1, 0, 0, 0])
    by_code = FamilyPartitioner(lambda codes: codes[0].astype(np.int64))
    assert _close(rows, by_code) == [*[TOO_HIGH] * 6, 0, 0, 0]


def test_an_empty_window_has_no_class() -> None:
    assert _close(_rows([]), FamilyPartitioner(one_cell, Runs(3))) == []


def test_other_rows_than_those_that_came_are_refused() -> None:
    with pytest.raises(ValueError, match="rows"):
        FamilyPartitioner(one_cell).close(_rows([0]), ASKED)


def test_rows_without_families_are_refused() -> None:
    rows = replace(_rows([0, 1, 0]), families=(None,))
    with pytest.raises(ValueError, match="families"):
        _close(rows, FamilyPartitioner(one_cell))


def test_of_two_attributes_each_keeps_its_families_whole() -> None:
    n = 48
    draws = np.random.default_rng(0)
    values = np.array([np.arange(n) % 5, draws.permutation(np.arange(n) % 4)], np.int32)
    second = np.array([0, 0, 1, 1], np.int32)
    rows = Columns(np.zeros((1, n), np.int32), np.arange(n, dtype=np.int32), values, (), (FAMILY_OF, second))
    asked = Criteria(3, 1.0, np.array([2, 2]), families=(SIZES, np.array([2, 2])))
    classes = np.array(_close(rows, FamilyPartitioner(one_cell), asked))
    placed = np.flatnonzero(classes >= 0)
    assert len(placed) == n
    assert len(set(classes.tolist())) == 4
    counts = recount(classes.astype(np.int64), 4, rows, asked)
    assert counts.whole is not None
    assert counts.whole.all()


def test_what_is_in_no_family_of_one_of_two_attributes_has_no_place() -> None:
    """Nor where it has as many values as a family would."""
    values = np.array([[0, 1, 0, 1, 2, 3, 4, 0], [0, 1, 1, 0, 0, 1, 1, NO_VALUE]], np.int32)
    first, second = np.array([0, 0, *[NO_VALUE] * 3], np.int32), np.array([0, 0], np.int32)
    rows = Columns(np.zeros((1, 8), np.int32), np.arange(8, dtype=np.int32), values, (), (first, second))
    asked = Criteria(2, 1.0, np.array([2, 2]), families=(np.array([2]), np.array([2])))
    assert _close(rows, FamilyPartitioner(one_cell), asked) == [0, 0, 0, 0, *[UNPLACED] * 4]


def test_each_of_two_attributes_asks_for_the_size_of_its_own_family() -> None:
    values = np.array([[0, 1, 0, 1, 0, 1], [2, 3, 2, 3, 2, 3]], np.int32)
    rows = Columns(np.zeros((1, 6), np.int32), np.arange(6, dtype=np.int32), values, (), (FAMILY_OF, FAMILY_OF))
    asked = Criteria(2, 1.0, np.array([2, 2]), families=(SIZES, SIZES))
    assert _close(rows, FamilyPartitioner(one_cell), asked) == [UNPLACED] * 6, "one of three values is missing"


def test_another_attribute_may_have_no_families_to_keep() -> None:
    values = np.array([[NO_VALUE, 0, 1, 0], [0, 1, 1, 0]], np.int32)
    second = np.array([0, 0], np.int32)
    rows = Columns(np.zeros((1, 4), np.int32), np.arange(4, dtype=np.int32), values, (), (None, second))
    asked = Criteria(2, 1.0, np.array([2, 2]), families=(None, np.array([2])))
    assert _close(rows, FamilyPartitioner(one_cell), asked) == [0] * 4


def test_records_of_one_person_are_no_two_people() -> None:
    rows = replace(_rows([0, 1, 0, 2, 3, 4, 2]), individuals=np.array([9, 9, 9, 1, 2, 3, 4], np.int32))
    assert _close(rows, FamilyPartitioner(one_cell)) == [*[UNPLACED] * 3, 0, 0, 0, 0]
    three = replace(_rows([0, 1, 0, 2, 3, 4, 2]), individuals=np.array([9, 8, 7, 1, 2, 3, 4], np.int32))
    assert _close(three, FamilyPartitioner(one_cell)) == [0, 0, 0, 1, 1, 1, 1]
