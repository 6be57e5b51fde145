from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.clustering.k_forest.checks import check_forest, check_trees, class_cost
from stream_anon.clustering.k_forest.decompose import decompose_all
from stream_anon.clustering.k_forest.growing import grow_forest
from stream_anon.clustering.k_forest.trees import Trees, most_rows, no_trees, trees_of_rows
from stream_anon.privacy.costs.model import CostModel
from tests.support.tables import Table, classes_of, tables
from tests.unit.clustering.k_forest.graphs import graph, graph_model, neighbours_in, neighbours_of


def _grown(weights: NDArray[np.float64], k: int) -> Trees:
    trees = no_trees(2 * len(weights))
    grow_forest(trees, neighbours_in(weights, k - 1), k)
    return trees


def _named(trees: Trees, rows: str) -> set[str]:
    """The trees as sorted words."""
    return {"".join(sorted(rows[i] for i in tree)) for tree in classes_of(trees_of_rows(trees).tolist())}


def test_the_forest_is_that_of_the_vectors() -> None:
    """Vector 4."""
    edges = {"cb": 2, "be": 2, "df": 3, "fa": 2, "ab": 3, "ac": 3, "ad": 4, "ae": 2}
    weights = graph("cbedfa", {**edges, "bd": 4, "bf": 5, "cd": 4, "ce": 4, "cf": 5, "de": 4, "ef": 4})
    assert _named(_grown(weights, 3), "cbedfa") == {"bce", "adf"}
    pairs = graph("1234", {"12": 2, "13": 4, "14": 3, "23": 3, "24": 2, "34": 1})
    assert _named(_grown(pairs, 2), "1234") == {"12", "34"}


def oracle_forest(weights: NDArray[np.float64], k: int) -> dict[int, int]:
    """FOREST in a few lines: each row's edge. A tree is known by its sink."""
    n = len(weights)
    edges: dict[int, int] = {}

    def sink(row: int) -> int:
        while row in edges:
            row = edges[row]
        return row

    names = list(range(n))  # the tree's number: that of the tree that was joined
    while True:
        joined = False
        for number in range(n):
            mine = [row for row in range(n) if names[row] == number]
            outside = [row for row in range(n) if names[row] != number]
            if mine and outside and len(mine) < k:
                end = sink(mine[0])
                edges[end] = min(outside, key=lambda row: (weights[end, row], row))
                for row in mine:
                    names[row] = names[edges[end]]
                joined = True
        if not joined:
            return edges


_WEIGHTS = st.integers(2, 12).flatmap(
    lambda n: st.lists(st.integers(0, 5), min_size=n * n, max_size=n * n).map(
        lambda numbers: np.triu(np.array(numbers, float).reshape(n, n), 1)
    )
)


@given(half=_WEIGHTS, k=st.integers(1, 6))
def test_the_kernel_leads_the_edges_of_the_plain_algorithm(half: NDArray[np.float64], k: int) -> None:
    weights = half + half.T
    trees = _grown(weights, k)
    used = int(trees.used[0])
    edges = {row: int(trees.parent[row]) for row in range(used) if trees.parent[row] >= 0}
    assert edges == oracle_forest(weights, k)
    assert all(trees.weight[row] == weights[row, mate] for row, mate in edges.items())


@given(table=tables())
def test_the_forest_weighs_no_more_than_its_rows_must_lose(table: Table) -> None:
    codes = np.ascontiguousarray(table.rows.codes.T)
    k = table.criteria.k
    neighbours = neighbours_of(codes, table.model, k - 1)
    trees = no_trees(2 * len(codes))
    grow_forest(trees, neighbours, k)
    check_forest(trees, neighbours.weights, k)
    if len(codes) >= k:
        assert (trees.weight[: len(codes)] <= neighbours.weights[:, k - 2]).all()  # edge by edge
    check_trees(trees, codes, table.model, k, len(codes))
    decompose_all(trees, k, 2 * k - 1)
    check_trees(trees, codes, table.model, k, most_rows(k))


def _groupings(rows: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """All ways to put rows into classes of k to 2k - 1: larger ones could be split at no loss."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for chosen in range(2 ** len(rest)):
        group = [first, *(row for i, row in enumerate(rest) if chosen >> i & 1)]
        if k <= len(group) < 2 * k:
            others = [row for row in rest if row not in group]
            yield from ([group, *more] for more in _groupings(others, k))


def _loss(codes: NDArray[np.int32], groups: Sequence[Sequence[int]], model: CostModel) -> float:
    return sum(len(group) * class_cost(codes[list(group)], model) for group in groups)


@given(table=tables().filter(lambda table: table.criteria.k <= len(table.rows) <= 8))
def test_the_loss_stays_within_its_bound_over_the_optimum(table: Table) -> None:
    codes, k = np.ascontiguousarray(table.rows.codes.T), table.criteria.k
    optimum = min(_loss(codes, groups, table.model) for groups in _groupings(range(len(codes)), k))
    trees = no_trees(2 * len(codes))
    grow_forest(trees, neighbours_of(codes, table.model, k - 1), k)
    assert trees.weight[: trees.used[0]].sum() <= optimum + 1e-5
    decompose_all(trees, k, 2 * k - 1)
    groups = [sorted(members) for members in classes_of(trees_of_rows(trees).tolist())]
    assert optimum - 1e-5 <= _loss(codes, groups, table.model) <= most_rows(k) * optimum + 1e-5


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_rows_than_k_are_one_tree(n: int) -> None:
    trees = _grown(np.zeros((n, n)), 3)
    assert len(classes_of(trees_of_rows(trees).tolist())) == min(n, 1)
    assert graph_model(np.zeros((n, n))).domain[0] == n
