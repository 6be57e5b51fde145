"""The matching of greatest weight in a general graph, by rustworkx: Edmonds' blossoms (1965) as of Galil (1986).

rustworkx counts in whole numbers, so its matching is exactly the heaviest. It holds the interpreter lock meanwhile:
0.03 s for 1,000 census rows, a second where each of 1,000 rows gains about as much with every other, and 8 s where
all gains differ, which no distance of records does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rustworkx import PyGraph, max_weight_matching

from stream_anon.clustering.k_forest.trees import NOTHING


def greatest_matching(gains: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the mate of each vertex in a matching of greatest weight, `NOTHING` for none; O(n^3).

    gains int64[n, n], symmetric; only edges of positive weight are matched.
    """
    ones, others = np.nonzero(np.triu(gains, 1) > 0)
    graph: PyGraph[None, int] = PyGraph(multigraph=False)
    graph.add_nodes_from([None] * len(gains))
    graph.add_edges_from(list(zip(ones.tolist(), others.tolist(), gains[ones, others].tolist(), strict=True)))
    mates = np.full(len(gains), NOTHING, np.int64)
    for one, other in max_weight_matching(graph, weight_fn=int):
        mates[one], mates[other] = other, one
    return mates
