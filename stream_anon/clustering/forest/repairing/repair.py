"""REPAIR: failing classes take rows, exchange rows or merge, the cheapest step first.

It knows of the criteria only how far a class is from legal (`legality.deficit`). Every step lowers the sum of
the deficits and leaves no legal class illegal; what no step near by can mend is merged with the cheapest of all.

An attacker who writes records can choose values so that nearly all classes fail and each step mends little.
So the work is bounded, counted in rows looked at: what still fails then is merged along the line, in linear time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.array_copying import copy_to
from stream_anon.clustering.forest.refining.refine import side_by_side
from stream_anon.clustering.forest.refining.split import sort_places
from stream_anon.clustering.forest.repairing.groups import Groups, Lines, join, leave, listed, members, recount
from stream_anon.clustering.forest.repairing.pricing import price
from stream_anon.clustering.forest.repairing.workspace import EXCHANGE, MERGE, NOTHING, Desk, desk_for
from stream_anon.clustering.legality import deficit, is_legal
from stream_anon.clustering.rules import Rules
from stream_anon.clustering.work_limit import allow, is_spent, spend
from stream_anon.compiled import bare_kernel, constant, kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel

_PATIENT_ROUNDS = 40  # from then on any price is paid
_DEARER = 1.2  # a step waits for the next round if its price rose by more than this factor
_DEARER_BY = 0.05  # and this much
_MOST_STEPS = 100  # for each failing class, so that none can be made to move rows for ever by tiny gains
# For each row of the window: rows that may be looked at. 10,000 of Adult with t = 0.2 on the occupation need 2,700.
_LOOKS = 2_750
_NOBODY = constant(-1)


def repaired(
    groups: Groups, lines: Lines, model: CostModel, rules: Rules
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and ends of classes that are all legal, if all rows together are."""
    desk = desk_for(groups, lines)
    allow(rules, _LOOKS, len(groups.owner))
    repair(groups, lines, model, rules, desk)
    merge_rest(groups, model, rules, desk)
    rows, ends = listed(groups)
    if (groups.lack > 0).any():
        rows, ends = side_by_side(rows, ends, lines.along[1])
        ends = merge_along(rows, ends, rules)
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
        if is_spent(rules):
            return count
        asked[f] = price(f, groups, lines, model, rules, desk)
        copy_to(steps[f], desk.step)
        versions[f, 0] = desk.version[f]
        versions[f, 1] = desk.version[desk.step[1]]
    rounds = 0
    steps_left = _MOST_STEPS * count
    while count and not is_spent(rules):
        done = 0
        spend(rules, count)
        for i in range(count):
            prices[i] = asked[failing[i]]
        sort_places(prices, places[:count])
        for i in range(count):
            f = failing[places[i]]
            while groups.lack[f] > 0 and steps_left > 0 and not is_spent(rules):
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
    """Merge each failing class with the class where that is cheapest, legal unions first, until all are legal.

    Each class is compared with all others: where the work was spent before, those that fail are left.
    """
    codes = groups.codes
    for f in range(len(groups.head)):
        while groups.size[f] > 0 and groups.lack[f] > 0 and not is_spent(rules):
            m = members(groups, f, desk.room)
            partner = _NOBODY
            mends = False
            least = np.inf
            for b in range(len(groups.head)):
                size = groups.size[b]
                if b == f or size == 0:
                    continue
                if is_spent(rules):
                    return
                spend(rules, 2)
                union = 0.0
                for j in range(codes.shape[1]):
                    low = min(groups.low[f, j], groups.low[b, j])
                    high = max(groups.high[f, j], groups.high[b, j])
                    cost = interval_cost(model, j, low, high)
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


@kernel
def merge_along(rows: NDArray[np.int64], ends: NDArray[np.int64], rules: Rules) -> NDArray[np.int64]:
    """Return where classes end after each failing class was merged with the next ones until it is legal.

    What fails at the end of the line is merged with those before it. All rows together must be legal. O(n) rows are
    looked at: a union is judged again once it has grown by a quarter.

    Parameters
    ----------
    rows, ends
        int64[n], int64[c], the classes side by side along a line.
    """
    answer = np.empty(len(ends), np.int64)
    count = 0
    start = 0
    enough = 0  # rows from which the union is judged again
    for end in ends:
        size = end - start
        if size < enough:
            continue
        if is_legal(rows[start:end], rules):
            answer[count] = end
            count += 1
            start = end
            enough = 0
        else:
            enough = size + size // 4
    n = len(rows)
    enough = 0
    while start < n:
        size = n - start
        if start == 0 or (size >= enough and is_legal(rows[start:], rules)):
            answer[count] = n
            count += 1
            break
        if size >= enough:
            enough = size + size // 4
        count -= 1
        start = answer[count - 1] if count > 0 else 0
    return answer[:count]
