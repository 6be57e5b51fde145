"""Classes that rows join and leave: members as chains, boxes, losses, deficits, and the lines they lie on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.array_copying import copy_to
from stream_anon.clustering.legality import deficit
from stream_anon.clustering.rules import Rules
from stream_anon.compiled import bare_inlined, bare_kernel, kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel


class Groups(NamedTuple):
    """The classes of a window while rows move between them.

    Parameters
    ----------
    codes
        int32[n, q].
    owner
        int64[n], the class of each row.
    head, after, before
        int64[c], int64[n], int64[n]: first member of each class, next and previous member of each row, -1 for none.
    size
        int64[c], 0 for a class that was given up.
    low, high, costs
        int32[c, q], the box; float64[c, q], its NCP by attribute.
    loss
        float64[c], NCP of the box summed over attributes; the class costs size x loss.
    lack
        float64[c], how far the class is from legal.
    """

    codes: NDArray[np.int32]
    owner: NDArray[np.int64]
    head: NDArray[np.int64]
    after: NDArray[np.int64]
    before: NDArray[np.int64]
    size: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    costs: NDArray[np.float64]
    loss: NDArray[np.float64]
    lack: NDArray[np.float64]


class Lines(NamedTuple):
    """Two lines through the same rows, by key and along the forest.

    Parameters
    ----------
    along, place
        int64[2, n], the rows along each line, and where each row stands.
    kinds
        int32[1 + s, n]: who a row belongs to, and its sensitive values; one for each part of the deficit.
    skip
        int32[1 + s, 2 lines, 2 directions, n], the next place with another kind; -1 or n beyond the end.
    """

    along: NDArray[np.int64]
    place: NDArray[np.int64]
    kinds: NDArray[np.int32]
    skip: NDArray[np.int32]


def lines_of(
    order: NDArray[np.int64], line: NDArray[np.int64], individuals: NDArray[np.int32], sensitive: NDArray[np.int32]
) -> Lines:
    """Return both lines with their places and runs; O(n s)."""
    along = np.stack([order, line])
    kinds = np.concatenate([individuals[None], sensitive])
    place = np.empty_like(along)
    skip = np.empty((len(kinds), 2, 2, len(order)), np.int32)
    _mark_runs(along, kinds, place, skip)
    return Lines(along, place, kinds, skip)


@kernel
def _mark_runs(
    along: NDArray[np.int64], kinds: NDArray[np.int32], place: NDArray[np.int64], skip: NDArray[np.int32]
) -> None:
    """Write the places and runs of `Lines`."""
    n = along.shape[1]
    for o in range(2):
        for p in range(n):
            place[o, along[o, p]] = p
        for d in range(len(kinds)):
            for p in range(n - 1, -1, -1):
                same = p < n - 1 and kinds[d, along[o, p]] == kinds[d, along[o, p + 1]]
                skip[d, o, 0, p] = skip[d, o, 0, p + 1] if same else p + 1
            for p in range(n):
                same = p > 0 and kinds[d, along[o, p]] == kinds[d, along[o, p - 1]]
                skip[d, o, 1, p] = skip[d, o, 1, p - 1] if same else p - 1


def groups_of(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    model: CostModel,
    rules: Rules | None = None,
) -> Groups:
    """Return the classes of codes int32[n, q]; rows int64[n] class after class, int64[c] where each ends.

    Without rules all are taken to be legal.
    """
    n, q = codes.shape
    count = len(ends)
    groups = Groups(
        codes,
        np.empty(n, np.int64),
        np.full(count, -1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(count, np.int64),
        np.empty((count, q), np.int32),
        np.empty((count, q), np.int32),
        np.empty((count, q), np.float64),
        np.zeros(count, np.float64),
        np.zeros(count, np.float64),
    )
    _fill(groups, rows, ends, model)
    if rules is not None:
        _judge(groups, rows, ends, rules, np.empty(1 + len(rules.asked)))
    return groups


@bare_kernel
def _fill(groups: Groups, rows: NDArray[np.int64], ends: NDArray[np.int64], model: CostModel) -> None:
    """Put the rows into their classes."""
    start = 0
    for c in range(len(ends)):
        for i in range(ends[c] - 1, start - 1, -1):
            join(groups, rows[i], c)
        measure(groups, c, model)
        start = ends[c]


@bare_kernel
def _judge(
    groups: Groups, rows: NDArray[np.int64], ends: NDArray[np.int64], rules: Rules, parts: NDArray[np.float64]
) -> None:
    """Count how far each class is from legal."""
    start = 0
    for c in range(len(ends)):
        groups.lack[c] = deficit(rows[start : ends[c]], rules, parts)
        start = ends[c]


@bare_inlined
def join(groups: Groups, row: int, c: int) -> None:
    """Put a row without a class at the head of a class, whose box is left as it is."""
    groups.owner[row] = c
    groups.before[row] = -1
    groups.after[row] = groups.head[c]
    if groups.head[c] >= 0:
        groups.before[groups.head[c]] = row
    groups.head[c] = row
    groups.size[c] += 1


@bare_inlined
def leave(groups: Groups, row: int) -> None:
    """Take a row out of its class, whose box is left as it is."""
    c = groups.owner[row]
    ahead = groups.after[row]
    behind = groups.before[row]
    if behind >= 0:
        groups.after[behind] = ahead
    else:
        groups.head[c] = ahead
    if ahead >= 0:
        groups.before[ahead] = behind
    groups.size[c] -= 1


@bare_inlined
def members(groups: Groups, c: int, room: NDArray[np.int64]) -> int:
    """Write the rows of a class into `room`, int64[n]; return their number."""
    count = 0
    row = groups.head[c]
    while row >= 0:
        room[count] = row
        count += 1
        row = groups.after[row]
    return count


@bare_kernel
def measure(groups: Groups, c: int, model: CostModel) -> None:
    """Draw the box of a class anew; O(size q)."""
    codes = groups.codes
    low = groups.low[c]
    high = groups.high[c]
    row = groups.head[c]
    groups.loss[c] = 0.0
    if row < 0:
        return
    copy_to(low, codes[row])
    copy_to(high, codes[row])
    while row >= 0:
        for j in range(codes.shape[1]):
            code = codes[row, j]
            low[j] = min(low[j], code)
            high[j] = max(high[j], code)
        row = groups.after[row]
    total = 0.0
    for j in range(codes.shape[1]):
        cost = interval_cost(model, j, low[j], high[j])
        groups.costs[c, j] = cost
        total += cost
    groups.loss[c] = total


@bare_inlined
def grown_loss(groups: Groups, c: int, row: int, ceiling: float, model: CostModel) -> float:
    """Return the loss of a class with a row more, or something not below `ceiling` if that is reached; O(q)."""
    loss = groups.loss[c]
    for j in range(groups.codes.shape[1]):
        code = groups.codes[row, j]
        low = groups.low[c, j]
        high = groups.high[c, j]
        if low <= code <= high:
            continue
        low = min(low, code)
        high = max(high, code)
        cost = interval_cost(model, j, low, high)
        loss += cost - groups.costs[c, j]
        if loss >= ceiling:
            break
    return float(loss)


@bare_kernel
def recount(
    groups: Groups, c: int, model: CostModel, rules: Rules, room: NDArray[np.int64], parts: NDArray[np.float64]
) -> None:
    """Draw the box of a class and count its deficit anew."""
    measure(groups, c, model)
    count = members(groups, c, room)
    groups.lack[c] = deficit(room[:count], rules, parts) if count > 0 else 0.0


@kernel
def listed(groups: Groups) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows class after class, and where each class ends; those given up are left out."""
    rows = np.empty(len(groups.owner), np.int64)
    ends = np.empty(len(groups.head), np.int64)
    count = 0
    filled = 0
    for c in range(len(groups.head)):
        if groups.size[c] == 0:
            continue
        row = groups.head[c]
        while row >= 0:
            rows[filled] = row
            filled += 1
            row = groups.after[row]
        ends[count] = filled
        count += 1
    return rows[:filled], ends[:count]
