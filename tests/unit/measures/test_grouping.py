from __future__ import annotations

import numpy as np
import pytest

from stream_anon.measures.grouping import by_appearance, dense, firsts, grouped, people


@pytest.mark.parametrize("span", [3, 1_000_000])
@pytest.mark.parametrize("seed", range(3))
def test_equal_rows_and_no_others_are_one_group(seed: int, span: int) -> None:
    draws = np.random.default_rng(seed)
    columns = draws.integers(-2, 2, (3, 50)) * span
    groups, count = grouped(columns, 50)
    rows = list(map(tuple, columns.T.tolist()))
    assert [[a == b for b in rows] for a in rows] == [[a == b for b in groups] for a in groups]
    assert count == len(set(rows))
    assert firsts(groups, count).tolist() == [groups.tolist().index(group) for group in range(count)]


def test_numbers_follow_the_first_appearance_whatever_the_keys_are() -> None:
    assert by_appearance(np.array([5, 3, 5, 4]))[0].tolist() == [0, 1, 0, 2]
    assert by_appearance(np.array([-7, 9 * 10**12, -7, 0]))[0].tolist() == [0, 1, 0, 2]
    assert by_appearance(np.empty(0, np.int64))[1] == 0


def test_numbers_ascend_with_the_keys_whether_they_lie_close_or_far() -> None:
    assert dense(np.array([5, 3, 5, 4]))[0].tolist() == [2, 0, 2, 1]
    assert dense(np.array([5, -(10**12), 5, 4]))[0].tolist() == [2, 0, 2, 1]
    assert dense(np.empty(0, np.int64))[1] == 0
    assert grouped((), 3)[0].tolist() == [0, 0, 0]
    assert grouped((), 0)[1] == 0


def test_somebody_with_two_rows_in_a_group_counts_once() -> None:
    groups = np.array([0, 0, 0, 1, 1])
    assert people(groups, 2, None).tolist() == [3, 2]
    assert people(groups, 2, np.array([4, 4, 0, 4, 4])).tolist() == [2, 1]
