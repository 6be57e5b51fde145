"""Order classes as neighbours, and join what is not legal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.legality import Ledger, is_legal
from stream_anon.compiled import kernel
from stream_anon.privacy.cost import CostModel, table_cost, walked_cost


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


@kernel
def box_cost(codes: NDArray[np.int32], rows: NDArray[np.int64], model: CostModel) -> float:
    """Return the NCP of the box around rows of codes int32[n, q], summed over attributes."""
    total = 0.0
    for j in range(codes.shape[1]):
        low = codes[rows[0], j]
        high = low
        for i in range(1, len(rows)):
            code = codes[rows[i], j]
            low = min(low, code)
            high = max(high, code)
        cost = table_cost(model, j, low, high)
        if cost < 0:
            cost = walked_cost(model, j, low, high)
        total += cost
    return total


@kernel
def join_illegal(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    model: CostModel,
    ledger: Ledger,
) -> int:
    """Join each illegal class with its cheaper neighbour until all are legal; return the classes left.

    Parameters
    ----------
    codes
        int32[n, q].
    rows
        int64[m], class after class.
    ends
        int64[c], written up to the answer. If all rows together are not legal one class is left.
    """
    count = len(ends)
    legal = np.empty(count, np.bool_)
    start = 0
    for c in range(count):
        legal[c] = is_legal(rows[start : ends[c]], ledger)
        start = ends[c]
    c = 0
    while c < count and count > 1:
        if legal[c]:
            c += 1
            continue
        start = ends[c - 1] if c > 0 else 0
        before = np.inf
        after = np.inf
        if c > 0:
            first = ends[c - 2] if c > 1 else 0
            before = (ends[c] - first) * box_cost(codes, rows[first : ends[c]], model) - (start - first) * box_cost(
                codes, rows[first:start], model
            )
        if c < count - 1:
            after = (ends[c + 1] - start) * box_cost(codes, rows[start : ends[c + 1]], model) - (
                ends[c + 1] - ends[c]
            ) * box_cost(codes, rows[ends[c] : ends[c + 1]], model)
        joined = c - 1 if before <= after else c
        for i in range(joined, count - 1):
            ends[i] = ends[i + 1]
            legal[i] = legal[i + 1]
        count -= 1
        start = ends[joined - 1] if joined > 0 else 0
        legal[joined] = is_legal(rows[start : ends[joined]], ledger)
        c = joined
    return count
