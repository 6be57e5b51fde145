"""FOREST: join each small tree with the row nearest to its sink."""

from __future__ import annotations

from stream_anon.clustering.k_forest.neighbours import Neighbours
from stream_anon.clustering.k_forest.trees import Trees, join, plant
from stream_anon.compiled import kernel


@kernel
def grow_forest(trees: Trees, neighbours: Neighbours, k: int) -> None:
    """Plant all rows, then join trees until each has `k` rows, or all rows are one tree; O(n^2), O(n k) look-ups.

    Parameters
    ----------
    trees
        Without a vertex, room for n rows.
    neighbours
        At least the k - 1 nearest of n rows.

    Notes
    -----
    Trees take turns. No edge weighs more than its row must lose in any k-anonymous table, namely the cost to its
    (k - 1)th nearest row, so that all edges together weigh no more than the optimum.
    """
    n = len(neighbours.mates)
    for row in range(n):
        plant(trees, row)
    again = k > 1
    while again:
        again = False
        for tree in range(n):
            if 0 < trees.rows[tree] < min(k, n):
                root = trees.root[tree]  # a row's vertex has the row's number
                place = 0
                while trees.tree[neighbours.mates[root, place]] == tree:
                    place += 1
                join(trees, tree, neighbours.mates[root, place], neighbours.weights[root, place])
                again = True
