"""REFINE, second part: border rows move to the neighbouring class or change places with one of its.

::

    a b │ c      d │ e f      d lies at the border of the left class: it moves to the right one, or changes
    └──── left ────┘ └ right  places with a border row there, whatever is cheapest
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.array_copying import copy_to
from stream_anon.clustering.forest.cost_tables import LITTLE, widest_set
from stream_anon.clustering.forest.refining.pair import (
    NOBODY,
    Pair,
    cost_after,
    forget,
    look_at,
    new_pair,
)
from stream_anon.clustering.legality import is_legal
from stream_anon.clustering.rules import Rules
from stream_anon.clustering.work_limit import is_spent
from stream_anon.compiled import bare_inlined, kernel
from stream_anon.privacy.costs.model import CostModel


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


@bare_inlined
def _loss_moved(pair: Pair, counts: NDArray[np.int32] | None, side: int, b: int, best: float) -> float:
    """Return the loss of both classes after border row `b` of one joined the other; inf where it exceeds `best`."""
    far = 1 - side
    left = (pair.size[side] - 1) * pair.without[side, b]
    if left + (pair.size[far] + 1) * pair.cost[far] >= best:
        return np.inf
    row = pair.rows[pair.border[side, b]]
    joined = 0.0
    for j in range(pair.codes.shape[1]):
        joined += cost_after(pair, counts, far, j, NOBODY, pair.codes[row, j])
    return float(left + (pair.size[far] + 1) * joined)


@bare_inlined
def _loss_exchanged(pair: Pair, counts: NDArray[np.int32] | None, side: int, b: int, d: int, best: float) -> float:
    """Return the loss after border row `b` of a class and `d` of the other changed places; inf from `best` on."""
    if pair.size[side] * pair.without[side, b] + pair.size[1 - side] * pair.without[1 - side, d] >= best:
        return np.inf
    one = pair.rows[pair.border[side, b]]
    other = pair.rows[pair.border[1 - side, d]]
    # The second class costs at least what it does without the row that leaves it.
    rest = pair.size[1 - side] * pair.without[1 - side, d]
    total = 0.0
    for turn in range(2):
        own = side if turn == 0 else 1 - side
        gone = one if turn == 0 else other
        come = other if turn == 0 else one
        bound = (best - rest - total) / pair.size[own]
        rest = 0.0
        cost = 0.0
        for j in range(pair.codes.shape[1]):
            cost += cost_after(pair, counts, own, j, pair.codes[gone, j], pair.codes[come, j])
            if cost >= bound:
                return np.inf
        total += cost * pair.size[own]
    return total


def swap_pass(
    codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int64], model: CostModel, rules: Rules
) -> int:
    """Move or exchange border rows between neighbours where that is cheaper; return how many pairs changed.

    A class that a row leaves must stay large enough. Arguments are those of `resplit_pass`. A published set counts
    as the interval around it: see `swap_sets`.
    """
    return _swap(codes, rows, ends, model, rules, None)


def swap_sets(
    codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int64], model: CostModel, rules: Rules
) -> int:
    """Do as `swap_pass`, with the cost of the values that occur where sets are published."""
    counts = np.zeros((2, codes.shape[1], widest_set(model)), np.int32)
    return _swap(codes, rows, ends, model, rules, counts)


@kernel
def _swap(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    model: CostModel,
    rules: Rules,
    counts: NDArray[np.int32] | None,
) -> int:
    """Do as `swap_pass`; see `pair` for the counts, which are all zero."""
    pair = new_pair(codes, rows, model, 2 * codes.shape[1] if counts is None else len(rows))
    changed = 0
    room = np.empty(0, np.int64)
    near = 0  # the left class in `pair`; the right one is the other
    known = False  # whether the left class has been looked at, as the right one of the pair before
    start = 0
    for c in range(len(ends) - 1):
        if is_spent(rules):
            break
        middle = ends[c]
        stop = ends[c + 1]
        if not known:
            look_at(pair, counts, near, start, middle)
        look_at(pair, counts, 1 - near, middle, stop)
        pool = rows[start:stop]
        if stop - start > len(room):
            room = np.empty(2 * (stop - start), np.int64)
        best = pair.size[0] * pair.cost[0] + pair.size[1] * pair.cost[1] - LITTLE
        mover = NOBODY
        partner = NOBODY
        for turn in range(2):
            side = near if turn == 0 else 1 - near
            for b in range(pair.borders[side] if pair.size[side] > rules.k else 0):
                place = pair.border[side, b] - start
                loss = _loss_moved(pair, counts, side, b, best)
                if loss < best and (
                    rules.each_once or stays_legal(pool, middle - start, place, NOBODY, room, rules)
                ):
                    best = loss
                    mover = place
        for b in range(pair.borders[near]):
            for d in range(pair.borders[1 - near]):
                one = pair.border[near, b] - start
                other = pair.border[1 - near, d] - start
                loss = _loss_exchanged(pair, counts, near, b, d, best)
                if loss < best and (rules.each_once or stays_legal(pool, middle - start, one, other, room, rules)):
                    best = loss
                    mover = one
                    partner = other
        known = mover < 0
        forget(pair, counts, near, start, middle)
        if not known:
            forget(pair, counts, 1 - near, middle, stop)
            ends[c] += move_row(pool, middle - start, mover, partner)
            changed += 1
        start = ends[c]
        near = 1 - near
    return changed
