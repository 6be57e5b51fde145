"""The linear bound lies below every partition, and what is found above it is a partition."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.baselines.annealed import annealed
from benchmarks.baselines.best_known import best_known
from benchmarks.baselines.linear_bound import linear_bound, window_of
from benchmarks.optimum import KINDS, least_loss, window
from benchmarks.tables import Table
from stream_anon.privacy.costs.cost import cost_model

pytest.importorskip("highspy", reason="the linear bound needs the extra benchmarks")

ONE_RANGE = ("one number", "categories", "repeated rows", "8 x yes or no")


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", ONE_RANGE)
def test_the_bound_is_below_the_optimum_and_above_the_bound_by_nearest_others(kind: str, k: int) -> None:
    draws = np.random.default_rng(k)
    near = []
    for _ in range(10):
        table = window(kind, draws, int(draws.integers(2 * k, 11)))
        optimum = least_loss(np.ascontiguousarray(table.rows.codes.T), cost_model(table.attributes), k)
        _, rows = window_of(table, k)
        bound = linear_bound(rows, gap=1e-6)
        assert bound.least <= optimum + 1e-6
        assert bound.least >= rows.floor.sum() - 1e-6
        assert bound.program == pytest.approx(bound.least, rel=1e-5, abs=1e-6), "it was not solved to its end"
        near.append(bound.least >= 0.7 * optimum - 1e-6)
    assert sum(near) >= 7


@pytest.mark.parametrize("kind", ONE_RANGE)
def test_the_best_known_partition_is_one_and_loses_no_more_than_that_it_began_with(kind: str) -> None:
    k = 3
    table = window(kind, np.random.default_rng(1), 12)
    _, rows = window_of(table, k)
    optimum = least_loss(np.ascontiguousarray(table.rows.codes.T), cost_model(table.attributes), k)
    start = [np.arange(low, high) for low, high in pairwise((0, 3, 6, 12))]
    found = best_known(rows, start, seconds=1.0, at_once=3)
    assert sorted(np.concatenate(found).tolist()) == list(range(12))
    assert min(map(len, found)) >= k
    assert optimum - 1e-6 <= rows.loss(found) <= rows.loss(start) + 1e-9


@pytest.mark.parametrize("kind", ONE_RANGE)
def test_annealing_comes_near_the_optimum_and_never_loses_more_than_where_it_began(kind: str) -> None:
    k = 3
    table = window(kind, np.random.default_rng(1), 12)
    model = cost_model(table.attributes)
    codes = np.ascontiguousarray(table.rows.codes.T)
    order, rows = window_of(table, k)
    start = [np.arange(low, high) for low, high in pairwise((0, 3, 6, 12))]
    found = annealed(codes[order], start, k, model, seconds=0.0)
    assert sorted(np.concatenate(found).tolist()) == list(range(12))
    assert min(map(len, found)) >= k
    optimum = least_loss(codes, model, k)
    assert optimum - 1e-6 <= rows.loss(found) <= min(rows.loss(start), 1.05 * optimum) + 1e-6


def test_two_tight_ranges_and_people_with_several_rows_are_refused() -> None:
    draws = np.random.default_rng(0)
    with pytest.raises(ValueError, match="at most one attribute"):
        window_of(window("two numbers", draws, 8), 2)
    table = window("categories", draws, 8)
    rows = table.rows
    shared = type(rows)(rows.codes, np.zeros(8, np.int32), rows.sensitive)
    with pytest.raises(ValueError, match="one row"):
        window_of(Table(table.name, table.attributes, shared), 2)


def test_loss_of_classes_is_that_of_the_cost_model() -> None:
    table = window("categories", np.random.default_rng(3), 9)
    order, rows = window_of(table, 3)
    codes, model = np.ascontiguousarray(table.rows.codes.T), cost_model(table.attributes)
    assert KINDS.keys() >= set(ONE_RANGE)
    whole = rows.loss([np.arange(9)])
    assert whole == pytest.approx(least_loss(codes[order], model, 9))
