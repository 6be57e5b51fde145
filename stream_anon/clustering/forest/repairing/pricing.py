"""PRICE: the cheapest step that brings a failing class nearer to legal, per unit of deficit that it removes."""

from __future__ import annotations

import numpy as np

from stream_anon.clustering.forest.cost_tables import LITTLE
from stream_anon.clustering.forest.repairing.exchange import find_edges, is_spare, is_too_dear, most_ease, price_row
from stream_anon.clustering.forest.repairing.groups import Groups, Lines, members
from stream_anon.clustering.forest.repairing.workspace import MERGE, NOTHING, Desk
from stream_anon.clustering.legality import deficit
from stream_anon.clustering.rules import Rules
from stream_anon.clustering.work_limit import spend
from stream_anon.compiled import bare_inlined, bare_kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel

_NEXT_TO = 2  # rows whose classes are looked at whatever they hold
_OWNERS = 2  # rows that would help whose classes are looked at
_SPARE = 8  # rows that would help and can be spared
_STEPS = 48  # runs looked at


@bare_inlined
def _price_merge(
    f: int, m: int, b: int, best: float, groups: Groups, model: CostModel, rules: Rules, desk: Desk
) -> float:
    """Return the price of joining two classes, or `best` if it is no lower."""
    size = groups.size[b]
    before = groups.lack[f] + groups.lack[b]
    now = m * groups.loss[f] + size * groups.loss[b]
    ceiling = (max(best, 0.0) * before + now) / (m + size)
    union = groups.loss[f]
    for j in range(groups.codes.shape[1]):
        low = groups.low[f, j]
        high = groups.high[f, j]
        if groups.low[b, j] < low or groups.high[b, j] > high:
            low = min(low, groups.low[b, j])
            high = max(high, groups.high[b, j])
            cost = interval_cost(model, j, low, high)
            union += cost - groups.costs[f, j]
        if union >= ceiling:
            return best
    change = (m + size) * union - now
    count = members(groups, b, desk.room[m:])
    left = deficit(desk.room[: m + count], rules, desk.parts)
    drop = before - left
    if drop <= LITTLE or (groups.lack[b] <= 0 and left > 0) or change / drop >= best:
        return best
    desk.step[0] = MERGE
    desk.step[1] = b
    return float(change / drop)


@bare_kernel
def price(f: int, groups: Groups, lines: Lines, model: CostModel, rules: Rules, desk: Desk) -> float:
    """Write the cheapest step for the failing class `f` into `desk.step`; return its price, inf if there is none.

    Price: change of the loss per unit of deficit removed. Looked at, from the middle row of the class, on both
    lines in both directions: the next rows, and for each part of the deficit the next rows that would lower it,
    skipping runs of kinds that would not. No class is given up here, row by row: PEEL does that as well.
    """
    n = len(groups.owner)
    m = members(groups, f, desk.room)
    spend(rules, 2 * m)
    room = desk.room
    deficit(room[:m], rules, desk.own)
    find_edges(groups, room[:m], desk.edges)
    ease = most_ease(f, m, groups, model, desk)
    desk.stamp[0] += 1
    stamp = desk.stamp[0]
    desk.asked_class[f] = stamp
    desk.step[0] = NOTHING
    desk.step[1] = f
    best = np.inf
    row = room[m // 2]
    for o in range(2):
        for way in range(2):
            p = lines.place[o, row]
            found = 0
            for _ in range(_STEPS):
                p += 1 - 2 * way
                if p < 0 or p >= n or found == _NEXT_TO:
                    break
                b = groups.owner[lines.along[o, p]]
                if b == f:
                    continue
                found += 1
                if desk.asked_class[b] != stamp:
                    desk.asked_class[b] = stamp
                    best = _price_merge(f, m, b, best, groups, model, rules, desk)
            for d in range(len(lines.kinds)):
                if desk.own[d] <= 0:
                    continue
                p = lines.place[o, row] + 1 - 2 * way
                owners = 0
                spare = 0
                for _ in range(_STEPS):
                    if p < 0 or p >= n or (owners >= _OWNERS and spare >= _SPARE):
                        break
                    comer = lines.along[o, p]
                    kind = lines.kinds[d, comer]
                    if kind >= 0 and desk.helps[d, kind] < 2 * stamp:
                        room[m] = comer
                        deficit(room[: m + 1], rules, desk.parts)
                        better = desk.parts[d] < desk.own[d] - LITTLE
                        desk.helps[d, kind] = 2 * stamp + (1 if better else 0)
                    if kind < 0 or desk.helps[d, kind] == 2 * stamp:
                        p = lines.skip[d, o, way, p]
                        continue
                    p += 1 - 2 * way
                    b = groups.owner[comer]
                    if b == f:
                        continue
                    if owners < _OWNERS:
                        owners += 1
                        if desk.asked_class[b] != stamp:
                            desk.asked_class[b] = stamp
                            best = _price_merge(f, m, b, best, groups, model, rules, desk)
                    if spare < _SPARE:
                        if desk.spare[comer] < 0:
                            good = is_spare(groups, model, rules, desk, comer, room[0])
                            desk.spare[comer] = 1 if good else 0
                        spare += desk.spare[comer]
                        if desk.spare[comer] == 1 and desk.asked_row[comer] != stamp:
                            desk.asked_row[comer] = stamp
                            if not is_too_dear(f, m, comer, best, ease, groups, model, desk):
                                best = price_row(f, m, comer, best, groups, model, rules, desk)
    return best
