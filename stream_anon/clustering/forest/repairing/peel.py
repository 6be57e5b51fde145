"""PEEL: rows at the rim of a class, or all of them, join other classes where that is cheaper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.budget import allow, is_spent
from stream_anon.clustering.forest.refining.split import one_way_losses, sort_codes
from stream_anon.clustering.forest.repairing.groups import Groups, Lines, join, leave, listed, measure, members
from stream_anon.clustering.forest.repairing.places import cheapest_class, forget, widen
from stream_anon.clustering.forest.tables import LITTLE
from stream_anon.clustering.legality import is_legal
from stream_anon.clustering.rules import Rules
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


@kernel
def peel_pass(groups: Groups, lines: Lines, model: CostModel, rules: Rules) -> int:
    """Let the rows of each class go that pay most; return how many classes lost rows.

    Of each class a prefix or suffix along one attribute goes, or all of it, if what is left is legal and the loss
    falls by more than the rows cost where they go, each one in the cheapest legal class near it. They go one by
    one, each at the price it then finds, and come back if that did not pay. Where classes are large, each row is
    dear: once as many rows were looked at as are allowed, the classes still to come are left as they are.
    """
    codes = groups.codes
    n, q = codes.shape
    k = rules.k
    room = np.empty(n + 1, np.int64)
    parts = np.empty(len(lines.kinds), np.float64)
    longest = 0
    rows = np.empty(0, np.int64)
    growth = np.empty(0, np.float64)
    keys = np.empty(0, np.int32)
    places = np.empty((q, 0), np.int64)
    staying = np.empty((q, 2, 0), np.float64)
    along = np.empty(0, np.int64)
    counts = np.empty(0, np.int64)
    going = np.empty(0, np.int64)
    near = np.empty((2, 2, 4), np.int64)
    changed = 0
    total = 0.0
    for c in range(len(groups.head)):
        total += groups.size[c] * groups.loss[c]
    mean = total / max(n, 1)
    for c in range(len(groups.head)):
        if is_spent(rules):
            break
        if groups.loss[c] < _HIGH * mean:
            continue
        m = groups.size[c]
        if m > longest:
            longest = 2 * m
            rows = np.empty(longest, np.int64)
            growth = np.empty(longest, np.float64)
            keys = np.empty(longest, np.int32)
            places = np.empty((q, longest), np.int64)
            staying = np.empty((q, 2, longest), np.float64)
            along = np.empty(longest, np.int64)
            counts = np.empty(longest, np.int64)
            going = np.empty(longest, np.int64)
        cost = m * groups.loss[c]
        if m == 0 or cost <= LITTLE:
            continue
        members(groups, c, rows)
        forget(near)
        # What the class would save at most if some rows went for nothing.
        saved = 0.0
        for j in range(q):
            if m <= k or groups.low[c, j] == groups.high[c, j]:
                continue
            for i in range(m):
                keys[i] = codes[rows[i], j]
            sort_codes(keys, places[j, :m], counts)
            for way in range(2):
                for i in range(m):
                    along[i] = rows[places[j, i if way == 0 else m - 1 - i]]
                one_way_losses(codes, along[:m], model, k, staying[j, way])
                for stay in range(k, m):
                    saved = max(saved, cost - stay * staying[j, way, stay - 1])
        total = 0.0
        least = np.inf
        for i in range(m):
            # Whole classes seldom go: once the rows so far cost more than their part, only the rim is looked at.
            if i >= _SURE and total * m > _TOO_DEAR * cost * i:
                total = np.inf
            bound = max(saved, cost - total)
            if bound <= LITTLE or is_spent(rules):
                break
            _, growth[i] = cheapest_class(groups, lines, model, rules, rows[i], bound, near, room, parts)
            total += growth[i]
            least = min(least, growth[i])
        if is_spent(rules):
            break
        most = LITTLE
        leaving = 0
        if cost - total > most:
            most = cost - total
            leaving = m
            for i in range(m):
                going[i] = rows[i]
        if saved - least > most:
            for j in range(q):
                if m <= k or groups.low[c, j] == groups.high[c, j]:
                    continue
                for way in range(2):
                    spent = 0.0
                    for stay in range(m - 1, k - 1, -1):
                        spent += growth[places[j, stay if way == 0 else m - 1 - stay]]
                        if spent >= saved - most:
                            break
                        gain = cost - stay * staying[j, way, stay - 1] - spent
                        if gain > most and not is_spent(rules):
                            for i in range(m):
                                along[i] = rows[places[j, i if way == 0 else m - 1 - i]]
                            if is_legal(along[:stay], rules):
                                most = gain
                                leaving = m - stay
                                for i in range(stay, m):
                                    going[i - stay] = along[i]
        if leaving and _let_go(groups, lines, model, rules, c, going[:leaving], near, room, parts):
            changed += 1
    return changed


@bare_kernel
def _let_go(
    groups: Groups,
    lines: Lines,
    model: CostModel,
    rules: Rules,
    c: int,
    going: NDArray[np.int64],
    near: NDArray[np.int64],
    room: NDArray[np.int64],
    parts: NDArray[np.float64],
) -> bool:
    """Move rows of a class one by one, all back if the loss did not fall; return whether they went."""
    saved = groups.size[c] * groups.loss[c]
    moved = 0
    for row in going:
        forget(near)  # the row before has moved
        target, growth = cheapest_class(groups, lines, model, rules, row, np.inf, near, room, parts)
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
