"""LATE: place rows that come after the line was laid or the classes were formed beside their neighbours by key."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel


@kernel
def key_places(keys: NDArray[np.int64], late: NDArray[np.int64], places: NDArray[np.int64]) -> None:
    """Write how many keys stand before each late one, equal ones too; O(m log n).

    Parameters
    ----------
    keys
        int64[2, n], ascending, the first word decides first.
    late
        int64[2, m].
    places
        int64[m], written.
    """
    for i in range(late.shape[1]):
        first = 0
        last = keys.shape[1]
        while first < last:
            middle = (first + last) // 2
            if keys[0, middle] < late[0, i] or (keys[0, middle] == late[0, i] and keys[1, middle] <= late[1, i]):
                first = middle + 1
            else:
                last = middle
        places[i] = first


@kernel
def cheapest_near(
    late: NDArray[np.int32],
    places: NDArray[np.int64],
    groups: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    size: NDArray[np.int64],
    reach: int,
    model: CostModel,
    answer: NDArray[np.int64],
) -> None:
    """Write for each late row the group near it whose loss grows least if it joins; the first of equal ones.

    Parameters
    ----------
    late
        int32[m, q].
    places
        int64[m], how many rows stand before each along the key order.
    groups
        int64[n], the group of each row along the key order.
    low, high
        int32[c, q], the boxes of the groups.
    size
        int64[c], rows of each; 0 leaves the box itself out of the growth: then it is the loss of the pair.
    reach
        Rows looked at on each side.
    answer
        int64[m], written. O(m reach q).
    """
    n = len(groups)
    for i in range(len(late)):
        least = np.inf
        before = -1
        for p in range(max(0, places[i] - reach), min(n, places[i] + reach)):
            c = groups[p]
            if c == before:
                continue
            before = c
            growth = 0.0
            for j in range(late.shape[1]):
                code = late[i, j]
                bottom = low[c, j]
                top = high[c, j]
                cost = interval_cost(model, j, min(bottom, code), max(top, code))
                own = interval_cost(model, j, bottom, top)
                growth += (size[c] + 1) * cost - size[c] * own
                if growth >= least:
                    break
            if growth < least:
                least = growth
                answer[i] = c
