"""PRICE: the cheapest step that brings a failing class nearer to legal, per unit of deficit that it removes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.groups import Groups, Lines, members
from stream_anon.clustering.forest.places import cheapest_class
from stream_anon.clustering.legality import Ledger, deficit
from stream_anon.compiled import inlined, kernel
from stream_anon.privacy.cost import CostModel, table_cost, walked_cost

NOTHING = -1
MERGE = 0  # with the class `partner`
TAKE = 1  # the row `comer` from it
EXCHANGE = 2  # the row `comer` from it for the own row `goer`
DISSOLVE = 3  # each row joins another class

_NEXT_TO = 2  # rows whose classes are looked at whatever they hold
_OWNERS = 3  # rows that would help whose classes are looked at
_SPARE = 4  # rows that would help and can be spared
_STEPS = 200  # runs looked at
_LITTLE = 1e-9


class Desk(NamedTuple):
    """Room to work in, allocated once per window.

    Parameters
    ----------
    room, other
        int64[n + 1].
    parts, own
        float64[1 + s].
    helps
        int64[1 + s, kinds], 2 x stamp + 1 for a kind that would help, 2 x stamp for one that would not.
    asked_row, asked_class
        int64[n], int64[c], stamps.
    spare
        int8[n], 1 for a row that its class can spare, 0 for one it cannot, -1 where nobody asked since it changed.
    relief
        float64[n], by how much the NCP of its class falls without a row; known where `spare` is.
    version
        int64[c], how often a class changed.
    stamp
        int64[1], the stamp used last.
    step
        int64[4], written: action, partner, comer, goer.
    edges
        int32[q, 4], least, second least, greatest, second greatest code of the failing class.
    box, costs
        int32[q, 2], the partner without the comer; float64[2, q], what each attribute costs in the failing class
        with the comer, and in the partner without.
    """

    room: NDArray[np.int64]
    other: NDArray[np.int64]
    parts: NDArray[np.float64]
    own: NDArray[np.float64]
    helps: NDArray[np.int64]
    asked_row: NDArray[np.int64]
    asked_class: NDArray[np.int64]
    spare: NDArray[np.int8]
    relief: NDArray[np.float64]
    version: NDArray[np.int64]
    stamp: NDArray[np.int64]
    step: NDArray[np.int64]
    edges: NDArray[np.int32]
    box: NDArray[np.int32]
    costs: NDArray[np.float64]


def desk_for(groups: Groups, lines: Lines) -> Desk:
    """Return room for the groups and lines of one window."""
    n, q = groups.codes.shape
    parts = len(lines.kinds)
    return Desk(
        np.empty(n + 1, np.int64),
        np.empty(n + 1, np.int64),
        np.empty(parts, np.float64),
        np.empty(parts, np.float64),
        np.zeros((parts, int(lines.kinds.max(initial=0)) + 1), np.int64),
        np.zeros(n, np.int64),
        np.zeros(len(groups.head), np.int64),
        np.full(n, -1, np.int8),
        np.zeros(n, np.float64),
        np.zeros(len(groups.head), np.int64),
        np.zeros(1, np.int64),
        np.empty(4, np.int64),
        np.empty((q, 4), np.int32),
        np.empty((q, 2), np.int32),
        np.empty((2, q), np.float64),
    )


@inlined
def _find_edges(groups: Groups, rows: NDArray[np.int64], edges: NDArray[np.int32]) -> None:
    """Write the two least and two greatest codes of each attribute, equal ones counted."""
    codes = groups.codes
    for j in range(codes.shape[1]):
        least = np.int32(2147483647)
        second = least
        most = np.int32(-1)
        before = most
        for i in range(len(rows)):
            code = codes[rows[i], j]
            if code < least:
                second = least
                least = code
            elif code < second:
                second = code
            if code > most:
                before = most
                most = code
            elif code > before:
                before = code
        edges[j, 0] = least
        edges[j, 1] = second
        edges[j, 2] = most
        edges[j, 3] = before


@inlined
def _most_ease(f: int, m: int, groups: Groups, model: CostModel, desk: Desk) -> float:
    """Return by how much the NCP of the failing class falls at most without one of its rows."""
    codes = groups.codes
    edges = desk.edges
    most = 0.0
    for i in range(m):
        ease = 0.0
        for j in range(codes.shape[1]):
            code = codes[desk.room[i], j]
            if not (code == edges[j, 0] < edges[j, 1] or code == edges[j, 2] > edges[j, 3]):
                continue
            low = edges[j, 1] if code == edges[j, 0] else edges[j, 0]
            high = edges[j, 3] if code == edges[j, 2] else edges[j, 2]
            if low > high:
                continue  # its only row
            cost = table_cost(model, j, low, high)
            if cost < 0:
                cost = walked_cost(model, j, low, high)
            ease += groups.costs[f, j] - cost
        most = max(most, ease)
    return most


@inlined
def _without(groups: Groups, c: int, row: int, rest: NDArray[np.int64]) -> int:
    """Write the rows of a class but one; return their number."""
    count = 0
    member = groups.head[c]
    while member >= 0:
        if member != row:
            rest[count] = member
            count += 1
        member = groups.after[member]
    return count


@inlined
def _spare(groups: Groups, model: CostModel, ledger: Ledger, desk: Desk, row: int, substitute: int) -> bool:
    """Write a row's relief; return whether a row's class is no worse without it, or with the substitute in its place."""
    c = groups.owner[row]
    count = _without(groups, c, row, desk.other)
    if count == 0:
        return False
    codes = groups.codes
    relief = 0.0
    for j in range(codes.shape[1]):
        mine = codes[row, j]
        if groups.low[c, j] < mine < groups.high[c, j]:
            continue
        low = codes[desk.other[0], j]
        high = low
        for i in range(1, count):
            code = codes[desk.other[i], j]
            low = min(low, code)
            high = max(high, code)
        if low <= mine <= high:
            continue
        cost = table_cost(model, j, low, high)
        if cost < 0:
            cost = walked_cost(model, j, low, high)
        relief += groups.costs[c, j] - cost
    desk.relief[row] = relief
    if count >= ledger.k and deficit(desk.other[:count], ledger, desk.parts) <= groups.lack[c]:
        return True
    desk.other[count] = substitute
    return deficit(desk.other[: count + 1], ledger, desk.parts) <= groups.lack[c]


@inlined
def _price_merge(
    f: int, m: int, b: int, best: float, groups: Groups, model: CostModel, ledger: Ledger, desk: Desk
) -> float:
    """Return the price of joining two classes, or `best` if it is no lower."""
    size = groups.size[b]
    before = groups.lack[f] + groups.lack[b]
    now = m * groups.loss[f] + size * groups.loss[b]
    ceiling = (max(best, 0.0) * before + now) / (m + size)
    union = 0.0
    for j in range(groups.codes.shape[1]):
        low = min(groups.low[f, j], groups.low[b, j])
        high = max(groups.high[f, j], groups.high[b, j])
        cost = table_cost(model, j, low, high)
        if cost < 0:
            cost = walked_cost(model, j, low, high)
        union += cost
        if union >= ceiling:
            return best
    change = (m + size) * union - now
    count = members(groups, b, desk.room[m:])
    left = deficit(desk.room[: m + count], ledger, desk.parts)
    drop = before - left
    if drop <= _LITTLE or (groups.lack[b] <= 0 and left > 0) or change / drop >= best:
        return best
    desk.step[0] = MERGE
    desk.step[1] = b
    return change / drop


@inlined
def _price_row(
    f: int, m: int, comer: int, best: float, ease: float, groups: Groups, model: CostModel, ledger: Ledger, desk: Desk
) -> float:
    """Return the price of taking a row, or of exchanging it for the best own one, or `best` if no lower."""
    codes = groups.codes
    q = codes.shape[1]
    room = desk.room
    other = desk.other
    edges = desk.edges
    box = desk.box
    grown_by = desk.costs[0]
    rest_by = desk.costs[1]
    b = groups.owner[comer]
    count = groups.size[b] - 1
    rest = groups.loss[b] - desk.relief[comer]
    old = m * groups.loss[f] + (count + 1) * groups.loss[b]
    before = groups.lack[f] + groups.lack[b]
    limit = max(best, 0.0) * before
    grown = 0.0
    for j in range(q):
        grown_by[j] = groups.costs[f, j]
        code = codes[comer, j]
        if code < edges[j, 0] or code > edges[j, 2]:
            low = min(edges[j, 0], code)
            high = max(edges[j, 2], code)
            grown_by[j] = table_cost(model, j, low, high)
            if grown_by[j] < 0:
                grown_by[j] = walked_cost(model, j, low, high)
        grown += grown_by[j]
    # Most rows are too dear even if the row that goes in exchange were the one that eases its class most.
    if min((m + 1) * grown - rest, m * (grown - ease)) + (count + 1) * rest - old >= limit:
        return best
    _without(groups, b, comer, other)
    for j in range(q):
        low = codes[other[0], j]
        high = low
        for i in range(1, count):
            code = codes[other[i], j]
            low = min(low, code)
            high = max(high, code)
        box[j, 0] = low
        box[j, 1] = high
        rest_by[j] = groups.costs[b, j]
        if low > groups.low[b, j] or high < groups.high[b, j]:
            rest_by[j] = table_cost(model, j, low, high)
            if rest_by[j] < 0:
                rest_by[j] = walked_cost(model, j, low, high)
    change = (m + 1) * grown + count * rest - old
    if change < max(best, 0.0) * before:
        left = deficit(other[:count], ledger, desk.parts)
        if left <= groups.lack[b]:
            room[m] = comer
            drop = before - left - deficit(room[: m + 1], ledger, desk.parts)
            if drop > _LITTLE and change / drop < best:
                best = change / drop
                desk.step[0] = TAKE
                desk.step[1] = b
                desk.step[2] = comer
    for i in range(m):
        goer = room[i]
        own = grown
        for j in range(q):
            code = codes[goer, j]
            # Only a row that alone holds an end of the box makes it smaller when it goes.
            if not (code == edges[j, 0] < edges[j, 1] or code == edges[j, 2] > edges[j, 3]):
                continue
            low = edges[j, 1] if code == edges[j, 0] else edges[j, 0]
            high = edges[j, 3] if code == edges[j, 2] else edges[j, 2]
            low = min(low, codes[comer, j])
            high = max(high, codes[comer, j])
            cost = table_cost(model, j, low, high)
            if cost < 0:
                cost = walked_cost(model, j, low, high)
            own += cost - grown_by[j]
        limit = max(best, 0.0) * before
        change = m * own + (count + 1) * rest - old
        if change >= limit:
            continue
        theirs = rest
        for j in range(q):
            code = codes[goer, j]
            if box[j, 0] <= code <= box[j, 1]:
                continue
            low = min(box[j, 0], code)
            high = max(box[j, 1], code)
            cost = table_cost(model, j, low, high)
            if cost < 0:
                cost = walked_cost(model, j, low, high)
            theirs += cost - rest_by[j]
        change = m * own + (count + 1) * theirs - old
        if change >= limit:
            continue
        other[count] = goer
        left = deficit(other[: count + 1], ledger, desk.parts)
        if left > groups.lack[b]:
            continue
        room[i] = comer
        drop = before - left - deficit(room[:m], ledger, desk.parts)
        room[i] = goer
        if drop > _LITTLE and change / drop < best:
            best = change / drop
            desk.step[0] = EXCHANGE
            desk.step[1] = b
            desk.step[2] = comer
            desk.step[3] = goer
    return best


@kernel
def price(
    f: int, dissolve: bool, groups: Groups, lines: Lines, model: CostModel, ledger: Ledger, desk: Desk
) -> float:
    """Write the cheapest step for the failing class `f` into `desk.step`; return its price, inf if there is none.

    Price: change of the loss per unit of deficit removed. Looked at, from the middle row of the class, on both lines
    in both directions: the next rows, and for each part of the deficit the next rows that would lower it, skipping
    runs of kinds that would not.

    Parameters
    ----------
    dissolve
        Whether the class may be given up.
    """
    n = len(groups.owner)
    m = members(groups, f, desk.room)
    room = desk.room
    deficit(room[:m], ledger, desk.own)
    _find_edges(groups, room[:m], desk.edges)
    ease = _most_ease(f, m, groups, model, desk)
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
                    best = _price_merge(f, m, b, best, groups, model, ledger, desk)
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
                        deficit(room[: m + 1], ledger, desk.parts)
                        better = desk.parts[d] < desk.own[d] - _LITTLE
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
                            best = _price_merge(f, m, b, best, groups, model, ledger, desk)
                    if spare < _SPARE:
                        if desk.spare[comer] < 0:
                            good = _spare(groups, model, ledger, desk, comer, room[0])
                            desk.spare[comer] = 1 if good else 0
                        spare += desk.spare[comer]
                        if desk.spare[comer] == 1 and desk.asked_row[comer] != stamp:
                            desk.asked_row[comer] = stamp
                            best = _price_row(f, m, comer, best, ease, groups, model, ledger, desk)
    if dissolve:
        ceiling = best * groups.lack[f] + m * groups.loss[f]
        total = 0.0
        for i in range(m):
            _, growth = cheapest_class(
                groups, lines, model, ledger, room[i], ceiling - total, desk.other, desk.parts
            )
            total += growth
            if total >= ceiling:
                break
        if total < ceiling:
            best = (total - m * groups.loss[f]) / groups.lack[f]
            desk.step[0] = DISSOLVE
    return best
