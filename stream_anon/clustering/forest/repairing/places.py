"""The cheapest legal class for a row among those near it on both lines."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.repairing.groups import Groups, Lines, grown_loss, members
from stream_anon.clustering.legality import deficit
from stream_anon.clustering.rules import Rules
from stream_anon.clustering.work_limit import spend
from stream_anon.compiled import bare_kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel

_DIFFERENT = 2  # classes looked at in each direction
_STEPS = 48  # rows looked at in each direction


class Search(NamedTuple):
    """What was seen of the lines, and room to count in.

    Parameters
    ----------
    near
        int64[2 lines, 2 directions, 4], the first and the last place that see the same classes, nothing if the last
        is smaller, and the classes, -1 for none.
    room, parts
        int64[n + 1], float64[1 + s].
    """

    near: NDArray[np.int64]
    room: NDArray[np.int64]
    parts: NDArray[np.float64]


@bare_kernel
def look_around(groups: Groups, lines: Lines, row: int, near: NDArray[np.int64]) -> int:
    """Write the next two different classes in each direction of each line; return how many rows were looked at.

    Rows of a class that stand together see the same classes: those of the row before are kept in `Search.near`
    while they hold.
    """
    owner = groups.owner
    n = len(owner)
    own = owner[row]
    looked = 0
    for o in range(2):
        along = lines.along[o]
        place = lines.place[o, row]
        for way in range(2):
            if near[o, way, 0] <= place <= near[o, way, 1]:
                continue
            step = 1 - 2 * way
            p = place + step
            while 0 <= p < n and owner[along[p]] == own and not near[o, way, 0] <= p <= near[o, way, 1]:
                p += step
            looked += abs(p - place)
            if near[o, way, 0] <= p <= near[o, way, 1]:
                near[o, way, way] = place
                continue
            near[o, way, way] = place
            near[o, way, 1 - way] = p - step
            near[o, way, 2] = -1
            near[o, way, 3] = -1
            found = 0
            for _ in range(_STEPS):
                if p < 0 or p >= n:
                    break
                c = owner[along[p]]
                if c not in (own, near[o, way, 2]):
                    near[o, way, 2 + found] = c
                    found += 1
                    if found == _DIFFERENT:
                        break
                p += step
    return looked


@bare_kernel
def forget(near: NDArray[np.int64]) -> None:
    """Make `look_around` look anew."""
    for o in range(2):
        for way in range(2):
            near[o, way, 0] = 0
            near[o, way, 1] = -1


@bare_kernel
def cheapest_class(
    groups: Groups,
    lines: Lines,
    model: CostModel,
    rules: Rules,
    row: int,
    bound: float,
    search: Search,
) -> tuple[int, float]:
    """Return the class that a row joins most cheaply, and by how much that raises the loss; all classes are legal.

    Only classes other than its own that stay legal, and cost less than `bound`; -1 and inf if there is none. The
    first of equal ones. Looked for among the next two different classes in each direction of each line.
    """
    near, room = search.near, search.room
    best = bound
    answer = -1
    spend(rules, look_around(groups, lines, row, near))
    for o in range(2):
        for way in range(2):
            for turn in range(_DIFFERENT):
                c = near[o, way, 2 + turn]
                # The class's loss only grows: the row pays at least what each row in it pays now.
                if c < 0 or c == answer or groups.loss[c] >= best:
                    continue
                size = groups.size[c]
                ceiling = (best + size * groups.loss[c]) / (size + 1)
                loss = grown_loss(groups, c, row, ceiling, model)
                if loss < ceiling:
                    legal = rules.grows_legal
                    if not legal:
                        count = members(groups, c, room)
                        room[count] = row
                        legal = deficit(room[: count + 1], rules, search.parts) <= 0
                    if legal:
                        best = (size + 1) * loss - size * groups.loss[c]
                        answer = c
    return answer, best if answer >= 0 else np.inf


@bare_kernel
def widen(groups: Groups, c: int, row: int, model: CostModel) -> None:
    """Draw the box of a class around a row that joined it."""
    total = 0.0
    for j in range(groups.codes.shape[1]):
        code = groups.codes[row, j]
        groups.low[c, j] = min(groups.low[c, j], code)
        groups.high[c, j] = max(groups.high[c, j], code)
        cost = interval_cost(model, j, groups.low[c, j], groups.high[c, j])
        groups.costs[c, j] = cost
        total += cost
    groups.loss[c] = total
