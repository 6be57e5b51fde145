from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.clustering.k_forest.checks import check_neighbours
from stream_anon.clustering.k_forest.neighbours import (
    cost_graph,
    first_rows,
    meet,
    no_neighbours,
    those_kept,
    with_more_room,
)
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import interval_cost, level_model
from tests.support.tables import Table, tables
from tests.unit.clustering.k_forest.graphs import neighbours_of


def _weight(table: Table, one: int, two: int) -> float:
    """What it costs to publish two rows alike."""
    total = 0.0
    for j, column in enumerate(table.rows.codes):
        low, high = sorted((int(column[one]), int(column[two])))
        total += interval_cost(table.model, j, low, high)
    return total


def _nearest(table: Table, width: int) -> list[list[int]]:
    """For each row the others by weight, of equally near ones the first."""
    n = len(table.rows)
    others = ([other for other in range(n) if other != row] for row in range(n))
    return [sorted(them, key=lambda b, a=row: (_weight(table, a, b), b))[:width] for row, them in enumerate(others)]


@given(table=tables(), width=st.integers(1, 4), data=st.data())
def test_the_nearest_rows_are_listed(table: Table, width: int, data: st.DataObject) -> None:
    pieces = data.draw(st.lists(st.integers(0, len(table.rows)), max_size=3))
    neighbours = neighbours_of(table.rows.codes.T, table.model, width, pieces)
    check_neighbours(neighbours)
    mates = [[mate for mate in listed if mate >= 0] for listed in neighbours.mates.tolist()]
    assert mates == _nearest(table, width)
    for row, listed in enumerate(mates):
        assert neighbours.weights[row, : len(listed)].tolist() == [_weight(table, row, mate) for mate in listed]


@given(table=tables(), width=st.integers(1, 4), data=st.data())
def test_rows_that_left_are_not_listed(table: Table, width: int, data: st.DataObject) -> None:
    codes = np.ascontiguousarray(table.rows.codes.T)
    marks = data.draw(st.lists(st.booleans(), min_size=len(codes), max_size=len(codes)))
    kept = np.flatnonzero(np.array(marks, np.bool_))
    rest = those_kept(neighbours_of(codes, table.model, width), kept, table.model)
    fresh = neighbours_of(codes[kept], table.model, width)
    assert all(np.array_equal(one, two) for one, two in zip(rest, fresh, strict=True))


def test_room_for_more_rows_keeps_those_that_are_there() -> None:
    model = level_model([_NINE])
    codes = np.array([[0], [1], [8], [7], [0]], np.int32)
    neighbours = no_neighbours(3, 1, 2)
    neighbours.codes[:] = codes[:3]
    meet(neighbours, 0, 3, model)
    larger = with_more_room(neighbours, 9)
    larger.codes[3:5] = codes[3:]
    meet(larger, 3, 5, model)
    expected = neighbours_of(codes, model, 2)
    assert all(np.array_equal(one, two) for one, two in zip(first_rows(larger, 5), expected, strict=True))


_NINE = QuasiIdentifier("nine", NumericDomain(Decimal(1), Decimal(9), Decimal(1), 0))


def test_the_cost_graph_is_that_of_the_vectors() -> None:
    """Vectors 1 and 2: level cost over 1..9, split by halving."""
    one = level_model([_NINE])
    pairs = {(8, 8): 0.0, (1, 2): 0.5, (8, 9): 0.25, (1, 4): 0.75, (1, 5): 1.0}
    assert {pair: cost_graph(np.array(pair, np.int32)[:, None] - 1, one)[0, 1] for pair in pairs} == pairs
    four = level_model([QuasiIdentifier(name, _NINE.domain) for name in "abcd"])
    codes = np.array([(1, 1, 1, 1), (1, 1, 1, 2), (4, 5, 1, 1), (1, 3, 5, 7)], np.int32) - 1
    weights = cost_graph(codes, four)
    edges = {f"{a}{b}": weights[a, b] for a in range(4) for b in range(a + 1, 4)}
    assert edges == {"01": 0.5, "02": 1.75, "03": 2.75, "12": 2.25, "13": 2.75, "23": 3.75}
    assert np.array_equal(weights, weights.T)
    assert cost_graph(np.array([(1, 1, 1, 1), (4, 5, 1, 2)], np.int32) - 1, four)[0, 1] == pytest.approx(2.25)
