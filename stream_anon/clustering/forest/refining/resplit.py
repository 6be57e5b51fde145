"""REFINE, first part: neighbouring classes are split anew along one attribute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.budget import is_spent
from stream_anon.clustering.forest.refining.split import sort_codes
from stream_anon.clustering.forest.tables import cell, leading_tables
from stream_anon.clustering.legality import is_legal
from stream_anon.clustering.rules import Rules
from stream_anon.compiled import kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel

_TRIES = 40  # illegal cuts after which a pair is left as it is
_LITTLE = 1e-9


@kernel
def resplit_pass(
    codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int64], model: CostModel, rules: Rules
) -> int:
    """Cut each pair of neighbours anew at the best place along the best attribute, where that is cheaper.

    Parameters
    ----------
    codes
        int32[n, q].
    rows
        int64[m], class after class; reordered in place.
    ends
        int64[c], where each class ends in `rows`; changed in place.

    Returns
    -------
    int
        Pairs that were changed. O(q m log m + q^2 m) for a pair of m rows.
    """
    q = codes.shape[1]
    k = rules.k
    starts = np.empty(q, np.uint64)
    widths = np.empty(q, np.uint64)
    tabled = leading_tables(model, starts, widths)
    table = model.table
    changed = 0
    longest = 0
    pool = np.empty((0, q), np.int32)
    keys = np.empty(0, np.int32)
    counts = np.empty(0, np.int64)
    places = np.empty((q, 0), np.int64)
    losses = np.empty((q, 0), np.float64)
    sorted_rows = np.empty(0, np.int64)
    low = np.empty((3, q), np.int32)  # of the left class, the right one, both
    high = np.empty((3, q), np.int32)
    cost = np.empty(3, np.float64)
    bounds = np.empty(q, np.float64)  # no cut of an attribute costs less, -1 where that was not asked yet
    known = np.empty(q, np.bool_)  # whether all cuts of an attribute are priced
    start = 0
    for c in range(len(ends) - 1):
        if is_spent(rules):
            break
        stop = ends[c + 1]
        m = stop - start
        left = ends[c] - start
        if m > longest:  # a class that grew may make the next pair larger than any before
            longest = 2 * m
            pool = np.empty((longest, q), np.int32)
            keys = np.empty(longest, np.int32)
            counts = np.empty(longest, np.int64)
            places = np.empty((q, longest), np.int64)
            losses = np.empty((q, longest), np.float64)
            sorted_rows = np.empty(longest, np.int64)
        for i in range(m):
            for j in range(q):
                pool[i, j] = codes[rows[start + i], j]
        for side in range(2):
            first = 0 if side == 0 else left
            for j in range(q):
                low[side, j] = pool[first, j]
                high[side, j] = pool[first, j]
            for i in range(first + 1, left if side == 0 else m):
                for j in range(q):
                    low[side, j] = min(low[side, j], pool[i, j])
                    high[side, j] = max(high[side, j], pool[i, j])
        # What the two cost now, and together. Two that differ in all rows of some attribute, or whose union costs
        # far more than they do, have found their cut already: passing over them halves the time and costs 0.2 %.
        apart = False
        for j in range(q):
            apart = apart or low[0, j] > high[1, j] or low[1, j] > high[0, j]
            low[2, j] = min(low[0, j], low[1, j])
            high[2, j] = max(high[0, j], high[1, j])
        if apart or m < 2 * k:
            start = ends[c]
            continue
        for side in range(3):
            cost[side] = 0.0
            for j in range(tabled):
                cost[side] += table[cell(starts[j], widths[j], low[side, j], high[side, j])]
            for j in range(tabled, q):
                cost[side] += interval_cost(model, j, low[side, j], high[side, j])
        old = cost[0] * left + cost[1] * (m - left)
        union = cost[2] * m
        if old <= 0 or union - old > 0.5 * union:
            start = ends[c]
            continue
        for j in range(q):
            bounds[j] = -1.0  # not sorted yet
            known[j] = False
        for _ in range(_TRIES):
            if is_spent(rules):
                break
            best = old - _LITTLE
            axis = -1
            cut = 0
            for j in range(q):
                if low[2, j] == high[2, j]:
                    continue
                if not known[j] and bounds[j] < best:
                    order = places[j]
                    if bounds[j] < 0:
                        for i in range(m):
                            keys[i] = pool[i, j]
                        sort_codes(keys, order[:m], counts)
                    # The boxes of the k first and the k last rows: no cut of this attribute costs less than with
                    # these.
                    for side in range(2):
                        for i in range(k):
                            place = order[i] if side == 0 else order[m - 1 - i]
                            for a in range(q):
                                low[side, a] = pool[place, a] if i == 0 else min(low[side, a], pool[place, a])
                                high[side, a] = pool[place, a] if i == 0 else max(high[side, a], pool[place, a])
                        cost[side] = 0.0
                        for a in range(tabled):
                            cost[side] += table[cell(starts[a], widths[a], low[side, a], high[side, a])]
                        for a in range(tabled, q):
                            cost[side] += interval_cost(model, a, low[side, a], high[side, a])
                    bounds[j] = k * (cost[0] + cost[1]) + (m - 2 * k) * min(cost[0], cost[1])
                    if bounds[j] >= best:
                        continue  # until a better cut was found illegal
                    known[j] = True
                    for i in range(k, m - k + 1):
                        losses[j, i] = 0.0
                    for side in range(2):
                        for i in range(k, m - k + 1):
                            if i > k:
                                place = order[i - 1] if side == 0 else order[m - i]
                                fresh = np.int32(0)
                                for a in range(q):
                                    bottom = min(low[side, a], pool[place, a])
                                    top = max(high[side, a], pool[place, a])
                                    fresh |= (bottom ^ low[side, a]) | (top ^ high[side, a])
                                    low[side, a] = bottom
                                    high[side, a] = top
                                if fresh != 0:
                                    cost[side] = 0.0
                                    for a in range(tabled):
                                        cost[side] += table[cell(starts[a], widths[a], low[side, a], high[side, a])]
                                    for a in range(tabled, q):
                                        cost[side] += interval_cost(model, a, low[side, a], high[side, a])
                            losses[j, i if side == 0 else m - i] += i * cost[side]
                if not known[j]:
                    continue
                for i in range(k, m - k + 1):
                    if losses[j, i] < best:
                        best = losses[j, i]
                        axis = j
                        cut = i
            if axis < 0:
                break
            for i in range(m):
                sorted_rows[i] = rows[start + places[axis, i]]
            fore = rules.each_once or is_legal(sorted_rows[:cut], rules)
            if fore and (rules.each_once or is_legal(sorted_rows[cut:m], rules)):
                for i in range(m):
                    rows[start + i] = sorted_rows[i]
                ends[c] = start + cut
                changed += 1
                break
            # Nor is a cut that leaves fewer rows on that side, where a legal class stays legal when it grows.
            losses[axis, cut] = np.inf
            if rules.grows_legal and fore:
                for i in range(cut, m - k + 1):
                    losses[axis, i] = np.inf
            elif rules.grows_legal:
                for i in range(k, cut):
                    losses[axis, i] = np.inf
        start = ends[c]
    return changed
