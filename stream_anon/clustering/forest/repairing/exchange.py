"""What it costs a failing class to take a row from another, or to exchange one of its own for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.cost_tables import LITTLE
from stream_anon.clustering.forest.repairing.groups import Groups, grown_loss
from stream_anon.clustering.forest.repairing.workspace import EXCHANGE, TAKE, Desk
from stream_anon.clustering.legality import deficit
from stream_anon.clustering.rules import Rules
from stream_anon.clustering.work_limit import spend
from stream_anon.compiled import bare_inlined, bare_kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel


@bare_kernel
def find_edges(groups: Groups, rows: NDArray[np.int64], edges: NDArray[np.int32]) -> None:
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


@bare_kernel
def most_ease(f: int, m: int, groups: Groups, model: CostModel, desk: Desk) -> float:
    """Write by how much the NCP of the failing class falls without each of its rows; return the most."""
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
            cost = interval_cost(model, j, low, high)
            ease += groups.costs[f, j] - cost
        desk.ease[i] = ease
        most = max(most, ease)
    return most


@bare_kernel
def alike(one: int, other: int, rules: Rules) -> bool:
    """Return whether all criteria see the same in two rows."""
    for d in range(1 if rules.singles else 0, 1 + len(rules.asked)):
        if rules.columns[d, one] != rules.columns[d, other]:
            return False
    return True


@bare_kernel
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


@bare_kernel
def is_spare(groups: Groups, model: CostModel, rules: Rules, desk: Desk, row: int, substitute: int) -> bool:
    """Write a row's relief; return whether its class is no worse without it, or with the substitute for it."""
    c = groups.owner[row]
    count = _without(groups, c, row, desk.other)
    spend(rules, count)
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
        cost = interval_cost(model, j, low, high)
        relief += groups.costs[c, j] - cost
    desk.relief[row] = relief
    if count >= rules.k and deficit(desk.other[:count], rules, desk.parts) <= groups.lack[c]:
        return True
    desk.other[count] = substitute
    return bool(deficit(desk.other[: count + 1], rules, desk.parts) <= groups.lack[c])


@bare_inlined
def is_too_dear(
    f: int, m: int, comer: int, best: float, ease: float, groups: Groups, model: CostModel, desk: Desk
) -> bool:
    """Return whether a row has no price below `best`, even if the row that eases its class most went for it.

    Most rows are too dear: it is seen here, where no call is made.
    """
    b = groups.owner[comer]
    size = groups.size[b]
    rest = groups.loss[b] - desk.relief[comer]
    old = m * groups.loss[f] + size * groups.loss[b]
    spent = max(best, 0.0) * (groups.lack[f] + groups.lack[b]) + old - size * rest
    ceiling = max((spent + rest) / (m + 1), spent / m + ease)
    return bool(grown_loss(groups, f, comer, ceiling, model) >= ceiling)


@bare_kernel
def price_row(
    f: int,
    m: int,
    comer: int,
    best: float,
    groups: Groups,
    model: CostModel,
    rules: Rules,
    desk: Desk,
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
    grown = groups.loss[f]
    for j in range(q):
        grown_by[j] = groups.costs[f, j]
        code = codes[comer, j]
        if code < edges[j, 0] or code > edges[j, 2]:
            low = min(edges[j, 0], code)
            high = max(edges[j, 2], code)
            grown_by[j] = interval_cost(model, j, low, high)
            grown += grown_by[j] - groups.costs[f, j]
    _without(groups, b, comer, other)
    spend(rules, m + count)
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
            rest_by[j] = interval_cost(model, j, low, high)
    change = (m + 1) * grown + count * rest - old
    if change < max(best, 0.0) * before:
        left = deficit(other[:count], rules, desk.parts)
        if left <= groups.lack[b]:
            room[m] = comer
            drop = before - left - deficit(room[: m + 1], rules, desk.parts)
            if drop > LITTLE and change / drop < best:
                best = change / drop
                desk.step[0] = TAKE
                desk.step[1] = b
                desk.step[2] = comer
    known = -1
    drop = 0.0
    for i in range(m):
        goer = room[i]
        # Where nothing changes but the row, nothing is mended; and most rows ease their class too little.
        limit = max(best, 0.0) * before
        if m * (grown - desk.ease[i]) + (count + 1) * rest - old >= limit or alike(goer, comer, rules):
            continue
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
            cost = interval_cost(model, j, low, high)
            own += cost - grown_by[j]
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
            cost = interval_cost(model, j, low, high)
            theirs += cost - rest_by[j]
        change = m * own + (count + 1) * theirs - old
        if change >= limit:
            continue
        if known < 0 or not alike(goer, known, rules):
            known = goer
            other[count] = goer
            left = deficit(other[: count + 1], rules, desk.parts)
            drop = 0.0
            if left <= groups.lack[b]:
                room[i] = comer
                drop = before - left - deficit(room[:m], rules, desk.parts)
                room[i] = goer
        if drop > LITTLE and change / drop < best:
            best = change / drop
            desk.step[0] = EXCHANGE
            desk.step[1] = b
            desk.step[2] = comer
            desk.step[3] = goer
    return best
