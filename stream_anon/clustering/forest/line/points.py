"""POINTS: equal rows that stand together on the line, collapsed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel


@kernel
def collapse(codes: NDArray[np.int32], order: NDArray[np.int64], starts: NDArray[np.int64]) -> int:
    """Write where each run of equal rows begins along `order`; return the number of runs.

    Parameters
    ----------
    codes
        int32[q, n].
    order
        int64[n], the rows along the line.
    starts
        int64[n + 1], written up to the number of runs, the last entry n.
    """
    q, n = codes.shape
    points = 0
    for place in range(n):
        fresh = place == 0
        if not fresh:
            for j in range(q):
                if codes[j, order[place]] != codes[j, order[place - 1]]:
                    fresh = True
                    break
        if fresh:
            starts[points] = place
            points += 1
    starts[points] = n
    return points


def points_of(codes: NDArray[np.int32], order: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the distinct neighbours along the line: codes int32[p, q] row-major, and int64[p + 1] bounds."""
    starts = np.empty(len(order) + 1, np.int64)
    points = collapse(codes, order, starts)
    starts = starts[: points + 1]
    return np.ascontiguousarray(codes[:, order[starts[:-1]]].T), starts
