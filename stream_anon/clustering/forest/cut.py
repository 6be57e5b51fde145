"""CUT: the line cut into classes of k to 2k-1 individuals with the least loss, by dynamic programming."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel
from stream_anon.privacy.cost import CostModel, table_cost, walked_cost


@kernel
def cut_line(
    points: NDArray[np.int32],
    point_of: NDArray[np.int64],
    following: NDArray[np.int64],
    model: CostModel,
    k: int,
    longest: int,
    best: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return where the classes end along the line, the last entry n; empty if no cut is legal.

    Parameters
    ----------
    points
        int32[p, q].
    point_of
        int64[n], the point of each row along the line.
    following
        int64[n], the next place along the line of a row's individual, n if there is none.
    k
        Least number of distinct individuals in a class.
    longest
        Rows beyond which a class is not tried.
    best
        float64[n + 1], written: the least loss of the first rows, records x NCP; inf where no cut is legal.

    Notes
    -----
    `best[e] = min over s of best[e - s] + s x NCP(box(e - s .. e))`; s from the first with k distinct individuals
    to the last with fewer than 2k. The box grows leftwards and is read anew only where it changed. O(n k q).
    """
    n = len(point_of)
    q = points.shape[1]
    best[:] = np.inf
    back = np.full(n + 1, -1, np.int64)
    best[0] = 0.0
    low = np.empty(q, np.int32)
    high = np.empty(q, np.int32)
    cost = np.empty(q, np.float64)
    for end in range(1, n + 1):
        people = 0
        total = 0.0
        last = -1
        for s in range(1, min(longest, end) + 1):
            place = end - s
            if following[place] >= end:
                people += 1
                if people >= 2 * k:
                    break
            point = point_of[place]
            if s == 1:
                for j in range(q):
                    low[j] = points[point, j]
                    high[j] = low[j]
                    cost[j] = table_cost(model, j, low[j], high[j])
                    if cost[j] < 0:
                        cost[j] = walked_cost(model, j, low[j], high[j])
                    total += cost[j]
            elif point != last:
                for j in range(q):
                    code = points[point, j]
                    if code < low[j] or code > high[j]:
                        low[j] = min(low[j], code)
                        high[j] = max(high[j], code)
                        fresh = table_cost(model, j, low[j], high[j])
                        if fresh < 0:
                            fresh = walked_cost(model, j, low[j], high[j])
                        total += fresh - cost[j]
                        cost[j] = fresh
            last = point
            loss = best[place] + s * (total + model.crowd * s)
            if people >= k and loss < best[end]:
                best[end] = loss
                back[end] = place
    if back[n] < 0 and n > 0:
        return np.empty(0, np.int64)
    count = 0
    end = n
    while end > 0:
        count += 1
        end = back[end]
    ends = np.empty(count, np.int64)
    end = n
    while end > 0:
        count -= 1
        ends[count] = end
        end = back[end]
    return ends
