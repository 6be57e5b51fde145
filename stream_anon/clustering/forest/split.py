"""SPLIT: classes of 2k and more rows are cut in two at the best legal place along an attribute, again and again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.legality import Ledger, is_legal
from stream_anon.compiled import kernel
from stream_anon.privacy.cost import CostModel, table_cost, walked_cost

_TRIES = 4  # illegal cuts after which a class is left as it is
_LITTLE = 1e-9


@kernel
def one_way_losses(
    codes: NDArray[np.int32], rows: NDArray[np.int64], model: CostModel, losses: NDArray[np.float64]
) -> None:
    """Write the NCP of the box around rows[: i + 1] for each i; O(m q).

    Parameters
    ----------
    codes
        int32[n, q].
    rows
        int64[m].
    losses
        float64[m], written.
    """
    q = codes.shape[1]
    low = codes[rows[0]].copy()
    high = low.copy()
    own = np.empty(q, np.float64)
    total = 0.0
    for i in range(len(rows)):
        for j in range(q):
            code = codes[rows[i], j]
            if i > 0 and low[j] <= code <= high[j]:
                continue
            low[j] = min(low[j], code)
            high[j] = max(high[j], code)
            cost = table_cost(model, j, low[j], high[j])
            if cost < 0:
                cost = walked_cost(model, j, low[j], high[j])
            total += cost - (own[j] if i > 0 else 0.0)
            own[j] = cost
        losses[i] = total


@kernel
def split_large(
    codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int64], model: CostModel, ledger: Ledger
) -> NDArray[np.int64]:
    """Return where classes end after the cuts; O(q m log m + q^2 m) for each cut of a class of m rows.

    Parameters
    ----------
    codes
        int32[n, q].
    rows
        int64[m], class after class; reordered in place within each class.
    ends
        int64[c].
    """
    q = codes.shape[1]
    k = ledger.k
    answer = np.empty(len(rows) // max(k, 1) + len(ends) + 1, np.int64)
    waiting = np.empty(len(rows) // max(k, 1) + 2, np.int64)  # ends of the parts still to be looked at, nearest last
    count = 0
    start = 0
    for c in range(len(ends)):
        waiting[0] = ends[c]
        parts = 1
        while parts:
            stop = waiting[parts - 1]
            m = stop - start
            cut = 0
            if m >= 2 * k:
                cut = _best_cut(codes, rows[start:stop], model, ledger)
            if cut:
                waiting[parts] = start + cut
                parts += 1
            else:
                answer[count] = stop
                count += 1
                parts -= 1
                start = stop
    return answer[:count]


@kernel
def _best_cut(codes: NDArray[np.int32], rows: NDArray[np.int64], model: CostModel, ledger: Ledger) -> int:
    """Sort the rows along the attribute with the best legal cut and return its place; 0 if there is none."""
    m = len(rows)
    q = codes.shape[1]
    k = ledger.k
    pool = rows.copy()
    along = np.empty((q, m), np.int64)
    fore = np.empty((q, m), np.float64)
    back = np.empty((q, m), np.float64)
    keys = np.empty(m, np.int32)
    for j in range(q):
        for i in range(m):
            keys[i] = codes[pool[i], j]
        along[j] = pool[np.argsort(keys, kind="mergesort")]
        one_way_losses(codes, along[j], model, fore[j])
        one_way_losses(codes, along[j, ::-1].copy(), model, back[j])
    whole = m * fore[0, m - 1]
    bar = -1.0  # cuts up to this loss were found illegal
    for _ in range(_TRIES):
        best = whole - _LITTLE
        axis = -1
        place = 0
        for j in range(q):
            for i in range(k, m - k + 1):
                loss = i * fore[j, i - 1] + (m - i) * back[j, m - i - 1]
                if bar < loss < best:
                    best = loss
                    axis = j
                    place = i
        if axis < 0:
            return 0
        if is_legal(along[axis, :place], ledger) and is_legal(along[axis, place:], ledger):
            rows[:] = along[axis]
            return place
        bar = best
    return 0
