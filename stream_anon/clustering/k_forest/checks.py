"""What must hold for trees at any time, and for a forest by the theorem of Aggarwal et al. (2005)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.k_forest.neighbours import Neighbours
from stream_anon.clustering.k_forest.trees import NOTHING, Trees
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel

_ROUNDING = 1e-4  # cost tables hold single precision, and a tree has many edges


def check_trees(trees: Trees, codes: NDArray[np.int32], model: CostModel, k: int, most: int) -> None:
    """Raise AssertionError if the trees over rows of codes int32[n, q] are broken.

    `most` is the number of rows that no tree may exceed.
    """
    vertices = np.flatnonzero(trees.tree[: trees.used[0]] != NOTHING)
    tree, parent, real = trees.tree[vertices], trees.parent[vertices], trees.real[vertices]
    # Every row is real exactly once; copies are copies of a row.
    assert np.array_equal(np.sort(trees.row[vertices[real]]), np.arange(len(codes)))  # noqa: S101
    # Edges stay inside a tree, and each tree has one vertex without: its root.
    inner = parent != NOTHING
    assert (trees.tree[parent[inner]] == tree[inner]).all()  # noqa: S101
    assert (trees.root[tree[~inner]] == vertices[~inner]).all()  # noqa: S101
    assert len(np.unique(tree)) == (~inner).sum()  # noqa: S101
    # From every vertex the edges lead to the root: no circle.
    place = vertices
    for _ in range(len(vertices)):
        place = place[trees.parent[place] != NOTHING]
        place = trees.parent[place]
    assert not len(place)  # noqa: S101
    # A copy holds at least two edges together.
    edges = np.bincount(parent[inner], minlength=trees.used[0])[vertices] + inner
    assert (edges[~real] >= 2).all()  # noqa: S101
    for number in np.unique(tree):
        mine = vertices[tree == number]
        rows = trees.row[mine[trees.real[mine]]]
        # Copies count 0; a tree has k real rows, unless all rows are one tree, and never more than the bound.
        assert trees.rows[number] == len(rows)  # noqa: S101
        assert len(rows) >= min(k, len(codes))  # noqa: S101
        assert len(rows) <= most  # noqa: S101
        # What the class costs each of its rows is bounded by its edges.
        cost = class_cost(codes[rows], model)
        alone = class_cost(codes[rows[:1]], model)
        assert cost <= max(trees.weight[mine].sum(), alone) * (1 + _ROUNDING) + _ROUNDING  # noqa: S101


def check_neighbours(neighbours: Neighbours) -> None:
    """Raise AssertionError if the lists are not such as k - 1 nearest rows would be."""
    n, width = neighbours.mates.shape
    listed = neighbours.mates != NOTHING
    # A row lists as many as there are, none twice, and not itself.
    assert (listed.sum(axis=1) == max(min(width, n - 1), 0)).all()  # noqa: S101
    for row, mates in enumerate(neighbours.mates):
        others = mates[mates != NOTHING]
        assert len(np.unique(others)) == len(others)  # noqa: S101
        assert row not in others  # noqa: S101
    # Near ones stand first, of equally near ones the earlier.
    weights, mates = neighbours.weights, neighbours.mates
    assert np.isinf(weights[~listed]).all()  # noqa: S101
    nearer = weights[:, :-1] < weights[:, 1:]
    earlier = (weights[:, :-1] == weights[:, 1:]) & (mates[:, :-1] < mates[:, 1:])
    assert (nearer | earlier | ~listed[:, 1:]).all()  # noqa: S101


def check_forest(trees: Trees, weights: NDArray[np.float64], k: int) -> None:
    """Raise AssertionError if a forest that is not yet cut weighs more than the optimum may.

    weights float64[n, m], from each row to its nearest ones.
    """
    vertices = int(trees.used[0])
    # Before it is cut each vertex is the row of its number.
    assert vertices == len(weights)  # noqa: S101
    # No row loses less in any k-anonymous table than with its (k - 1)th nearest row; a pair may cost one more, and
    # the other less.
    if vertices >= k:
        must_lose = weights[:, max(k - 2, 0)].sum()
        assert trees.weight[:vertices].sum() <= must_lose * (1 + _ROUNDING)  # noqa: S101


def class_cost(codes: NDArray[np.int32], model: CostModel) -> float:
    """Return what rows of codes int32[m, q] lose each if they are published alike, summed over attributes."""
    return sum(
        interval_cost(model, j, int(low), int(high))
        for j, (low, high) in enumerate(zip(codes.min(axis=0), codes.max(axis=0), strict=True))
    )
