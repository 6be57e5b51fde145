"""Join what is not legal: a class that fails a criterion takes in its cheapest neighbour until it meets all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.legality import is_legal
from stream_anon.clustering.rules import Rules
from stream_anon.compiled import kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel


@kernel
def join_cheapest(codes: NDArray[np.int32], classes: NDArray[np.int64], model: CostModel, rules: Rules) -> None:
    """Join illegal classes, in the order of their numbers, each with those that make the loss grow least; O(c^2 q).

    Parameters
    ----------
    codes
        int32[n, q], row-major.
    classes
        int64[n], from 0 without gaps, changed in place; numbers of classes that have joined another are left out.

    Notes
    -----
    Ends with one class where nothing less is legal.
    """
    n, q = codes.shape
    count = int(classes.max()) + 1
    low = np.empty((count, q), np.int32)
    high = np.empty((count, q), np.int32)
    size = np.zeros(count, np.int64)
    for i in range(n):
        c = classes[i]
        for j in range(q):
            low[c, j] = min(low[c, j], codes[i, j]) if size[c] > 0 else codes[i, j]
            high[c, j] = max(high[c, j], codes[i, j]) if size[c] > 0 else codes[i, j]
        size[c] += 1
    own = np.zeros(count)
    for c in range(count):
        for j in range(q):
            cost = interval_cost(model, j, low[c, j], high[c, j])
            own[c] += cost
    left = count
    for c in range(count):
        while left > 1 and size[c] > 0 and not is_legal(np.flatnonzero(classes == c), rules):
            cheapest = -1
            least = np.inf
            loss = 0.0
            for d in range(count):
                if d == c or size[d] == 0:
                    continue
                union = 0.0
                for j in range(q):
                    bottom = min(low[c, j], low[d, j])
                    top = max(high[c, j], high[d, j])
                    cost = interval_cost(model, j, bottom, top)
                    union += cost
                growth = (size[c] + size[d]) * union - size[d] * own[d]
                if growth < least:
                    least = growth
                    cheapest = d
                    loss = union
            for j in range(q):
                low[c, j] = min(low[c, j], low[cheapest, j])
                high[c, j] = max(high[c, j], high[cheapest, j])
            own[c] = loss
            size[c] += size[cheapest]
            size[cheapest] = 0
            left -= 1
            for i in range(n):
                if classes[i] == cheapest:
                    classes[i] = c
