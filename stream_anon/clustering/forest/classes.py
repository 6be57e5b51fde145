"""Order classes as neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def by_rank(
    rows: NDArray[np.int64], ends: NDArray[np.int64], rank: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the classes in the order of their median rank along a line, the upper one of two; O(n log n).

    Parameters
    ----------
    rows, ends
        int64[m] class after class, int64[c] where each ends.
    rank
        int64[n], each row's place along the line.
    """
    sizes = np.diff(ends, prepend=0)
    owner = np.repeat(np.arange(len(ends)), sizes)
    ranks = np.sort(owner * len(rank) + rank[rows])
    order = np.argsort(ranks[ends - sizes + sizes // 2] % len(rank), kind="stable")
    place = np.empty(len(ends), np.int64)
    place[order] = np.arange(len(ends))
    return rows[np.argsort(place[owner], kind="stable")], np.cumsum(sizes[order])
