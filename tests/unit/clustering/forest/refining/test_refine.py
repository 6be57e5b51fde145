"""What REFINE and CUT make of classes that stand side by side, against plain Python."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.clustering.forest.refining.refine import (
    cut_anew,
    face_neighbours,
    refined,
    refined_anew,
    side_by_side,
)
from stream_anon.clustering.forest.refining.resplit import resplit_pass
from stream_anon.clustering.rules import rules_of, sizes_alone
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import cost_model, interval_cost
from stream_anon.privacy.costs.model import CostModel
from tests.support.tables import Table, is_legal, tables

K = 3
NUMBER = NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0, tight=True)


def parts(rows: NDArray[np.int64], ends: NDArray[np.int64]) -> list[list[int]]:
    return [part.tolist() for part in np.split(rows, ends[:-1])]


def loss(codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int64], model: CostModel) -> float:
    total = 0.0
    for part in np.split(rows, ends[:-1]):
        box = codes[part].min(0).tolist(), codes[part].max(0).tolist()
        total += len(part) * sum(interval_cost(model, j, *edge) for j, edge in enumerate(zip(*box, strict=True)))
    return total


def drawn(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return classes of K to 2 K - 1 rows, and a line."""
    draws = np.random.default_rng(seed)
    count = n // K
    sizes = np.full(count, n // count)
    sizes[: n % count] += 1
    return draws.permutation(n), np.cumsum(sizes), draws.permutation(n)


@given(st.integers(2 * K, 40), st.integers(0, 99))
def test_a_class_stands_where_its_median_row_stands(n: int, seed: int) -> None:
    rows, ends, along = drawn(n, seed)
    place = {row: p for p, row in enumerate(along.tolist())}
    expected = [sorted(part, key=place.__getitem__) for part in parts(rows, ends)]
    expected.sort(key=lambda part: place[part[len(part) // 2]])
    assert parts(*side_by_side(rows, ends, along)) == expected


@given(tables(), st.integers(0, 99))
def test_cutting_anew_and_refining_lose_no_more_and_leave_k_rows_in_each_class(table: Table, seed: int) -> None:
    codes = np.ascontiguousarray(table.rows.codes.T)
    n = len(codes)
    if n < 2 * K:
        return
    model = table.model
    rows, ends, along = drawn(n, seed)
    kept = rows.copy(), ends.copy()
    for classes in (
        cut_anew(codes, (rows, ends), model, K),
        refined_anew(codes, (rows, ends), model, sizes_alone(K)),
        refined(codes, (rows, ends), (along, rows), model, sizes_alone(K)),
        refined(codes, (rows, ends), (along, rows), model, sizes_alone(K), hurried=True),
    ):
        assert sorted(classes[0].tolist()) == list(range(n))
        assert min(map(len, parts(*classes))) >= K
        assert loss(codes, *classes, model) <= loss(codes, rows, ends, model) + 1e-9
    # What was prepared may be asked for again.
    assert (rows == kept[0]).all()
    assert (ends == kept[1]).all()


def test_rows_to_spare_in_all_classes_make_a_class_of_their_own() -> None:
    n = 4 * (K + 1)
    model = cost_model((QuasiIdentifier("a", NUMBER),))
    codes = np.arange(n, dtype=np.int32)[:, None]
    # Whatever the order of a class's rows was: each neighbour takes those that suit it.
    rows = np.random.default_rng(0).permuted(np.arange(n).reshape(4, K + 1), axis=1).ravel()
    rows, ends = cut_anew(codes, (rows, np.arange(K + 1, n + 1, K + 1)), model, K)
    assert len(ends) == 5
    assert loss(codes, rows, ends, model) <= loss(codes, np.arange(n), ends, model)


@given(tables(), st.integers(0, 99))
def test_rows_stand_by_how_much_cheaper_they_join_the_class_before_than_the_next(table: Table, seed: int) -> None:
    codes, model = np.ascontiguousarray(table.rows.codes.T), table.model
    if len(codes) < 2 * K:
        return
    rows, ends, _ = drawn(len(codes), seed)
    before = parts(rows, ends)

    def joined(c: int, row: int) -> float:
        if not 0 <= c < len(before):
            return 0.0
        both = codes[[*before[c], row]]
        edges = zip(both.min(0).tolist(), both.max(0).tolist(), strict=True)
        return sum(interval_cost(model, j, *edge) for j, edge in enumerate(edges))

    face_neighbours(codes, rows, ends, model)
    for c, members in enumerate(parts(rows, ends)):
        assert sorted(members) == sorted(before[c])
        lean = [joined(c - 1, row) - joined(c + 1, row) for row in members]
        assert np.all(np.diff(lean) >= -1e-6)


@given(tables(), st.integers(0, 99))
def test_the_cheapest_legal_cut_is_found_behind_cheaper_illegal_ones(table: Table, seed: int) -> None:
    codes, model = np.ascontiguousarray(table.rows.codes.T), table.model
    n, k = len(codes), table.criteria.k
    rows = np.random.default_rng(seed).permutation(n)
    ends = np.array([n // 2, n])
    if n < 2 * k:
        return
    old = loss(codes, rows, ends, model)
    low, high = (np.array([f(codes[part], axis=0) for part in np.split(rows, ends[:1])]) for f in (np.min, np.max))
    apart = ((low[0] > high[1]) | (low[1] > high[0])).any()
    best, refused = old, 0
    for cost, order, cut in sorted(
        (loss(codes, order, np.array([cut, n]), model), order.tolist(), cut)
        for order in (rows[np.argsort(codes[rows, j], kind="stable")] for j in range(codes.shape[1]))
        for cut in range(k, n - k + 1)
    ):
        if cost >= old - 1e-6 or apart or loss(codes, rows, ends[1:], model) > 2 * old:
            break
        if all(is_legal(table.rows, part, table.criteria) for part in (order[:cut], order[cut:])):
            best = cost
            break
        refused += 1
    resplit_pass(codes, rows, ends, model, rules_of(table.rows, table.criteria))
    assert sorted(rows.tolist()) == list(range(n))
    if refused < 40:
        assert np.isclose(loss(codes, rows, ends, model), best, atol=1e-4)
