"""FOREST: join neighbours on the line, cheapest first, until one tree is left.

Every tree looks at the next few trees in the line. The cost of a join is how much the loss of all its rows grows:
Ward's rule with NCP in the place of variance. All pairs that are each other's cheapest are joined in one round.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel
from stream_anon.privacy.cost import CostModel, table_cost, walked_cost

CANDIDATES = 4


@kernel
def grow_forest(
    points: NDArray[np.int32],
    weights: NDArray[np.int64],
    model: CostModel,
    candidates: int,
    merges: NDArray[np.int32],
) -> int:
    """Write the joins in order; return their number, p - 1.

    Parameters
    ----------
    points
        int32[p, q], along the line.
    weights
        int64[p], rows of each point.
    model
        Cost tables.
    candidates
        How many trees ahead each tree looks.
    merges
        int32[p - 1, 2], written: (tree that stays, tree that joins it), trees named by their first point.

    Notes
    -----
    O(rounds x trees x candidates x q), the trees at least a quarter fewer each round on real data.
    """
    p, q = points.shape
    low = points.copy()
    high = points.copy()
    weight = weights.astype(np.float64)
    loss = np.zeros(p, np.float64)  # NCP of each tree's box, summed over attributes
    for i in range(p):
        for j in range(q):
            cost = table_cost(model, j, points[i, j], points[i, j])
            if cost < 0:
                cost = walked_cost(model, j, points[i, j], points[i, j])
            loss[i] += cost
    line = np.arange(p).astype(np.int32)
    best = np.empty(p, np.float64)
    mate = np.empty(p, np.int32)
    count = p
    done = 0
    while count > 1:
        for a in range(count):
            best[a] = np.inf
            mate[a] = -1
        for a in range(count - 1):
            one = line[a]
            for b in range(a + 1, min(a + 1 + candidates, count)):
                two = line[b]
                total = weight[one] + weight[two]
                # Stop as soon as the pair can be the cheapest of neither.
                bound = max(best[a], best[b]) + loss[one] * weight[one] + loss[two] * weight[two]
                union = 0.0
                for j in range(q):
                    bottom = min(low[one, j], low[two, j])
                    top = max(high[one, j], high[two, j])
                    cost = table_cost(model, j, bottom, top)
                    if cost < 0:
                        cost = walked_cost(model, j, bottom, top)
                    union += cost
                    if union * total >= bound:
                        break
                growth = union * total - loss[one] * weight[one] - loss[two] * weight[two]
                if growth < best[a]:
                    best[a] = growth
                    mate[a] = b
                if growth < best[b]:
                    best[b] = growth
                    mate[b] = a
        kept = 0
        for a in range(count):
            b = mate[a]
            if mate[b] == a:
                if b < a:
                    continue  # joined when its mate came
                one = line[a]
                two = line[b]
                loss[one] = 0.0
                for j in range(q):
                    low[one, j] = min(low[one, j], low[two, j])
                    high[one, j] = max(high[one, j], high[two, j])
                    cost = table_cost(model, j, low[one, j], high[one, j])
                    if cost < 0:
                        cost = walked_cost(model, j, low[one, j], high[one, j])
                    loss[one] += cost
                weight[one] += weight[two]
                merges[done, 0] = one
                merges[done, 1] = two
                done += 1
            line[kept] = line[a]
            kept += 1
        count = kept
    return done
