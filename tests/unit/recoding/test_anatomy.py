from __future__ import annotations

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
