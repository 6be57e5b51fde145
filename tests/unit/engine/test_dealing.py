"""Equal rows change places by chance, and nobody else."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.engine.dealing import dealt
from tests.support.tables import Table, tables


@given(tables(), st.integers(0, 2**32))
def test_a_row_is_lost_or_takes_the_place_of_another_kind(table: Table, seed: int) -> None:
    codes = table.rows.codes
    before = codes.copy()
    order = dealt(codes, np.random.default_rng(seed))
    assert (codes == before).all()
    assert (codes[:, order] == codes).all()
    assert sorted(order.tolist()) == list(range(len(table.rows)))


def test_equal_rows_stay_where_their_arrival_put_them() -> None:
    n = 200
    first = dealt(np.zeros((2, n), np.int32), np.random.default_rng(1))[: n // 2]
    assert 20 < (first < n // 2).sum() < 80  # seeded; 50 is likely


def test_rows_that_differ_change_places() -> None:
    n = 200
    order = dealt(np.arange(n, dtype=np.int32)[None], np.random.default_rng(1))
    assert order.tolist() == list(range(n))
