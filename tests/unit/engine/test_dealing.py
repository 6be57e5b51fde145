"""Equal rows change places by chance, and nobody else."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.engine.dealing import dealt
from tests.support.tables import Table, tables


@given(tables(), st.integers(0, 2**32))
def test_every_row_keeps_a_place_of_its_own_kind(table: Table, seed: int) -> None:
    codes = table.rows.codes
    before = codes.copy()
    order = dealt(codes, np.random.default_rng(seed))
    assert (codes == before).all()
    assert (codes[:, order] == codes).all()
    assert sorted(order.tolist()) == list(range(len(table.rows)))


def test_equal_rows_change_places_by_chance() -> None:
    n = 200
    first = dealt(np.zeros((2, n), np.int32), np.random.default_rng(1))[: n // 2]
    assert 20 < (first < n // 2).sum() < 80  # seeded; 50 is likely


def test_rows_that_differ_keep_their_places() -> None:
    n = 200
    order = dealt(np.arange(n, dtype=np.int32)[None], np.random.default_rng(1))
    assert order.tolist() == list(range(n))


def test_rows_that_differ_in_one_column_keep_their_places() -> None:
    """Every tuple of twenty codes in three columns, once: nobody has an equal to change places with."""
    grid = np.indices((20, 20, 20)).reshape(3, -1).astype(np.int32)
    for seed in range(2):
        assert (dealt(grid, np.random.default_rng(seed)) == np.arange(grid.shape[1])).all()


def test_equal_rows_are_dealt_anew_for_each_window() -> None:
    codes = np.tile(np.arange(3, dtype=np.int32), 40)[None]
    draws = np.random.default_rng(5)
    first, second = dealt(codes, draws), dealt(codes, draws)
    assert (first != second).any()
    assert (codes[:, first] == codes).all()
    # Each kind's rows change places, also the one whose row came first.
    for kind in range(3):
        own = first[codes[0] == kind]
        assert (own != np.arange(kind, 120, 3)).sum() > 20
