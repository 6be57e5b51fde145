"""CUT: the line cut into classes of k to 2k-1 individuals with the least loss, by dynamic programming."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.cost_tables import leading_tables
from stream_anon.clustering.forest.growing_classes import (
    Growing,
    Values,
    class_cost,
    forget_values,
    meet_values,
    take_in,
    values_of,
)
from stream_anon.compiled import kernel
from stream_anon.privacy.costs.model import CostModel

_FINEST = 512  # ends that are tried for k rows, at least


def cut(
    points: NDArray[np.int32],
    point_of: NDArray[np.int64],
    following: NDArray[np.int64],
    model: CostModel,
    k: int,
    longest: int,
    best: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return where the classes end along the line, the last entry n; empty if no cut is legal.

    Where sets are published a class costs what its values do. The order of the line is learned with this cut, and
    that is where most of the gain comes from: codes need not be near each other to share a class.

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
    to the last with fewer than 2k. The box of the last k rows is known without a loop over them, then it grows
    leftwards and is priced anew only where it changed. Where people come once, an end is left as soon as no longer
    class can be the best with the loss that this one has already. O(n k q), in practice about half of it; from a k
    of 1,024 on classes end at every second place only, then at every third and so on: O(n q) for whatever k, but
    for values of sets, which are met row by row.
    """
    return cut_line(points, point_of, following, model, k, longest, best, values_of(model, 1))


@kernel
def cut_line(
    points: NDArray[np.int32],
    point_of: NDArray[np.int64],
    following: NDArray[np.int64],
    model: CostModel,
    k: int,
    longest: int,
    best: NDArray[np.float64],
    values: Values | None,
) -> NDArray[np.int64]:
    """Do what `cut` does; without values a set counts as the interval around it."""
    n = len(point_of)
    q = points.shape[1]
    stride = max(k // _FINEST, 1)
    grown = Growing(leading_tables(model), np.empty((1, q), np.int32), np.empty((1, q), np.int32))
    codes = np.empty((n, q), np.int32)
    for i in range(n):
        for j in range(q):
            codes[i, j] = points[point_of[i], j]
    lows = np.empty((n + k, q), np.int32)
    highs = np.empty((n + k, q), np.int32)
    last_boxes(codes, k, lows, highs)
    best[:] = np.inf
    back = np.full(n + 1, -1, np.int64)
    best[0] = 0.0
    for end in range(k, n + 1):
        if end % stride != 0 and end % k != 0 and (n - end) % k != 0:
            continue
        people = 0
        for place in range(end - k + 1, end):
            if following[place] >= end:
                people += 1
        least = np.inf
        cost = 0.0
        for place in range(end - k, max(end - longest, 0) - 1, -1):
            if following[place] >= end:
                people += 1
                if people >= 2 * k:
                    break
            if place == end - k:
                changed = True
                for j in range(q):
                    grown.low[0, j] = lows[end, j]
                    grown.high[0, j] = highs[end, j]
                forget_values(values, 0)
                for row in range(place, end if values is not None else place):
                    meet_values(model, values, 0, codes, row)
            else:
                changed = take_in(grown, values, 0, codes, place)
            if changed:
                cost = class_cost(grown, values, 0)
                if longest < 2 * k:
                    hope = np.inf
                    for early in range(max(end - longest, 0), place + 1):
                        rows = end - early
                        hope = min(hope, best[early] + rows * (cost + model.crowd * rows))
                    if hope >= least:
                        break
            rows = end - place
            loss = best[place] + rows * (cost + model.crowd * rows)
            if people >= k and loss < least:
                least = loss
                back[end] = place
        best[end] = least
    return walked_back(back)


@kernel
def walked_back(back: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the classes of the best cut end; empty if there is none.

    Parameters
    ----------
    back
        int64[n + 1], for each end where the class before it ends, -1 where no cut is legal.
    """
    n = len(back) - 1
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


@kernel
def last_boxes(codes: NDArray[np.int32], k: int, lows: NDArray[np.int32], highs: NDArray[np.int32]) -> None:
    """Write for each end from k on the box of the last k rows; O(n q) whatever k, after van Herk (1992).

    Parameters
    ----------
    codes
        int32[n, q].
    k
        Rows of a box.
    lows, highs
        int32[n + k, q]; entry e, from k to n, is written for the rows e - k up to e, the latter not among them.
    """
    n, q = codes.shape
    # The rows are cut into blocks of k. A box of k rows is the rest of one block and the beginning of the next.
    for row in range(n - 1, -1, -1):
        fresh = row == n - 1 or (row + 1) % k == 0
        for j in range(q):
            lows[row + k, j] = codes[row, j] if fresh else min(codes[row, j], lows[row + k + 1, j])
            highs[row + k, j] = codes[row, j] if fresh else max(codes[row, j], highs[row + k + 1, j])
    low = np.empty(q, np.int32)
    high = np.empty(q, np.int32)
    for row in range(k, n):
        for j in range(q):
            low[j] = codes[row, j] if row % k == 0 else min(low[j], codes[row, j])
            high[j] = codes[row, j] if row % k == 0 else max(high[j], codes[row, j])
        if (row + 1) % k != 0:
            for j in range(q):
                lows[row + 1, j] = min(lows[row + 1, j], low[j])
                highs[row + 1, j] = max(highs[row + 1, j], high[j])
