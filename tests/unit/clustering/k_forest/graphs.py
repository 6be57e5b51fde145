"""Cost graphs and trees for tests, drawn by hand or at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.clustering.k_forest.neighbours import Neighbours, meet, no_neighbours
from stream_anon.clustering.k_forest.trees import NOTHING, Trees, no_trees
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.walk import TABLE
from stream_anon.privacy.costs.model import CostModel


def graph_model(weights: NDArray[np.float64]) -> CostModel:
    """Return a model of one attribute whose codes are rows, and whose costs are the graph's weights."""
    n = len(weights)
    table = np.zeros((n + 2, n + 2), np.float32)
    table[:n, :n] = weights
    one = np.ones(1)
    zero = np.zeros(1, np.int64)
    return CostModel(
        np.array([TABLE], np.int8),
        np.array([n], np.int64),
        zero,
        zero,
        one,
        0 * one,
        one,
        table.ravel(),
        np.empty(0, np.int32),
        0 * one,
        0.0,
        zero,
        zero + 1,
    )


def graph(rows: str, edges: Mapping[str, float], otherwise: float = 99.0) -> NDArray[np.float64]:
    """Return the weights between rows named by letters; edges are named by two of them."""
    weights = np.full((len(rows), len(rows)), otherwise)
    np.fill_diagonal(weights, 0.0)
    for (one, two), weight in edges.items():
        weights[rows.index(one), rows.index(two)] = weights[rows.index(two), rows.index(one)] = weight
    return weights


def neighbours_of(codes: NDArray[np.int32], model: CostModel, width: int, pieces: Sequence[int] = ()) -> Neighbours:
    """Return the nearest rows of rows of codes int32[n, q] that arrived in pieces."""
    neighbours = no_neighbours(len(codes), codes.shape[1], max(width, 1))
    ends = [0, *sorted(pieces), len(codes)]
    for first, last in pairwise(ends):
        neighbours.codes[first:last] = codes[first:last]
        meet(neighbours, first, last, model)
    return neighbours


def neighbours_in(weights: NDArray[np.float64], width: int) -> Neighbours:
    """Return the nearest rows in a graph."""
    return neighbours_of(np.arange(len(weights), dtype=np.int32)[:, None], graph_model(weights), width)


def tree_of(parents: Sequence[int], copies: Sequence[int] = ()) -> Trees:
    """Return one tree; `parents` of each vertex, -1 for the root; the vertices `copies` are no rows."""
    n = len(parents)
    trees = no_trees(2 * n)
    trees.used[:] = n, 1
    trees.parent[:n] = parents
    trees.real[:n] = True
    trees.real[list(copies)] = False
    trees.row[:n] = np.where(trees.real[:n], np.cumsum(trees.real[:n]) - 1, 0)
    trees.weight[:n] = [parent != NOTHING for parent in parents]
    trees.tree[:n] = 0
    trees.root[0] = list(parents).index(NOTHING)
    trees.rows[0] = n - len(copies)
    return trees


@st.composite
def grown_trees(draw: st.DrawFn) -> tuple[Trees, int]:
    """Random trees with copies inside, bushy or long, and a k."""
    n = draw(st.integers(2, 40))
    reach = draw(st.sampled_from([1, 3, n]))  # a path, something long, anything
    parents = [NOTHING, *(draw(st.integers(max(0, i - reach), i - 1)) for i in range(1, n))]
    edges = [parents.count(i) + (i > 0) for i in range(n)]
    inner = [i for i in range(n) if edges[i] >= 2]
    copies = draw(st.lists(st.sampled_from(inner), unique=True)) if inner else []
    return tree_of(parents, copies), draw(st.integers(2, 8))


def rows_of(codes: NDArray[np.int32], people: Sequence[int] | None = None) -> Columns:
    """Return rows of codes int32[n, q], everybody with one row unless `people` are given."""
    n = len(codes)
    numbers = np.arange(n, dtype=np.int32) if people is None else np.array(people, np.int32)
    return Columns(np.ascontiguousarray(codes.T), numbers, np.empty((0, n), np.int32))
