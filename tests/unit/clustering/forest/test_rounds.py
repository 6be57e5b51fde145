"""What further rounds make of classes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks.tables import made_up
from stream_anon.clustering.forest.classes import sizes_of
from stream_anon.clustering.forest.rounds import laid_out, refined_in_rounds
from stream_anon.clustering.rules import sizes_alone
from stream_anon.privacy.costs.cost import cost_model
from tests.support.effort import examples
from tests.support.tables import Table, tables
from tests.unit.clustering.forest.refining.test_refine import K, drawn, loss, parts

RULES = sizes_alone(K)


@examples(60)
@given(tables(), st.integers(0, 99), st.integers(1, 3))
def test_no_round_loses_more_or_leaves_a_class_with_fewer_than_k_rows(table: Table, seed: int, rounds: int) -> None:
    codes = np.ascontiguousarray(table.rows.codes.T)
    n = len(codes)
    if n < K:
        return
    rows, ends, along = drawn(n, seed)
    kept, shared = (rows.copy(), ends.copy()), RULES.notes.tolist()
    losses = [loss(codes, rows, ends, table.model)]
    for more in range(1, rounds + 1):
        classes = refined_in_rounds(codes, (rows, ends), (along, rows), table.model, RULES, more)
        assert sorted(classes[0].tolist()) == list(range(n))
        assert sizes_of(classes[1]).min() >= K
        losses.append(loss(codes, *classes, table.model))
    assert np.all(np.diff(losses) <= 1e-9)
    # What was prepared may be asked for again, and the rules are those of other windows too.
    assert (rows == kept[0]).all()
    assert (ends == kept[1]).all()
    assert RULES.notes.tolist() == shared


@pytest.mark.parametrize("n", [1, 2, 4])
def test_fewer_than_k_rows_stay_one_class(n: int) -> None:
    table = made_up(n, 6)
    codes, rows = np.ascontiguousarray(table.rows.codes.T), np.arange(n)
    model = cost_model(table.attributes)
    classes = refined_in_rounds(codes, (rows, np.array([n])), (rows, rows), model, sizes_alone(5), 3)
    assert sorted(classes[0].tolist()) == rows.tolist()
    assert classes[1].tolist() == [n]


def _cut_by_arrival(codes: NDArray[np.int32], k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    n = len(codes)
    return np.arange(n), np.append(np.arange(k, n - k + 1, k), n)


def test_further_rounds_lose_clearly_less() -> None:
    table = made_up(600, 6)
    model = cost_model(table.attributes)
    codes = np.ascontiguousarray(table.rows.codes.T)
    along = np.lexsort(codes.T)
    classes = along, _cut_by_arrival(codes, 5)[1]
    lost = [
        loss(codes, *refined_in_rounds(codes, classes, (along, along), model, sizes_alone(5), rounds), model)
        for rounds in (1, 2, 3)
    ]
    assert lost[1] < 0.98 * lost[0]
    assert lost[2] < lost[1]


@given(tables(), st.integers(0, 99))
def test_classes_are_laid_out_whole(table: Table, seed: int) -> None:
    codes = np.ascontiguousarray(table.rows.codes.T)
    if len(codes) < K:
        return
    rows, ends, _ = drawn(len(codes), seed)
    assert sorted(parts(*laid_out(codes, (rows, ends), table.model))) == sorted(parts(rows, ends))


def test_classes_that_are_alike_stand_together() -> None:
    table = made_up(400, 6)
    model = cost_model(table.attributes)
    codes = np.ascontiguousarray(table.rows.codes.T)
    # Rows of one kind after the other, in classes of one kind, and these in any order.
    order = np.argsort(table.rows.sensitive[0], kind="stable")
    kinds = table.rows.sensitive[0][order]
    ends = np.flatnonzero(np.diff(kinds, append=-1)) + 1
    halves = np.sort(np.concatenate([ends, (ends + np.append(0, ends[:-1])) // 2]))
    draws = np.random.default_rng(0)
    mixed = [parts(order, halves)[c] for c in draws.permutation(len(halves))]
    rows, ends = laid_out(codes, (np.concatenate(mixed), np.cumsum([len(part) for part in mixed])), model)
    along = [int(table.rows.sensitive[0][part[0]]) for part in parts(rows, ends)]
    together = sum(a == b for a, b in pairwise(along))
    assert together >= 6  # of eight kinds, two classes each; by chance it would be one
