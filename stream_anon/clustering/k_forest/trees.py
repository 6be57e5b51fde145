"""The components of the forest: trees over rows, each rooted at its sink.

::

    row 4 ──▶ row 1 ──▶ row 7 = root        an edge leads from a row to the one it was nearest to;
                ▲                           once a tree is cut, edges count as undirected
    row 9 ──────┘

A cut may need a row on both sides. It is real on one; on the other stands a Steiner vertex, a copy that holds the
tree together and counts 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel

NOTHING = -1


class Trees(NamedTuple):
    """Vertices and the trees they form; the arrays have room, `used` says how much of it is used.

    Parameters
    ----------
    row
        int64[size], the row of each vertex, for a Steiner vertex that of which it is a copy.
    real
        bool[size], False for Steiner vertices.
    parent
        int64[size], where the vertex's edge leads; -1 for roots.
    weight
        float64[size], of that edge; 0 for roots.
    tree
        int64[size], the number of the vertex's tree; -1 for a vertex that is no longer needed.
    root
        int64[size], of each tree.
    rows
        int64[size], number of real rows of each tree; 0 for one that has joined another.
    used
        int64[2], vertices and trees in use.
    """

    row: NDArray[np.int64]
    real: NDArray[np.bool_]
    parent: NDArray[np.int64]
    weight: NDArray[np.float64]
    tree: NDArray[np.int64]
    root: NDArray[np.int64]
    rows: NDArray[np.int64]
    used: NDArray[np.int64]


def no_trees(size: int) -> Trees:
    """Return room for `size` vertices and trees; for n rows 2n is enough, since each cut makes one more tree."""
    return Trees(
        np.empty(size, np.int64),
        np.empty(size, np.bool_),
        np.empty(size, np.int64),
        np.empty(size, np.float64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.zeros(2, np.int64),
    )


def trees_of_rows(trees: Trees) -> NDArray[np.int64]:
    """Return the tree of each row, int64[n]."""
    real = np.flatnonzero(trees.real[: trees.used[0]])
    answer = np.empty(len(real), np.int64)
    answer[trees.row[real]] = trees.tree[real]
    return answer


def most_rows(k: int) -> int:
    """Return the number of rows beyond which every tree has a legal cut, so that no class is larger.

    At a Steiner vertex with subtrees of at most k - 1 rows, k to 2k - 2 rows are collected and k remain.
    """
    return max(2 * k - 1, 3 * k - 3)


@kernel
def plant(trees: Trees, row: int) -> int:
    """Add `row` as a tree of its own; return its vertex."""
    vertex = trees.used[0]
    tree = trees.used[1]
    trees.used[0] += 1
    trees.used[1] += 1
    trees.row[vertex] = row
    trees.real[vertex] = True
    trees.parent[vertex] = NOTHING
    trees.weight[vertex] = 0.0
    trees.tree[vertex] = tree
    trees.root[tree] = vertex
    trees.rows[tree] = 1
    return int(vertex)


@kernel
def join(trees: Trees, tree: int, mate: int, weight: float) -> None:
    """Lead an edge from the root of `tree` to the vertex `mate` of another tree, which it joins; O(vertices)."""
    root = trees.root[tree]
    joined = trees.tree[mate]
    trees.parent[root] = mate
    trees.weight[root] = weight
    for vertex in range(trees.used[0]):
        if trees.tree[vertex] == tree:
            trees.tree[vertex] = joined
    trees.rows[joined] += trees.rows[tree]
    trees.rows[tree] = 0
