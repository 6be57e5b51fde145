"""The kernels of late rows, each beside a few lines of plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.clustering.forest.arriving.late import cheapest_near, key_places
from stream_anon.clustering.forest.classes import boxes_of
from stream_anon.privacy.costs.cost import interval_cost
from tests.support.effort import examples
from tests.support.tables import Table, tables

_KEYS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=12)


@examples(50)
@given(standing=_KEYS, late=_KEYS)
def test_a_late_row_stands_where_its_key_belongs(
    standing: list[tuple[int, int]], late: list[tuple[int, int]]
) -> None:
    standing.sort()
    answer = np.empty(len(late), np.int64)
    key_places(_columns(standing), _columns(late), answer)
    assert answer.tolist() == [sum(other <= key for other in standing) for key in late]


def _columns(keys: list[tuple[int, int]]) -> np.ndarray:
    return np.array(keys, np.int64).reshape(len(keys), 2).T.copy()


def _classes(table: Table, data: st.DataObject) -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    """Return the rows of a table in a few classes."""
    n = len(table.rows)
    ends = sorted({*data.draw(st.lists(st.integers(1, n), max_size=4)), n})
    rows = np.array(data.draw(st.permutations(range(n))), np.int64)
    starts = [0, *ends[:-1]]
    return rows, np.array(ends, np.int64), [rows[a:b].tolist() for a, b in zip(starts, ends, strict=True)]


@examples(100)
@given(table=tables().filter(lambda table: len(table.rows) > 1), data=st.data())
def test_a_late_row_joins_the_cheapest_class_nearby(table: Table, data: st.DataObject) -> None:
    codes = np.ascontiguousarray(table.rows.codes.T)
    n = len(codes)
    rows, ends, classes = _classes(table, data)
    low, high = boxes_of(codes, rows, ends)
    owner = {row: c for c, members in enumerate(classes) for row in members}
    along = data.draw(st.permutations(range(n)))
    groups = np.array([owner[row] for row in along], np.int64)
    late = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=4)), np.int64)
    places = np.array([data.draw(st.integers(0, n)) for _ in late], np.int64)
    reach = data.draw(st.integers(1, 4))
    sizes = np.diff(ends, prepend=0) * data.draw(st.integers(0, 1))
    answer = np.empty(len(late), np.int64)
    cheapest_near(codes[late], places, groups, low, high, sizes, reach, table.model, answer)

    def growth(row: int, c: int) -> float:
        size = int(sizes[c])
        spans = [(int(low[c, j]), int(high[c, j]), int(codes[row, j])) for j in range(codes.shape[1])]
        wide = sum(interval_cost(table.model, j, min(a, x), max(b, x)) for j, (a, b, x) in enumerate(spans))
        own = sum(interval_cost(table.model, j, a, b) for j, (a, b, _) in enumerate(spans))
        return (size + 1) * wide - size * own

    for row, place, chosen in zip(late.tolist(), places.tolist(), answer.tolist(), strict=True):
        near = groups[max(0, place - reach) : place + reach].tolist()
        assert chosen in near
        assert growth(row, chosen) <= min(growth(row, c) for c in near) + 1e-6
