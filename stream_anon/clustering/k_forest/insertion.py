"""Rows that join the nearest tree as they arrive; a tree that has grown too large is cut."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.k_forest.decompose import decompose
from stream_anon.clustering.k_forest.trees import NOTHING, Trees, join, no_trees, plant
from stream_anon.compiled import kernel
from stream_anon.privacy.cost import CostModel, table_cost, walked_cost


@kernel
def nearest_outside(trees: Trees, codes: NDArray[np.int32], vertex: int, model: CostModel) -> tuple[int, float]:
    """Return the nearest real vertex outside the tree of `vertex`, and the edge's weight; -1 if none; O(n q).

    Of equally near ones the first. codes int32[n, q], of rows.
    """
    own = trees.tree[vertex]
    one = trees.row[vertex]
    mate = NOTHING
    least = np.inf
    for other in range(trees.used[0]):
        if trees.real[other] and trees.tree[other] != own:
            two = trees.row[other]
            total = 0.0
            for j in range(codes.shape[1]):
                low = min(codes[one, j], codes[two, j])
                high = max(codes[one, j], codes[two, j])
                cost = table_cost(model, j, low, high)
                if cost < 0:
                    cost = walked_cost(model, j, low, high)
                total += cost
                if total >= least:
                    break
            if total < least:
                least = total
                mate = other
                if least == 0.0:
                    break
    return mate, least


@kernel
def insert_rows(
    trees: Trees, codes: NDArray[np.int32], rows: NDArray[np.int64], k: int, most: int, model: CostModel
) -> None:
    """Join each of `rows` with the nearest one that is there; cut trees of more than `most` rows; O(m n q).

    codes int32[n, q], of all rows.
    """
    for row in rows:
        vertex = plant(trees, row)
        mate, weight = nearest_outside(trees, codes, vertex, model)
        if mate != NOTHING:
            joined = trees.tree[mate]
            join(trees, trees.tree[vertex], mate, weight)
            if trees.rows[joined] > most:
                decompose(trees, joined, k, most)


def those_intact(trees: Trees, kept: NDArray[np.bool_]) -> tuple[Trees, NDArray[np.int64]]:
    """Return the trees without any vertex of a row that leaves, and the rows that lost their tree.

    kept bool[n]; the rows that stay are numbered anew, in their order.
    """
    used = int(trees.used[0])
    row, tree, parent = trees.row[:used], trees.tree[:used], trees.parent[:used]
    broken = np.zeros(int(trees.used[1]) + 1, np.bool_)
    broken[tree[~kept[row]]] = True
    broken[NOTHING] = True  # vertices that are no longer needed
    stay = np.flatnonzero(~broken[tree])
    number = np.full(used + 1, NOTHING, np.int64)
    number[stay] = np.arange(len(stay))
    numbers, own = np.unique(tree[stay], return_inverse=True)
    rank = np.cumsum(kept) - 1
    answer = no_trees(used)
    answer.row[: len(stay)] = rank[row[stay]]
    answer.real[: len(stay)] = trees.real[stay]
    answer.parent[: len(stay)] = number[parent[stay]]
    answer.weight[: len(stay)] = trees.weight[stay]
    answer.tree[: len(stay)] = own
    answer.root[: len(numbers)] = number[trees.root[numbers]]
    answer.rows[: len(numbers)] = trees.rows[numbers]
    answer.used[:] = len(stay), len(numbers)
    loose = row[trees.real[:used] & broken[tree]]
    return answer, np.sort(rank[loose[kept[loose]]])
