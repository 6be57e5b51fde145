"""FOREST: join neighbours on the line, cheapest first, until one tree is left.

Every tree looks at the next few trees in the line. The cost of a join is how much the loss of all its rows grows:
Ward's rule with NCP in the place of variance. All pairs that are each other's cheapest are joined in one round.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.classes import Boxes
from stream_anon.clustering.forest.cost_tables import box_cost, leading_tables, union_cost
from stream_anon.compiled import kernel
from stream_anon.privacy.costs.model import CostModel

CANDIDATES = 4


@kernel
def grow_forest(
    points: Boxes,
    weights: NDArray[np.int64],
    model: CostModel,
    candidates: int,
    merges: NDArray[np.int32],
) -> int:
    """Write the joins in order; return their number, p - 1.

    Parameters
    ----------
    points
        int32[p, q] twice, the least and the greatest codes of what stands along the line, points or classes.
    weights
        int64[p], rows of each.
    model
        Cost tables.
    candidates
        How many trees ahead each tree looks.
    merges
        int32[p - 1, 2], written: (tree that stays, tree that joins it), trees named by the first in them.

    Notes
    -----
    O(rounds x trees x candidates x q), the trees at least a quarter fewer each round on real data.
    """
    p, q = points[0].shape
    tables = leading_tables(model)
    # The trees stand in the order of the line, the joined ones moved up: what is read together lies together.
    low = points[0].copy()
    high = points[1].copy()
    name = np.arange(p).astype(np.int32)
    weight = weights.astype(np.float64)
    loss = np.empty(p, np.float64)  # NCP of each tree's box, summed over attributes, times its weight
    for i in range(p):
        loss[i] = box_cost(tables, low, high, i) * weight[i]
    best = np.empty(p, np.float64)
    mate = np.empty(p, np.int32)
    count = p
    done = 0
    while count > 1:
        for a in range(count):
            best[a] = np.inf
            mate[a] = -1
        for a in range(count - 1):
            for b in range(a + 1, min(a + 1 + candidates, count)):
                total = weight[a] + weight[b]
                alone = loss[a] + loss[b]
                # Stop as soon as the pair can be the cheapest of neither.
                bound = (max(best[a], best[b]) + alone) / total
                union = union_cost(tables, low, high, a, b, bound)
                if union >= bound:
                    continue
                growth = union * total - alone
                if growth < best[a]:
                    best[a] = growth
                    mate[a] = b
                if growth < best[b]:
                    best[b] = growth
                    mate[b] = a
        kept = 0
        for a in range(count):
            b = mate[a]
            joined = mate[b] == a
            if joined and b < a:
                continue  # joined when its mate came
            for j in range(q):
                low[kept, j] = low[a, j]
                high[kept, j] = high[a, j]
            name[kept] = name[a]
            weight[kept] = weight[a]
            loss[kept] = loss[a]
            if joined:
                merges[done, 0] = name[a]
                merges[done, 1] = name[b]
                done += 1
                weight[kept] += weight[b]
                for j in range(q):
                    low[kept, j] = min(low[kept, j], low[b, j])
                    high[kept, j] = max(high[kept, j], high[b, j])
                loss[kept] = box_cost(tables, low, high, kept) * weight[kept]
            kept += 1
        count = kept
    return done
