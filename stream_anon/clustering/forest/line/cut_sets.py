"""CUT where sets of values are published: the cost of a class counts the values that occur in it.

The other stages know boxes only and take all values between the ends. The order of the line is learned with this
cut, and that is where most of the gain comes from: codes need not be near each other to share a class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.line.cut import cut_line, walked_back
from stream_anon.compiled import kernel
from stream_anon.privacy.costs.cost import interval_cost, set_cost
from stream_anon.privacy.costs.model import CostModel


def cut(
    points: NDArray[np.int32],
    point_of: NDArray[np.int64],
    following: NDArray[np.int64],
    model: CostModel,
    k: int,
    longest: int,
    best: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return where the classes end along the line; see `cut_line`."""
    chosen = cut_line_of_sets if model.share.any() else cut_line
    return chosen(points, point_of, following, model, k, longest, best)


@kernel
def cut_line_of_sets(
    points: NDArray[np.int32],
    point_of: NDArray[np.int64],
    following: NDArray[np.int64],
    model: CostModel,
    k: int,
    longest: int,
    best: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return where the classes end along the line; see `cut_line`, of which this is the recurrence.

    A class grows leftwards from its end, and a value that it meets for the first time is stamped with that end:
    O(1) for each row and attribute, whatever the number of values.
    """
    n = len(point_of)
    q = points.shape[1]
    best[:] = np.inf
    back = np.full(n + 1, -1, np.int64)
    best[0] = 0.0
    low = np.empty(q, np.int32)
    high = np.empty(q, np.int32)
    cost = np.empty(q, np.float64)
    kinds = np.empty((q, 3), np.int64)  # values met, whether a missing one, whether an unknown one
    widest = 0
    for j in range(q):
        if model.share[j] > 0:
            widest = max(widest, model.domain[j] + 2)
    stamps = np.zeros((q, widest), np.int32)
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
            if point != last:
                for j in range(q):
                    code = points[point, j]
                    if s == 1:
                        low[j] = code
                        high[j] = code
                        cost[j] = 0.0
                        kinds[j] = 0
                    if model.share[j] > 0:
                        if stamps[j, code] == end:
                            continue
                        stamps[j, code] = end
                        kinds[j, max(0, code - model.domain[j] + 1)] += 1
                        fresh = set_cost(model, j, kinds[j, 0], kinds[j, 1], kinds[j, 2])
                    else:
                        if s > 1 and low[j] <= code <= high[j]:
                            continue
                        low[j] = min(low[j], code)
                        high[j] = max(high[j], code)
                        fresh = interval_cost(model, j, low[j], high[j])
                    total += fresh - cost[j]
                    cost[j] = fresh
            last = point
            loss = best[place] + s * (total + model.crowd * s)
            if people >= k and loss < best[end]:
                best[end] = loss
                back[end] = place
    return walked_back(back)
