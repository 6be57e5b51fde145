"""PEEL: rows at the rim of a class, or all of them, join other classes where that is cheaper."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.array_copying import copy_to
from stream_anon.clustering.forest.cost_tables import LITTLE
from stream_anon.clustering.forest.refining.split import one_way_losses, sort_codes
from stream_anon.clustering.forest.repairing.groups import Groups, Lines, join, leave, listed, measure, members
from stream_anon.clustering.forest.repairing.places import Search, cheapest_class, forget, widen
from stream_anon.clustering.legality import is_legal
from stream_anon.clustering.rules import Rules
from stream_anon.clustering.work_limit import allow, is_spent
from stream_anon.compiled import bare_kernel, kernel
from stream_anon.privacy.costs.model import CostModel

_SURE = 3  # rows after which it is clear what the others will cost
_TOO_DEAR = 1.1
_HIGH = 0.7  # times the mean loss: classes below it have little to gain
_LOOKS = 320  # for each row of the window: rows that may be looked at; `alpha: 0.8` on Adult needs 300


def peeled(
    groups: Groups, lines: Lines, model: CostModel, rules: Rules
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and ends of the classes after `peel_pass`."""
    allow(rules, _LOOKS, len(groups.owner))
    peel_pass(groups, lines, model, rules)
    rows, ends = listed(groups)
    return rows, ends


class _Held(NamedTuple):
    """The m rows of a class, and room to choose among them.

    Parameters
    ----------
    rows, along, going
        int64[m]: the rows as the class holds them, along one attribute, and those that shall go.
    growth
        float64[m], by how much the loss grows where each of `rows` would go.
    keys, counts
        int32[m], int64[m], room to sort in.
    places, staying
        int64[q, m], where the rows stand along each attribute; float64[q, 2, m], what a record loses where only the
        first rows from either end stay.
    """

    rows: NDArray[np.int64]
    along: NDArray[np.int64]
    going: NDArray[np.int64]
    growth: NDArray[np.float64]
    keys: NDArray[np.int32]
    counts: NDArray[np.int64]
    places: NDArray[np.int64]
    staying: NDArray[np.float64]


@kernel
def _hold(m: int, q: int) -> _Held:
    return _Held(
        np.empty(m, np.int64),
        np.empty(m, np.int64),
        np.empty(m, np.int64),
        np.empty(m, np.float64),
        np.empty(m, np.int32),
        np.empty(m, np.int64),
        np.empty((q, m), np.int64),
        np.empty((q, 2, m), np.float64),
    )


@kernel
def peel_pass(groups: Groups, lines: Lines, model: CostModel, rules: Rules) -> int:
    """Let the rows of each class go that pay most; return how many classes lost rows.

    Of each class a prefix or suffix along one attribute goes, or all of it, if what is left is legal and the loss
    falls by more than the rows cost where they go, each one in the cheapest legal class near it. They go one by
    one, each at the price it then finds, and come back if that did not pay. Where classes are large, each row is
    dear: once as many rows were looked at as are allowed, the classes still to come are left as they are.
    """
    n, q = groups.codes.shape
    held = _hold(0, q)
    search = Search(
        np.empty((2, 2, 4), np.int64), np.empty(n + 1, np.int64), np.empty(len(lines.kinds), np.float64)
    )
    changed = 0
    total = 0.0
    for c in range(len(groups.head)):
        total += groups.size[c] * groups.loss[c]
    mean = total / max(n, 1)
    for c in range(len(groups.head)):
        if is_spent(rules):
            break
        m = groups.size[c]
        if groups.loss[c] < _HIGH * mean or m * groups.loss[c] <= LITTLE:
            continue
        if m > len(held.rows):
            held = _hold(2 * m, q)
        members(groups, c, held.rows)
        forget(search.near)
        saved = _most_saved(groups, c, model, rules.k, held)
        total, least = _price_rows(groups, c, lines, model, rules, saved, held, search)
        if is_spent(rules):
            break
        leaving = _choose(groups, c, rules, saved, total, least, held)
        if leaving and _let_go(groups, lines, model, rules, c, held.going[:leaving], search):
            changed += 1
    return changed


@bare_kernel
def _turn_along(held: _Held, m: int, j: int, way: int) -> None:
    """Write the rows along an attribute, from its least or its greatest code."""
    for i in range(m):
        held.along[i] = held.rows[held.places[j, i if way == 0 else m - 1 - i]]


