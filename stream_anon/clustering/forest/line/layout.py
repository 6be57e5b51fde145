"""LAYOUT: the forest as a line. Each tree is a chain; each join links the closest two of the four ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.classes import Boxes
from stream_anon.clustering.forest.cost_tables import leading_tables, union_cost
from stream_anon.compiled import kernel
from stream_anon.privacy.costs.model import CostModel


@kernel
def lay_out(points: Boxes, model: CostModel, merges: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return all of them along the new line; O(p q).

    Parameters
    ----------
    points
        int32[p, q] twice, as in `grow_forest`.
    merges
        int32[p - 1, 2], joins of trees named by the first in them, the first of each stays.
    """
    low, high = points
    p = len(low)
    tables = leading_tables(model)
    ends = np.empty((p, 2), np.int32)
    links = np.full((p, 2), -1, np.int32)
    for i in range(p):
        ends[i, 0] = i
        ends[i, 1] = i
    for m in range(len(merges)):
        one = merges[m, 0]
        two = merges[m, 1]
        least = np.inf
        near = 0
        far = 0
        for a in range(2):
            if a == 1 and ends[one, 0] == ends[one, 1]:
                continue
            for b in range(2):
                if b == 1 and ends[two, 0] == ends[two, 1]:
                    continue
                x = ends[one, a]
                y = ends[two, b]
                total = union_cost(tables, low, high, x, y, least)
                if total < least:
                    least = total
                    near = a
                    far = b
        x = ends[one, near]
        y = ends[two, far]
        links[x, 0 if links[x, 0] < 0 else 1] = y
        links[y, 0 if links[y, 0] < 0 else 1] = x
        ends[one, 0] = ends[one, 1 - near]
        ends[one, 1] = ends[two, 1 - far]
    answer = np.empty(p, np.int64)
    if p == 0:
        return answer
    last = -1
    here = ends[merges[len(merges) - 1, 0], 0] if len(merges) else 0
    for place in range(p):
        answer[place] = here
        ahead = links[here, 0]
        if ahead == last or ahead < 0:
            ahead = links[here, 1]
        if ahead == last:
            ahead = -1
        last = here
        here = ahead
    return answer
