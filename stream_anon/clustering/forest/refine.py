"""REFINE: neighbouring classes are split anew along one attribute, and border rows move or change places."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.legality import Ledger, is_legal
from stream_anon.compiled import kernel
from stream_anon.privacy.cost import CostModel, table_cost, walked_cost

_TRIES = 4  # illegal cuts after which a pair is left as it is


@kernel
def box_cost(codes: NDArray[np.int32], rows: NDArray[np.int64], model: CostModel) -> float:
    """Return the NCP of the box around rows of codes int32[n, q], summed over attributes."""
    total = 0.0
    for j in range(codes.shape[1]):
        low = codes[rows[0], j]
        high = low
        for i in range(1, len(rows)):
            code = codes[rows[i], j]
            low = min(low, code)
            high = max(high, code)
        cost = table_cost(model, j, low, high)
        if cost < 0:
            cost = walked_cost(model, j, low, high)
        total += cost
    return total


@kernel
def _sort_by(codes: NDArray[np.int32], j: int, rows: NDArray[np.int64], keys: NDArray[np.int32]) -> None:
    """Sort rows by attribute `j`, equal ones in their order; keys int32[m] is room."""
    for i in range(len(rows)):
        keys[i] = codes[rows[i], j]
    if len(rows) > 64:
        rows[:] = rows[np.argsort(keys[: len(rows)], kind="mergesort")]
        return
    for i in range(1, len(rows)):
        key = keys[i]
        row = rows[i]
        place = i
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            rows[place] = rows[place - 1]
            place -= 1
        keys[place] = key
        rows[place] = row


@kernel
def _prefix_costs(
    codes: NDArray[np.int32], rows: NDArray[np.int64], model: CostModel, backwards: bool, costs: NDArray[np.float64]
) -> None:
    """Write costs[i], the NCP of the box around the first (or last) i + 1 rows."""
    q = codes.shape[1]
    m = len(rows)
    low = np.empty(q, np.int32)
    high = np.empty(q, np.int32)
    own = np.empty(q, np.float64)
    total = 0.0
    for i in range(m):
        row = rows[m - 1 - i] if backwards else rows[i]
        for j in range(q):
            code = codes[row, j]
            if i == 0:
                low[j] = code
                high[j] = code
                own[j] = table_cost(model, j, code, code)
                if own[j] < 0:
                    own[j] = walked_cost(model, j, code, code)
                total += own[j]
            elif code < low[j] or code > high[j]:
                low[j] = min(low[j], code)
                high[j] = max(high[j], code)
                fresh = table_cost(model, j, low[j], high[j])
                if fresh < 0:
                    fresh = walked_cost(model, j, low[j], high[j])
                total += fresh - own[j]
                own[j] = fresh
        costs[i] = total


@kernel
def resplit(codes: NDArray[np.int32], pool: NDArray[np.int64], left: int, model: CostModel, ledger: Ledger) -> int:
    """Cut the pooled rows of two classes at the best place along the best attribute, if that is cheaper.

    Parameters
    ----------
    codes
        int32[n, q].
    pool
        int64[m], the first `left` are one class, the rest the other; reordered in place if a cut is kept.

    Returns
    -------
    int
        How many rows the first class has now. O(q m log m + q^2 m).
    """
    m = len(pool)
    q = codes.shape[1]
    k = ledger.k
    old = left * box_cost(codes, pool[:left], model) + (m - left) * box_cost(codes, pool[left:], model)
    union = box_cost(codes, pool, model)
    if old <= 0 or union <= 0:
        return left
    fore = np.empty(m, np.float64)
    back = np.empty(m, np.float64)
    keys = np.empty(m, np.int32)
    rows = pool.copy()
    refused = 0
    bar = -1.0  # cuts up to this cost were found illegal
    while refused < _TRIES:
        best = old - 1e-9
        axis = -1
        cut = 0
        for j in range(q):
            _sort_by(codes, j, rows, keys)
            if keys[0] == keys[m - 1]:
                continue
            _prefix_costs(codes, rows, model, False, fore)
            _prefix_costs(codes, rows, model, True, back)
            for i in range(k, m - k + 1):
                cost = i * fore[i - 1] + (m - i) * back[m - i - 1]
                if bar < cost < best:
                    best = cost
                    axis = j
                    cut = i
            rows[:] = pool
        if axis < 0:
            return left
        _sort_by(codes, axis, rows, keys)
        if is_legal(rows[:cut], ledger) and is_legal(rows[cut:], ledger):
            pool[:] = rows
            return cut
        rows[:] = pool
        bar = best
        refused += 1
    return left


@kernel
def _extremes(codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int32]) -> None:
    """Write per attribute the least, second least, greatest and second greatest code; ends int32[q, 4]."""
    for j in range(codes.shape[1]):
        first = codes[rows[0], j]
        ends[j, 0] = first
        ends[j, 1] = 2147483647
        ends[j, 2] = first
        ends[j, 3] = -1
        for i in range(1, len(rows)):
            code = codes[rows[i], j]
            if code < ends[j, 0]:
                ends[j, 1] = ends[j, 0]
                ends[j, 0] = code
            elif code < ends[j, 1]:
                ends[j, 1] = code
            if code > ends[j, 2]:
                ends[j, 3] = ends[j, 2]
                ends[j, 2] = code
            elif code > ends[j, 3]:
                ends[j, 3] = code


@kernel
def _cost_without(
    codes: NDArray[np.int32], row: int, ends: NDArray[np.int32], model: CostModel, added: int
) -> float:
    """Return the NCP of a class's box without `row` (if >= 0) and with `added` (if >= 0)."""
    total = 0.0
    for j in range(codes.shape[1]):
        low = ends[j, 0]
        high = ends[j, 2]
        if row >= 0:
            code = codes[row, j]
            if code == low:
                low = ends[j, 1]
            if code == high:
                high = ends[j, 3]
        if added >= 0:
            code = codes[added, j]
            low = min(low, code)
            high = max(high, code)
        cost = table_cost(model, j, low, high)
        if cost < 0:
            cost = walked_cost(model, j, low, high)
        total += cost
    return total


