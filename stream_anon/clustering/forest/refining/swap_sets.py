"""SWAP where sets of values are published: rows move or change places between neighbouring classes.

As in `swap`, with one difference: a set costs less without a row as soon as nobody else in the class has its
value, wherever that value lies between the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.refining.swap import NOBODY, move_row, stays_legal
from stream_anon.clustering.rules import Rules
from stream_anon.compiled import inlined, kernel
from stream_anon.privacy.costs.cost import set_cost, table_cost, walked_cost
from stream_anon.privacy.costs.model import CostModel

_LITTLE = 1e-9


@inlined
def _cost_after(
    model: CostModel,
    counts: NDArray[np.int32],
    kinds: NDArray[np.int64],
    box: NDArray[np.int32],
    own: NDArray[np.float64],
    side: int,
    j: int,
    gone: int,
    come: int,
) -> float:
    """Return what attribute `j` costs in a class once a row with code `gone` left and one with `come` joined."""
    if gone == come:
        return float(own[side, j])
    if model.share[j] > 0:
        n = model.domain[j]
        values = kinds[side, j]
        missing = counts[side, j, n]
        unknown = counts[side, j, n + 1]
        if gone == n:
            missing -= 1
        elif gone > n:
            unknown -= 1
        elif gone >= 0 and counts[side, j, gone] == 1:
            values -= 1
        if come == n:
            missing += 1
        elif come > n:
            unknown += 1
        elif come >= 0 and counts[side, j, come] == 0:
            values += 1
        return set_cost(model, j, values, missing, unknown)
    low = box[side, j, 0]
    high = box[side, j, 2]
    if gone >= 0:
        if gone == low:
            low = box[side, j, 1]
        if gone == high:
            high = box[side, j, 3]
    if come >= 0:
        low = min(low, come)
        high = max(high, come)
    if low == box[side, j, 0] and high == box[side, j, 2]:
        return float(own[side, j])
    cost = table_cost(model, j, low, high)
    if cost < 0:
        cost = walked_cost(model, j, low, high)
    return cost


@inlined
def _take_stock(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    model: CostModel,
    counts: NDArray[np.int32],
    kinds: NDArray[np.int64],
    box: NDArray[np.int32],
    own: NDArray[np.float64],
    side: int,
) -> float:
    """Write what a class's attributes hold and cost; return their sum. The counts must be zero."""
    total = 0.0
    for j in range(codes.shape[1]):
        n = model.domain[j]
        if model.share[j] > 0:
            kinds[side, j] = 0
            for i in range(len(rows)):
                code = codes[rows[i], j]
                kinds[side, j] += counts[side, j, code] == 0 and code < n
                counts[side, j, code] += 1
            cost = set_cost(model, j, kinds[side, j], counts[side, j, n], counts[side, j, n + 1])
        else:
            box[side, j, 0] = codes[rows[0], j]
            box[side, j, 1] = 2147483647
            box[side, j, 2] = codes[rows[0], j]
            box[side, j, 3] = -1
            for i in range(1, len(rows)):
                code = codes[rows[i], j]
                if code < box[side, j, 0]:
                    box[side, j, 1] = box[side, j, 0]
                    box[side, j, 0] = code
                elif code < box[side, j, 1]:
                    box[side, j, 1] = code
                if code > box[side, j, 2]:
                    box[side, j, 3] = box[side, j, 2]
                    box[side, j, 2] = code
                elif code > box[side, j, 3]:
                    box[side, j, 3] = code
            cost = table_cost(model, j, box[side, j, 0], box[side, j, 2])
            if cost < 0:
                cost = walked_cost(model, j, box[side, j, 0], box[side, j, 2])
        own[side, j] = cost
        total += cost
    return total


@kernel
def swap_sets(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    model: CostModel,
    rules: Rules,
    counts: NDArray[np.int32],
) -> int:
    """Move a row to the neighbouring class, or exchange two, where that is cheapest; return how many pairs changed.

    Only rows without which their class costs less. Arguments as in `refine_sets`; counts int32[2, q, values], all
    zero, and zero again afterwards.
    """
    q = codes.shape[1]
    changed = 0
    box = np.empty((2, q, 4), np.int32)  # least, second least, greatest, second greatest
    own = np.empty((2, q), np.float64)
    kinds = np.zeros((2, q), np.int64)
    border = np.empty((2, 0), np.int64)
    without = np.empty((2, 0), np.float64)
    room = np.empty(0, np.int64)
    borders = np.zeros(2, np.int64)
    cost_of = np.empty(2, np.float64)
    size = np.empty(2, np.int64)
    start = 0
    for c in range(len(ends) - 1):
        pool = rows[start : ends[c + 1]]
        m = len(pool)
        left = ends[c] - start
        size[0] = left
        size[1] = m - left
        if m > len(room):
            border = np.empty((2, 2 * m), np.int64)
            without = np.empty((2, 2 * m), np.float64)
            room = np.empty(2 * m, np.int64)
        for side in range(2):
            first = 0 if side == 0 else left
            last = left if side == 0 else m
            cost_of[side] = _take_stock(codes, pool[first:last], model, counts, kinds, box, own, side)
            borders[side] = 0
            for place in range(first, last):
                rest = 0.0
                for j in range(q):
                    rest += _cost_after(model, counts, kinds, box, own, side, j, codes[pool[place], j], NOBODY)
                if rest < cost_of[side] - _LITTLE:
                    border[side, borders[side]] = place
                    without[side, borders[side]] = rest
                    borders[side] += 1
        best = size[0] * cost_of[0] + size[1] * cost_of[1] - _LITTLE
        mover = NOBODY
        partner = NOBODY
        for side in range(2):
            for b in range(borders[side]):
                place = border[side, b]
                mine = (size[side] - 1) * without[side, b]
                if size[side] <= rules.k or mine + (size[1 - side] + 1) * cost_of[1 - side] >= best:
                    continue
                joined = 0.0
                for j in range(q):
                    joined += _cost_after(
                        model, counts, kinds, box, own, 1 - side, j, NOBODY, codes[pool[place], j]
                    )
                total = mine + (size[1 - side] + 1) * joined
                if total < best and (rules.each_once or stays_legal(pool, left, place, NOBODY, room, rules)):
                    best = total
                    mover = place
                    partner = NOBODY
        for b in range(borders[0]):
            for d in range(borders[1]):
                total = 0.0
                if size[0] * without[0, b] + size[1] * without[1, d] >= best:
                    continue
                for j in range(q):
                    one = codes[pool[border[0, b]], j]
                    two = codes[pool[border[1, d]], j]
                    total += size[0] * _cost_after(model, counts, kinds, box, own, 0, j, one, two)
                    total += size[1] * _cost_after(model, counts, kinds, box, own, 1, j, two, one)
                    if total >= best:
                        break
                if total < best and (
                    rules.each_once or stays_legal(pool, left, border[0, b], border[1, d], room, rules)
                ):
                    best = total
                    mover = border[0, b]
                    partner = border[1, d]
        for j in range(q):
            if model.share[j] > 0:
                for place in range(m):
                    counts[0, j, codes[pool[place], j]] = 0
                    counts[1, j, codes[pool[place], j]] = 0
        if mover >= 0:
            changed += 1
            ends[c] += move_row(pool, left, mover, partner)
        start = ends[c]
    return changed