@bare_kernel
def _most_saved(groups: Groups, c: int, model: CostModel, k: int, held: _Held) -> float:
    """Return what a class would save at most if the rows at one of its ends went for nothing."""
    m = groups.size[c]
    saved = 0.0
    for j in range(groups.codes.shape[1]):
        if m <= k or groups.low[c, j] == groups.high[c, j]:
            continue
        for i in range(m):
            held.keys[i] = groups.codes[held.rows[i], j]
        sort_codes(held.keys, held.places[j, :m], held.counts)
        for way in range(2):
            _turn_along(held, m, j, way)
            one_way_losses(groups.codes, held.along[:m], model, k, held.staying[j, way])
            for stay in range(k, m):
                saved = max(saved, m * groups.loss[c] - stay * held.staying[j, way, stay - 1])
    return saved


@bare_kernel
def _price_rows(
    groups: Groups,
    c: int,
    lines: Lines,
    model: CostModel,
    rules: Rules,
    saved: float,
    held: _Held,
    search: Search,
) -> tuple[float, float]:
    """Write by how much the loss grows where each row would go; return the sum and the least.

    The sum is inf if it is too much. It stops once neither all rows nor those at an end can pay.
    """
    m = groups.size[c]
    cost = m * groups.loss[c]
    total = 0.0
    least = np.inf
    for i in range(m):
        # Whole classes seldom go: once the rows so far cost more than their part, only the rim is looked at.
        if i >= _SURE and total * m > _TOO_DEAR * cost * i:
            total = np.inf
        bound = max(saved, cost - total)
        if bound <= LITTLE or is_spent(rules):
            break
        _, growth = cheapest_class(groups, lines, model, rules, held.rows[i], bound, search)
        held.growth[i] = growth
        total += growth
        least = min(least, growth)
    return total, least


@bare_kernel
def _choose(groups: Groups, c: int, rules: Rules, saved: float, total: float, least: float, held: _Held) -> int:
    """Write the rows that pay most if they go, and return their number; 0 if none pay."""
    m = groups.size[c]
    cost = m * groups.loss[c]
    most = LITTLE
    leaving = 0
    if cost - total > most:
        most = cost - total
        leaving = m
        copy_to(held.going[:m], held.rows[:m])
    if saved - least <= most:
        return leaving
    for j in range(groups.codes.shape[1]):
        if m <= rules.k or groups.low[c, j] == groups.high[c, j]:
            continue
        for way in range(2):
            spent = 0.0
            for stay in range(m - 1, rules.k - 1, -1):
                spent += held.growth[held.places[j, stay if way == 0 else m - 1 - stay]]
                if spent >= saved - most:
                    break
                gain = cost - stay * held.staying[j, way, stay - 1] - spent
                if gain > most and not is_spent(rules):
                    _turn_along(held, m, j, way)
                    if is_legal(held.along[:stay], rules):
                        most = gain
                        leaving = m - stay
                        copy_to(held.going[:leaving], held.along[stay:m])
    return leaving


@bare_kernel
def _let_go(
    groups: Groups,
    lines: Lines,
    model: CostModel,
    rules: Rules,
    c: int,
    going: NDArray[np.int64],
    search: Search,
) -> bool:
    """Move rows of a class one by one, all back if the loss did not fall; return whether they went."""
    room = search.room
    saved = groups.size[c] * groups.loss[c]
    moved = 0
    for row in going:
        forget(search.near)  # the row before has moved
        target, growth = cheapest_class(groups, lines, model, rules, row, np.inf, search)
        if target < 0 or is_spent(rules):
            saved = -1.0
            break
        leave(groups, row)
        join(groups, row, target)
        widen(groups, target, row, model)
        saved -= growth
        moved += 1
    measure(groups, c, model)
    saved -= groups.size[c] * groups.loss[c]
    if saved > LITTLE:
        return True
    for i in range(moved):
        room[i] = groups.owner[going[i]]
        leave(groups, going[i])
        join(groups, going[i], c)
        groups.lack[room[i]] = 1.0  # to be measured, once
    for i in range(moved):
        if groups.lack[room[i]] > 0:
            groups.lack[room[i]] = 0.0
            measure(groups, room[i], model)
    measure(groups, c, model)
    return False
