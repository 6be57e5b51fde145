"""Find the classes with which another one could be published alike at the least loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.shield_groups import AlikeGroups, cost_alike
from stream_anon.compiled import bare_kernel


@bare_kernel
def near_classes(
    classes: AlikeGroups,
    seekers: NDArray[np.int64],
    width: int,
    mates: NDArray[np.int64],
    growth: NDArray[np.float64],
) -> None:
    """Find for each seeker the classes with which the loss of all their records grows least.

    Parameters
    ----------
    classes
        Alike by all attributes.
    seekers
        int64[s], classes.
    width
        Classes on either side among which they are sought.
    mates, growth
        int64[s, m], float64[s, m], written: the best m, the cheapest first, and by how much the loss grows; -1 and
        infinity where there are fewer.
    """
    cells, records = classes.cells, classes.records
    for turn in range(len(seekers)):
        a = seekers[turn]
        mates[turn, :] = -1
        growth[turn, :] = np.inf
        alone = cost_alike(classes, a, a) * records[a]
        for b in range(max(0, a - width), min(len(records), a + width + 1)):
            if a == b or cells[a] != cells[b]:
                continue
            more = cost_alike(classes, a, b) * (records[a] + records[b]) - alone
            more -= cost_alike(classes, b, b) * records[b]
            place = mates.shape[1] - 1
            if more >= growth[turn, place]:
                continue
            while place > 0 and growth[turn, place - 1] > more:
                growth[turn, place] = growth[turn, place - 1]
                mates[turn, place] = mates[turn, place - 1]
                place -= 1
            growth[turn, place] = more
            mates[turn, place] = b
