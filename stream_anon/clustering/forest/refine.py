"""REFINE: neighbouring classes are split anew along one attribute, and border rows move or change places."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.split import sort_places
from stream_anon.clustering.legality import Ledger, is_legal
from stream_anon.compiled import kernel
from stream_anon.privacy.cost import CostModel, table_cost, walked_cost

_TRIES = 4  # illegal cuts after which a pair is left as it is
_LITTLE = 1e-9


@kernel
def resplit_pass(
    codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int64], model: CostModel, ledger: Ledger
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
    k = ledger.k
    changed = 0
    longest = 0
    pool = np.empty((0, q), np.int32)
    keys = np.empty(0, np.int32)
    places = np.empty((q, 0), np.int64)
    fore = np.empty((q, 0), np.float64)
    back = np.empty((q, 0), np.float64)
    sorted_rows = np.empty(0, np.int64)
    low = np.empty(q, np.int32)
    high = np.empty(q, np.int32)
    own = np.empty(q, np.float64)
    start = 0
    for c in range(len(ends) - 1):
        stop = ends[c + 1]
        m = stop - start
        left = ends[c] - start
        if m > longest:  # a class that grew may make the next pair larger than any before
            longest = 2 * m
            pool = np.empty((longest, q), np.int32)
            keys = np.empty(longest, np.int32)
            places = np.empty((q, longest), np.int64)
            fore = np.empty((q, longest), np.float64)
            back = np.empty((q, longest), np.float64)
            sorted_rows = np.empty(longest, np.int64)
        for i in range(m):
            for j in range(q):
                pool[i, j] = codes[rows[start + i], j]
        # What the two cost now, and together. Two that differ in all rows of some attribute, or whose union costs
        # far more than they do, have found their cut already: passing over them halves the time and costs 0.2 %.
        old = 0.0
        union = 0.0
        apart = False
        for j in range(q):
            low_a = pool[0, j]
            high_a = low_a
            for i in range(1, left):
                low_a = min(low_a, pool[i, j])
                high_a = max(high_a, pool[i, j])
            low_b = pool[left, j]
            high_b = low_b
            for i in range(left + 1, m):
                low_b = min(low_b, pool[i, j])
                high_b = max(high_b, pool[i, j])
            apart = apart or low_a > high_b or low_b > high_a
            cost_a = table_cost(model, j, low_a, high_a)
            cost_b = table_cost(model, j, low_b, high_b)
            cost = table_cost(model, j, min(low_a, low_b), max(high_a, high_b))
            if cost < 0:
                cost_a = walked_cost(model, j, low_a, high_a)
                cost_b = walked_cost(model, j, low_b, high_b)
                cost = walked_cost(model, j, min(low_a, low_b), max(high_a, high_b))
            old += cost_a * left + cost_b * (m - left)
            union += cost * m
        if old <= 0 or apart or union - old > 0.5 * union:
            start = ends[c]
            continue
        best = old - _LITTLE
        axis = -1
        cut = 0
        refused = 0
        bar = -1.0  # cuts up to this cost were found illegal
        while refused < _TRIES:
            for j in range(q):
                if refused == 0:
                    for i in range(m):
                        keys[i] = pool[i, j]
                    sort_places(keys, places[j, :m])
                order = places[j]
                if pool[order[0], j] == pool[order[m - 1], j]:
                    continue
                for way in range(2 if refused == 0 else 0):
                    total = 0.0
                    for i in range(m):
                        place = order[i] if way == 0 else order[m - 1 - i]
                        for a in range(q):
                            code = pool[place, a]
                            if i > 0 and low[a] <= code <= high[a]:
                                continue
                            if i == 0:
                                low[a] = code
                                high[a] = code
                                own[a] = 0.0
                            elif code < low[a]:
                                low[a] = code
                            else:
                                high[a] = code
                            cost = table_cost(model, a, low[a], high[a])
                            if cost < 0:
                                cost = walked_cost(model, a, low[a], high[a])
                            total += cost - own[a]
                            own[a] = cost
                        if way == 0:
                            fore[j, i] = total
                        else:
                            back[j, i] = total
                for i in range(k, m - k + 1):
                    cost = i * fore[j, i - 1] + (m - i) * back[j, m - i - 1]
                    if bar < cost < best:
                        best = cost
                        axis = j
                        cut = i
            if axis < 0:
                break
            for i in range(m):
                sorted_rows[i] = rows[start + places[axis, i]]
            if ledger.each_once or (is_legal(sorted_rows[:cut], ledger) and is_legal(sorted_rows[cut:m], ledger)):
                for i in range(m):
                    rows[start + i] = sorted_rows[i]
                ends[c] = start + cut
                changed += 1
                break
            bar = best
            best = old - _LITTLE
            axis = -1
            refused += 1
        start = ends[c]
    return changed


@kernel
def _legal_after(
    pool: NDArray[np.int64], left: int, mover: int, other: int, room: NDArray[np.int64], ledger: Ledger
) -> bool:
    """Return whether both classes stay legal if the row at place `mover` leaves its class for the other.

    With `other` >= 0 the row at that place of the other class comes in exchange.
    """
    m = len(pool)
    for side in range(2):
        first = 0 if side == 0 else left
        last = left if side == 0 else m
        count = 0
        for i in range(first, last):
            if i not in (mover, other):
                room[count] = pool[i]
                count += 1
        for comer in (mover, other):
            if comer >= 0 and not first <= comer < last:
                room[count] = pool[comer]
                count += 1
        if not is_legal(room[:count], ledger):
            return False
    return True


@kernel
def swap_pass(
    codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int64], model: CostModel, ledger: Ledger
) -> int:
    """Move or exchange border rows between neighbours where that is cheaper; return how many pairs changed.

    A border row alone holds an end of its class's box: the class becomes cheaper without it. It moves to the other
    class if its own stays large enough, or changes places with a border row of the other. Arguments are those of
    `resplit_pass`.
    """
    q = codes.shape[1]
    k = ledger.k
    changed = 0
    room = np.empty(0, np.int64)
    box = np.empty((2, q, 4), np.int32)  # least, second least, greatest, second greatest
    own = np.empty((2, q), np.float64)
    border = np.empty((2, 2 * q), np.int64)
    without = np.empty((2, 2 * q), np.float64)
    borders = np.empty(2, np.int64)
    cost_of = np.empty(2, np.float64)
    size = np.empty(2, np.int64)
    start = 0
    for c in range(len(ends) - 1):
        stop = ends[c + 1]
        pool = rows[start:stop]
        m = stop - start
        left = ends[c] - start
        if m > len(room):
            room = np.empty(2 * m, np.int64)
        size[0] = left
        size[1] = m - left
        for side in range(2):
            first = 0 if side == 0 else left
            last = left if side == 0 else m
            borders[side] = 0
            cost_of[side] = 0.0
            for j in range(q):
                at_least = first
                at_most = first
                least = codes[pool[first], j]
                most = least
                second = np.int32(2147483647)
                before = np.int32(-1)
                for i in range(first + 1, last):
                    code = codes[pool[i], j]
                    if code < least:
                        second = least
                        least = code
                        at_least = i
                    elif code < second:
                        second = code
                    if code > most:
                        before = most
                        most = code
                        at_most = i
                    elif code > before:
                        before = code
                box[side, j, 0] = least
                box[side, j, 1] = second
                box[side, j, 2] = most
                box[side, j, 3] = before
                cost = table_cost(model, j, least, most)
                if cost < 0:
                    cost = walked_cost(model, j, least, most)
                own[side, j] = cost
                cost_of[side] += cost
                if least != second and least < most:
                    border[side, borders[side]] = at_least
                    borders[side] += 1
                if most != before and least < most:
                    border[side, borders[side]] = at_most
                    borders[side] += 1
            kept = 0
            for b in range(borders[side]):
                place = border[side, b]
                known = False
                for other in range(kept):
                    known = known or border[side, other] == place
                if known:
                    continue
                saved = 0.0
                for j in range(q):
                    code = codes[pool[place], j]
                    low = box[side, j, 1] if code == box[side, j, 0] else box[side, j, 0]
                    high = box[side, j, 3] if code == box[side, j, 2] else box[side, j, 2]
                    if low > box[side, j, 0] or high < box[side, j, 2]:
                        cost = table_cost(model, j, low, high)
                        if cost < 0:
                            cost = walked_cost(model, j, low, high)
                        saved += own[side, j] - cost
                if saved > _LITTLE:
                    border[side, kept] = place
                    without[side, kept] = cost_of[side] - saved
                    kept += 1
            borders[side] = kept
        best = size[0] * cost_of[0] + size[1] * cost_of[1] - _LITTLE
        mover = -1
        partner = -1
        for side in range(2):
            if size[side] <= k:
                continue
            for b in range(borders[side]):
                place = border[side, b]
                bound = (size[side] - 1) * without[side, b] + (size[1 - side] + 1) * cost_of[1 - side]
                if bound >= best:
                    continue
                joined = 0.0
                for j in range(q):
                    code = codes[pool[place], j]
                    low = min(code, box[1 - side, j, 0])
                    high = max(code, box[1 - side, j, 2])
                    cost = own[1 - side, j]
                    if low < box[1 - side, j, 0] or high > box[1 - side, j, 2]:
                        cost = table_cost(model, j, low, high)
                        if cost < 0:
                            cost = walked_cost(model, j, low, high)
                    joined += cost
                total = (size[side] - 1) * without[side, b] + (size[1 - side] + 1) * joined
                if total < best and (ledger.each_once or _legal_after(pool, left, place, -1, room, ledger)):
                    best = total
                    mover = place
                    partner = -1
        for b in range(borders[0]):
            for d in range(borders[1]):
                if size[0] * without[0, b] + size[1] * without[1, d] >= best:
                    continue
                total = 0.0
                for side in range(2):
                    gone = codes[pool[border[0, b] if side == 0 else border[1, d]]]
                    come = codes[pool[border[1, d] if side == 0 else border[0, b]]]
                    for j in range(q):
                        low = box[side, j, 1] if gone[j] == box[side, j, 0] else box[side, j, 0]
                        high = box[side, j, 3] if gone[j] == box[side, j, 2] else box[side, j, 2]
                        low = min(low, come[j])
                        high = max(high, come[j])
                        cost = own[side, j]
                        if low != box[side, j, 0] or high != box[side, j, 2]:
                            cost = table_cost(model, j, low, high)
                            if cost < 0:
                                cost = walked_cost(model, j, low, high)
                        total += cost * size[side]
                    if total >= best:
                        break
                if total < best and (
                    ledger.each_once or _legal_after(pool, left, border[0, b], border[1, d], room, ledger)
                ):
                    best = total
                    mover = border[0, b]
                    partner = border[1, d]
        if mover >= 0:
            changed += 1
            if partner >= 0:
                pool[mover], pool[partner] = pool[partner], pool[mover]
            elif mover < left:
                pool[mover], pool[left - 1] = pool[left - 1], pool[mover]
                ends[c] -= 1
            else:
                pool[mover], pool[left] = pool[left], pool[mover]
                ends[c] += 1
        start = ends[c]
    return changed
