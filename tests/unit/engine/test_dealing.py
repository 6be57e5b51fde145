"""Equal rows are dealt among their classes by chance, and nothing that is counted changes."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.engine.closing import dealt
from stream_anon.microdata.columns import Columns
from tests.support.tables import Table, tables

Counted = Counter[tuple[int, ...]]


def _counted(rows: Columns, clusters: np.ndarray) -> Counted:
    """Count codes and guarded values in each cluster."""
    columns = np.vstack([clusters[None], rows.codes, rows.sensitive])
    return Counter(tuple(int(value) for value in column) for column in columns.T)


@given(tables(), st.integers(0, 2**32))
def test_dealing_changes_what_a_class_is_made_of(table: Table, seed: int) -> None:
    rows, draws = table.rows, np.random.default_rng(seed)
    clusters = draws.integers(-1, 4, len(rows)).astype(np.int32)
    before = clusters.copy()
    after = dealt(clusters, rows, draws)
    assert (clusters == before).all()
    assert _counted(rows, after) == _counted(rows, before)
    records = np.bincount(rows.individuals, minlength=1)
    several = records[rows.individuals] > 1
    assert (after[several] == before[several]).all(), "somebody with several records may count twice in a class"


def test_equal_rows_stay_where_their_arrival_put_them() -> None:
    n = 200
    rows = Columns(np.zeros((2, n), np.int32), np.arange(n, dtype=np.int32), np.empty((0, n), np.int32))
    clusters = np.repeat(np.array([0, 1], np.int32), n // 2)
    first = dealt(clusters, rows, np.random.default_rng(1))[: n // 2]
    assert 20 < first.sum() < 80  # seeded; 50 is likely


def test_rows_that_differ_change_places() -> None:
    n = 200
    rows = Columns(np.arange(n, dtype=np.int32)[None], np.arange(n, dtype=np.int32), np.zeros((1, n), np.int32))
    clusters = np.random.default_rng(0).integers(0, 9, n).astype(np.int32)
    assert (dealt(clusters, rows, np.random.default_rng(1)) == clusters).all()
