"""Find the classes with which another one could be published alike at the least loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.shield_groups import union_cost
from stream_anon.compiled import bare_kernel
from stream_anon.privacy.costs.model import CostModel


@bare_kernel
def near_classes(
    model: CostModel,
    places: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    cells: NDArray[np.int64],
    weights: NDArray[np.int64],
    seekers: NDArray[np.int64],
    width: int,
    mates: NDArray[np.int64],
    growth: NDArray[np.float64],
) -> None:
    """Find for each seeker the classes with which the loss of all their records grows least.

    Parameters
    ----------
    model
        Cost tables.
    places
        int64[q], all attributes of the model.
    low, high
        int32[c, q], the bounds of the classes.
    cells
        int64[c]; classes of different cells may not be published alike.
    weights
        int64[c], records.
    seekers
        int64[s], classes.
    width
        Classes on either side among which they are sought.
    mates, growth
        int64[s, m], float64[s, m], written: the best m, the cheapest first, and by how much the loss grows; -1 and
        infinity where there are fewer.
    """
    for turn in range(len(seekers)):
        a = seekers[turn]
        mates[turn, :] = -1
        growth[turn, :] = np.inf
        alone = union_cost(model, places, low, high, a, a) * weights[a]
        for b in range(max(0, a - width), min(len(weights), a + width + 1)):
            if a == b or cells[a] != cells[b]:
                continue
            more = union_cost(model, places, low, high, a, b) * (weights[a] + weights[b]) - alone
            more -= union_cost(model, places, low, high, b, b) * weights[b]
            place = mates.shape[1] - 1
            if more >= growth[turn, place]:
                continue
            while place > 0 and growth[turn, place - 1] > more:
                growth[turn, place] = growth[turn, place - 1]
                mates[turn, place] = mates[turn, place - 1]
                place -= 1
            growth[turn, place] = more
            mates[turn, place] = b
