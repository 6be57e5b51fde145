"""REFINE, second part: border rows move to the neighbouring class or change places with one of its."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.budget import is_spent
from stream_anon.clustering.copying import copy_to
from stream_anon.clustering.forest.tables import cell, leading_tables
from stream_anon.clustering.legality import is_legal
from stream_anon.clustering.rules import Rules
from stream_anon.compiled import constant, kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel

_LITTLE = 1e-9
NOBODY = constant(-1)


@kernel
def move_row(pool: NDArray[np.int64], left: int, mover: int, partner: int) -> int:
    """Move a row of a pair of classes to the other one, or exchange it for `partner`; return how the first grows.

    Parameters
    ----------
    pool
        int64[m], the rows of the first class, `left` of them, and of the second.
    mover, partner
        Places in `pool`, one in each class; no partner is `NOBODY`.
    """
    if partner >= 0:
        pool[mover], pool[partner] = pool[partner], pool[mover]
        return 0
    if mover < left:
        pool[mover], pool[left - 1] = pool[left - 1], pool[mover]
        return -1
    pool[mover], pool[left] = pool[left], pool[mover]
    return 1


@kernel
def stays_legal(
    pool: NDArray[np.int64], left: int, mover: int, partner: int, room: NDArray[np.int64], rules: Rules
) -> bool:
    """Return whether both classes are legal after `move_row`; room int64[at least m] is where it is tried."""
    if is_spent(rules):
        return False
    trial = room[: len(pool)]
    copy_to(trial, pool)
    border = left + move_row(trial, left, mover, partner)
    return is_legal(trial[:border], rules) and is_legal(trial[border:], rules)


@kernel
def swap_pass(
    codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int64], model: CostModel, rules: Rules
) -> int:
    """Move or exchange border rows between neighbours where that is cheaper; return how many pairs changed.

    A border row alone holds an end of its class's box: the class becomes cheaper without it. It moves to the other
    class if its own stays large enough, or changes places with a border row of the other. Arguments are those of
    `resplit_pass`.
    """
    q = codes.shape[1]
    k = rules.k
    starts = np.empty(q, np.uint64)
    widths = np.empty(q, np.uint64)
    tabled = leading_tables(model, starts, widths)
    table = model.table
    changed = 0
    room = np.empty(0, np.int64)
    # Of either class: the ends of its box, and the box's ends without the row that alone holds one.
    least = np.empty((2, q), np.int32)
    second = np.empty((2, q), np.int32)
    most = np.empty((2, q), np.int32)
    before = np.empty((2, q), np.int32)
    own = np.empty((2, q), np.float64)
    border = np.empty((2, 2 * q), np.int64)  # places in `rows`
    without = np.empty((2, 2 * q), np.float64)  # what the class would cost without that row
    borders = np.empty(2, np.int64)
    cost_of = np.empty(2, np.float64)
    size = np.empty(2, np.int64)
    slot = 0  # of the left class; that of the right one is the other
    known = False  # whether the left class has been looked at, as the right one of the pair before
    start = 0
    for c in range(len(ends) - 1):
        if is_spent(rules):
            break
        middle = ends[c]
        stop = ends[c + 1]
        for turn in range(1 if known else 0, 2):
            side = slot if turn == 0 else 1 - slot
            first = start if turn == 0 else middle
            last = middle if turn == 0 else stop
            size[side] = last - first
            for j in range(q):
                least[side, j] = codes[rows[first], j]
                most[side, j] = least[side, j]
                second[side, j] = 2147483647
                before[side, j] = -1
            for i in range(first + 1, last):
                row = rows[i]
                for j in range(q):
                    code = codes[row, j]
                    second[side, j] = min(second[side, j], max(least[side, j], code))
                    least[side, j] = min(least[side, j], code)
                    before[side, j] = max(before[side, j], min(most[side, j], code))
                    most[side, j] = max(most[side, j], code)
            cost_of[side] = 0.0
            for j in range(q):
                if j < tabled:
                    own[side, j] = table[cell(starts[j], widths[j], least[side, j], most[side, j])]
                else:
                    own[side, j] = interval_cost(model, j, least[side, j], most[side, j])
                cost_of[side] += own[side, j]
            kept = 0
            for j in range(q):
                if least[side, j] == most[side, j]:
                    continue
                for way in range(2):
                    if (second[side, j] == least[side, j]) if way == 0 else (before[side, j] == most[side, j]):
                        continue
                    code = least[side, j] if way == 0 else most[side, j]
                    place = first
                    while codes[rows[place], j] != code:
                        place += 1
                    found = False
                    for other in range(kept):
                        found = found or border[side, other] == place
                    if found:
                        continue
                    border[side, kept] = place
                    kept += 1
            borders[side] = kept
            kept = 0
            for b in range(borders[side]):
                row = rows[border[side, b]]
                saved = 0.0
                for j in range(q):
                    code = codes[row, j]
                    low = second[side, j] if code == least[side, j] else least[side, j]
                    high = before[side, j] if code == most[side, j] else most[side, j]
                    if low > least[side, j] or high < most[side, j]:
                        if j < tabled:
                            saved += own[side, j] - table[cell(starts[j], widths[j], low, high)]
                        else:
                            saved += own[side, j] - interval_cost(model, j, low, high)
                if saved > _LITTLE:
                    border[side, kept] = border[side, b]
                    without[side, kept] = cost_of[side] - saved
                    kept += 1
            borders[side] = kept
        best = size[0] * cost_of[0] + size[1] * cost_of[1] - _LITTLE
        mover = NOBODY
        partner = NOBODY
        pool = rows[start:stop]
        if stop - start > len(room):
            room = np.empty(2 * (stop - start), np.int64)
        for turn in range(2):
            side = slot if turn == 0 else 1 - slot
            far = 1 - side
            if size[side] <= k:
                continue
            for b in range(borders[side]):
                row = rows[border[side, b]]
                left = (size[side] - 1) * without[side, b]
                if left + (size[far] + 1) * cost_of[far] >= best:
                    continue
                joined = 0.0
                for j in range(tabled):
                    low = min(codes[row, j], least[far, j])
                    high = max(codes[row, j], most[far, j])
                    joined += table[cell(starts[j], widths[j], low, high)]
                for j in range(tabled, q):
                    low = min(codes[row, j], least[far, j])
                    high = max(codes[row, j], most[far, j])
                    joined += interval_cost(model, j, low, high)
                total = left + (size[far] + 1) * joined
                if total < best and (
                    rules.each_once
                    or stays_legal(pool, middle - start, border[side, b] - start, NOBODY, room, rules)
                ):
                    best = total
                    mover = border[side, b]
                    partner = NOBODY
        for b in range(borders[slot]):
            for d in range(borders[1 - slot]):
                if size[slot] * without[slot, b] + size[1 - slot] * without[1 - slot, d] >= best:
                    continue
                # The second class costs at least what it does without the row that leaves it.
                rest = size[1 - slot] * without[1 - slot, d]
                total = 0.0
                for turn in range(2):
                    side = slot if turn == 0 else 1 - slot
                    gone = rows[border[slot, b] if turn == 0 else border[1 - slot, d]]
                    come = rows[border[1 - slot, d] if turn == 0 else border[slot, b]]
                    bound = (best - rest - total) / size[side]
                    rest = 0.0
                    cost = 0.0
                    for j in range(q):
                        low = second[side, j] if codes[gone, j] == least[side, j] else least[side, j]
                        high = before[side, j] if codes[gone, j] == most[side, j] else most[side, j]
                        low = min(low, codes[come, j])
                        high = max(high, codes[come, j])
                        if j < tabled:
                            cost += table[cell(starts[j], widths[j], low, high)]
                        else:
                            cost += interval_cost(model, j, low, high)
                        if cost >= bound:
                            break
                    total += cost * size[side]
                    if cost >= bound:
                        total = np.inf
                        break
                if total < best and (
                    rules.each_once
                    or stays_legal(
                        pool, middle - start, border[slot, b] - start, border[1 - slot, d] - start, room, rules
                    )
                ):
                    best = total
                    mover = border[slot, b]
                    partner = border[1 - slot, d]
        known = mover < 0
        if mover >= 0:
            changed += 1
            ends[c] += move_row(rows, middle, mover, partner)
        start = ends[c]
        slot = 1 - slot
    return changed
