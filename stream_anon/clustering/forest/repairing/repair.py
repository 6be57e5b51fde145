"""REPAIR: failing classes take rows, exchange rows or merge, the cheapest step first.

It knows of the criteria only how far a class is from legal (`legality.deficit`). Every step lowers the sum of
the deficits and leaves no legal class illegal; what no step near by can mend is merged with the cheapest of all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.copying import copy_to
from stream_anon.clustering.forest.refining.split import sort_places
from stream_anon.clustering.forest.repairing.groups import Groups, Lines, join, leave, listed, members, recount
from stream_anon.clustering.forest.repairing.pricing import price
from stream_anon.clustering.forest.repairing.workspace import EXCHANGE, MERGE, NOTHING, Desk, desk_for
from stream_anon.clustering.legality import deficit
from stream_anon.clustering.rules import Rules
from stream_anon.compiled import bare_kernel, constant, kernel
from stream_anon.privacy.cost import CostModel, table_cost, walked_cost

_PATIENT_ROUNDS = 40  # from then on any price is paid
_DEARER = 1.2  # a step waits for the next round if its price rose by more than this factor
_DEARER_BY = 0.05  # and this much
_MOST_STEPS = 100  # for each failing class, so that none can be made to move rows for ever by tiny gains
_NOBODY = constant(-1)


def repaired(
    groups: Groups, lines: Lines, model: CostModel, rules: Rules
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and ends of classes that are all legal, if all rows together are."""
    desk = desk_for(groups, lines)
    repair(groups, lines, model, rules, desk)
    merge_rest(groups, model, rules, desk)
    rows, ends = listed(groups)
    return rows, ends


@kernel
def repair(groups: Groups, lines: Lines, model: CostModel, rules: Rules, desk: Desk) -> int:
    """Mend failing classes in rounds, by ascending price; return how many are left that no step can mend."""
    failing = np.empty(len(groups.head), np.int64)
    count = 0
    for c in range(len(groups.head)):
        if groups.lack[c] > 0:
            failing[count] = c
            count += 1
    prices = np.empty(count, np.float64)
    places = np.empty(count, np.int64)
    asked = np.empty(len(groups.head), np.float64)
    steps = np.empty((len(groups.head), 4), np.int64)
    versions = np.empty((len(groups.head), 2), np.int64)
    for i in range(count):
        f = failing[i]
        asked[f] = price(f, groups, lines, model, rules, desk)
        copy_to(steps[f], desk.step)
        versions[f, 0] = desk.version[f]
        versions[f, 1] = desk.version[desk.step[1]]
    rounds = 0
    steps_left = _MOST_STEPS * count
    while count:
        done = 0
        for i in range(count):
            prices[i] = asked[failing[i]]
        sort_places(prices, places[:count])
        for i in range(count):
            f = failing[places[i]]
            while groups.lack[f] > 0 and steps_left > 0:
                # A step between two classes that did not change since costs what it did then.
                if (
                    steps[f, 0] != NOTHING
                    and versions[f, 0] == desk.version[f]
                    and versions[f, 1] == desk.version[steps[f, 1]]
                ):
                    copy_to(desk.step, steps[f])
                    now = asked[f]
                else:
                    now = price(f, groups, lines, model, rules, desk)
                    limit = max(asked[f], _DEARER * asked[f]) + _DEARER_BY
                    if now == np.inf or (now > limit and rounds < _PATIENT_ROUNDS):
                        asked[f] = now
                        copy_to(steps[f], desk.step)
                        versions[f, 0] = desk.version[f]
                        versions[f, 1] = desk.version[desk.step[1]]
                        break
                steps[f, 0] = NOTHING
                _do(f, groups, model, rules, desk)
                done += 1
                steps_left -= 1
        left = 0
        hopeless = 0
        for i in range(count):
            f = failing[i]
            if groups.lack[f] > 0:
                failing[left] = f
                left += 1
                hopeless += asked[f] == np.inf
        count = left
        rounds += 1
        if steps_left <= 0 or (done == 0 and (rounds > _PATIENT_ROUNDS or hopeless == count)):
            break
    return count


@bare_kernel
def _do(f: int, groups: Groups, model: CostModel, rules: Rules, desk: Desk) -> None:
    """Do the step on the desk."""
    action = desk.step[0]
    b = desk.step[1]
    if action == MERGE:
        merge(f, b, groups)
        groups.lack[f] = 0.0
        desk.version[f] += 1
    else:
        leave(groups, desk.step[2])
        join(groups, desk.step[2], f)
        if action == EXCHANGE:
            leave(groups, desk.step[3])
            join(groups, desk.step[3], b)
        _look_again(f, groups, model, rules, desk)
    _look_again(b, groups, model, rules, desk)


@bare_kernel
def _look_again(c: int, groups: Groups, model: CostModel, rules: Rules, desk: Desk) -> None:
    """Measure and count a class that changed; forget which of its rows it can spare."""
    recount(groups, c, model, rules, desk.other, desk.parts)
    desk.version[c] += 1
    row = groups.head[c]
    while row >= 0:
        desk.spare[row] = -1
        row = groups.after[row]


@bare_kernel
def merge(f: int, b: int, groups: Groups) -> None:
    """Give all rows of `f` to `b`, whose box and deficit are left as they are."""
    row = groups.head[f]
    while row >= 0:
        ahead = groups.after[row]
        leave(groups, row)
        join(groups, row, b)
        row = ahead


@kernel
def merge_rest(groups: Groups, model: CostModel, rules: Rules, desk: Desk) -> None:
    """Merge each failing class with the class where that is cheapest, legal unions first, until all are legal."""
    codes = groups.codes
    for f in range(len(groups.head)):
        while groups.size[f] > 0 and groups.lack[f] > 0:
            m = members(groups, f, desk.room)
            partner = _NOBODY
            mends = False
            least = np.inf
            for b in range(len(groups.head)):
                size = groups.size[b]
                if b == f or size == 0:
                    continue
                union = 0.0
                for j in range(codes.shape[1]):
                    low = min(groups.low[f, j], groups.low[b, j])
                    high = max(groups.high[f, j], groups.high[b, j])
                    cost = table_cost(model, j, low, high)
                    if cost < 0:
                        cost = walked_cost(model, j, low, high)
                    union += cost
                growth = (m + size) * union - size * groups.loss[b]
                if growth >= least and mends:
                    continue
                members(groups, b, desk.room[m:])
                legal = deficit(desk.room[: m + size], rules, desk.parts) <= 0
                if (legal and not mends) or (legal == mends and growth < least):
                    partner = b
                    least = growth
                    mends = legal
            if partner < 0:
                break
            merge(partner, f, groups)
            groups.lack[partner] = 0.0
            recount(groups, f, model, rules, desk.room, desk.parts)
