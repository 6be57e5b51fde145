"""k = 2: the lightest edge cover, which is the lightest forest in which every row has an edge.

Its trees are stars; those of more than three rows are cut. FOREST bounds the loss by three times the optimum, the
cover by twice: its edges weigh at most half of what classes of two rows lose in the optimum and two thirds of what
classes of three do, and three rows lose at most three times the two edges between them.

::

    a ══ b     c ── d ══ e        matched rows; one left over joins its nearest row
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.k_forest.matching import greatest_matching
from stream_anon.clustering.k_forest.neighbours import cost_graph
from stream_anon.clustering.k_forest.trees import NOTHING, Trees, join, plant
from stream_anon.compiled import kernel
from stream_anon.privacy.costs.model import CostModel

MOST_ROWS = 1_200  # time grows with the cube of the rows at worst, memory with their square
_UNITS = 2.0**40


def cover(trees: Trees, codes: NDArray[np.int32], model: CostModel) -> None:
    """Plant all rows and join them by the lightest edge cover; O(n^3).

    Parameters
    ----------
    trees
        Without a vertex, room for n rows.
    codes
        int32[n, q], row-major, n >= 2.

    Notes
    -----
    A row that no pair covers costs its lightest edge. So an edge (a, b) in place of these two saves
    lightest(a) + lightest(b) - weight(a, b), and the lightest cover is the matching that saves most
    (Schrijver 2003, section 19.3). Weights are counted in whole units of 2^-40 of the greatest.
    """
    graph = cost_graph(codes, model)
    np.fill_diagonal(graph, np.inf)
    lightest = graph.min(axis=1)
    nearest = graph.argmin(axis=1)
    unit = max(lightest.max(), np.finfo(np.float64).tiny) / _UNITS
    saved = np.maximum(lightest[:, None] + lightest - graph, 0.0) / unit
    mates = greatest_matching(np.rint(saved).astype(np.int64))
    _plant_cover(trees, mates, nearest, graph)


@kernel
def _plant_cover(
    trees: Trees, mates: NDArray[np.int64], nearest: NDArray[np.int64], graph: NDArray[np.float64]
) -> None:
    n = len(mates)
    for row in range(n):
        plant(trees, row)
    for row in range(n):
        if mates[row] > row:
            join(trees, trees.tree[row], mates[row], graph[row, mates[row]])
    for row in range(n):
        # A row that another row has joined is covered already.
        if mates[row] == NOTHING and trees.rows[trees.tree[row]] == 1:
            join(trees, trees.tree[row], nearest[row], graph[row, nearest[row]])