@kernel
def _legal_after(
    pool: NDArray[np.int64], left: int, moved: int, other: int, room: NDArray[np.int64], ledger: Ledger
) -> bool:
    """Return whether both classes stay legal if the row at place `moved` leaves its class for the other.

    With `other` >= 0 the row at that place of the other class comes in exchange.
    """
    if ledger.each_once:
        return True  # the caller keeps sizes
    m = len(pool)
    count = 0
    for i in range(left):
        if i not in (moved, other):
            room[count] = pool[i]
            count += 1
    comer = moved if moved >= left else other
    if comer >= 0:
        room[count] = pool[comer]
        count += 1
    if not is_legal(room[:count], ledger):
        return False
    count = 0
    for i in range(left, m):
        if i not in (moved, other):
            room[count] = pool[i]
            count += 1
    comer = moved if moved < left else other
    if comer >= 0:
        room[count] = pool[comer]
        count += 1
    return is_legal(room[:count], ledger)


@kernel
def swap(codes: NDArray[np.int32], pool: NDArray[np.int64], left: int, model: CostModel, ledger: Ledger) -> int:
    """Move the border row that pays most to the other class, or exchange two; return the first class's size.

    Parameters
    ----------
    codes
        int32[n, q].
    pool
        int64[m], the first `left` rows are one class, the rest the other; reordered in place.
    """
    m = len(pool)
    q = codes.shape[1]
    k = ledger.k
    ends_a = np.empty((q, 4), np.int32)
    ends_b = np.empty((q, 4), np.int32)
    _extremes(codes, pool[:left], ends_a)
    _extremes(codes, pool[left:], ends_b)
    cost_a = _cost_without(codes, -1, ends_a, model, -1)
    cost_b = _cost_without(codes, -1, ends_b, model, -1)
    old = left * cost_a + (m - left) * cost_b
    without = np.empty(m, np.float64)
    for i in range(m):
        if i < left:
            without[i] = _cost_without(codes, pool[i], ends_a, model, -1)
        else:
            without[i] = _cost_without(codes, pool[i], ends_b, model, -1)
    best = old - 1e-9
    mover = -1
    other = -1
    room = np.empty(m, np.int64)
    for i in range(m):
        inside = cost_a if i < left else cost_b
        if without[i] >= inside - 1e-12:
            continue  # not a border row: its class gains nothing by its leaving
        if i < left:
            joined = _cost_without(codes, -1, ends_b, model, pool[i])
            moved = (left - 1) * without[i] + (m - left + 1) * joined
            allowed = left > k
        else:
            joined = _cost_without(codes, -1, ends_a, model, pool[i])
            moved = (m - left - 1) * without[i] + (left + 1) * joined
            allowed = m - left > k
        if allowed and moved < best and _legal_after(pool, left, i, -1, room, ledger):
            best = moved
            mover = i
            other = -1
        if i < left:
            for t in range(left, m):
                if without[t] < cost_b - 1e-12 or without[t] == cost_b:
                    # A bound that needs no look-up: what either class has without the leaver only grows.
                    if left * without[i] + (m - left) * without[t] >= best:
                        continue
                    changed = left * _cost_without(codes, pool[i], ends_a, model, pool[t]) + (
                        m - left
                    ) * _cost_without(codes, pool[t], ends_b, model, pool[i])
                    if changed < best and _legal_after(pool, left, i, t, room, ledger):
                        best = changed
                        mover = i
                        other = t
    if mover < 0:
        return left
    if other >= 0:
        pool[mover], pool[other] = pool[other], pool[mover]
        return left
    if mover < left:
        pool[mover], pool[left - 1] = pool[left - 1], pool[mover]
        return left - 1
    pool[mover], pool[left] = pool[left], pool[mover]
    return left + 1


@kernel
def refine_pass(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    model: CostModel,
    ledger: Ledger,
) -> None:
    """Refine each pair of neighbouring classes once, in order.

    Parameters
    ----------
    codes
        int32[n, q].
    rows
        int64[m], class after class; reordered in place.
    ends
        int64[c], where each class ends in `rows`; changed in place.
    """
    start = 0
    for c in range(len(ends) - 1):
        stop = ends[c + 1]
        pool = rows[start:stop]
        left = resplit(codes, pool, ends[c] - start, model, ledger)
        left = swap(codes, pool, left, model, ledger)
        ends[c] = start + left
        start = ends[c]
