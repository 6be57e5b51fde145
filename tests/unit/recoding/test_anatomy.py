from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import Refused
from stream_anon.recoding.anatomy import anatomized, is_anatomized
from tests.support.effort import examples


@examples(200)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(2, 5), st.integers(0, 99))
def test_groups_hold_l_rows_of_different_values_wherever_that_is_possible(
    column: list[int],
    least: int,
    seed: int,
) -> None:
    values = np.array(column, np.int64)
    if np.bincount(values).max() * least > len(values):
        with pytest.raises(Refused, match="more than 1/" if len(values) >= least else "with"):
            anatomized(values, least, np.random.default_rng(seed))
        return
    groups = anatomized(values, least, np.random.default_rng(seed))
    assert is_anatomized(groups, values, least)
    for group in range(int(groups.max()) + 1):
        inside = values[groups == group]
        assert least <= len(inside) < 2 * least
        assert len(set(inside.tolist())) == len(inside)
    assert np.array_equal(groups, anatomized(values, least, np.random.default_rng(seed)))


def test_a_group_that_shows_a_value_too_often_is_found() -> None:
    values = np.array([0, 1, 0, 1])
    assert is_anatomized(np.array([0, 0, 1, 1]), values, 2)
    assert not is_anatomized(np.array([0, 1, 0, 1]), values, 2)
    assert not is_anatomized(np.array([0, 0, 0, 1]), values, 2)


def test_who_knows_the_order_of_the_rows_learns_no_more_than_the_groups_tell() -> None:
    """Every order of the rows is as likely; the attacker knows which row is whose, and looks at the first."""
    seen: Counter[tuple[tuple[int, ...], ...]] = Counter()
    hers: Counter[tuple[tuple[int, ...], ...]] = Counter()
    draws = np.random.default_rng(0)
    for order in sorted(set(permutations((0, 0, 1, 2, 3)))) * 40:
        numbers: dict[int, int] = {}
        values = np.array([numbers.setdefault(value, len(numbers)) for value in order])  # as they first appear
        groups = anatomized(values, 2, draws)
        tables = [tuple(sorted(np.array(order)[groups == own].tolist())) for own in (groups[0], 1 - groups[0])]
        seen[tuple(tables)] += 1
        hers[tuple(tables)] += order[0] == 3
    told = ((0, 3), (0, 1, 2))
    assert seen[told] > 150
    assert hers[told] / seen[told] == pytest.approx(1 / 2, abs=0.12)
