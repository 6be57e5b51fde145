"""SPLIT: classes of 2k and more rows are cut in two at the best legal place along an attribute, again and again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.cost_tables import LITTLE
from stream_anon.clustering.legality import is_legal, may_part
from stream_anon.clustering.rules import Rules
from stream_anon.clustering.work_limit import is_spent, spend
from stream_anon.compiled import bare_kernel, kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel

_TRIES = 40  # illegal cuts after which a class is left as it is
_FEW = 256  # keys up to which nothing sorts faster than counting


@bare_kernel
def sort_places(keys: NDArray[np.int32] | NDArray[np.float64], places: NDArray[np.int64]) -> None:
    """Write places int64[m] sorted by keys[at least m], none of them NaN, equal ones ascending.

    numba's own sorts take seconds to compile.
    """
    if len(places) <= _FEW:
        _place_by_counting(keys, places)
    else:
        _shell_sort(keys, places)


@bare_kernel
def sort_codes(keys: NDArray[np.int32], places: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Do what `sort_places` does to codes; O(m) where they are many and span no more than counts int64[any]."""
    m = len(places)
    if m <= _FEW:
        _place_by_counting(keys, places)
        return
    low = int(keys[0])
    high = low
    for i in range(1, m):
        low = min(low, int(keys[i]))
        high = max(high, int(keys[i]))
    if high - low >= len(counts):
        _shell_sort(keys, places)
        return
    counts[: high - low + 1] = 0
    for i in range(m):
        counts[int(keys[i]) - low] += 1
    start = 0
    for key in range(high - low + 1):
        start += counts[key]
        counts[key] = start - counts[key]
    for i in range(m):
        key = int(keys[i]) - low
        places[counts[key]] = i
        counts[key] += 1


@bare_kernel
def _place_by_counting(keys: NDArray[np.int32] | NDArray[np.float64], places: NDArray[np.int64]) -> None:
    """Count for each key the smaller ones; O(m^2) without a branch."""
    m = len(places)
    for i in range(m):
        key = keys[i]
        rank = 0
        for other in range(i):
            rank += keys[other] <= key
        for other in range(i + 1, m):
            rank += keys[other] < key
        places[rank] = i


@bare_kernel
def _shell_sort(keys: NDArray[np.int32] | NDArray[np.float64], places: NDArray[np.int64]) -> None:
    m = len(places)
    for i in range(m):
        places[i] = i
    gap = 1
    while 3 * gap + 1 < m // 2:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, m):
            place = places[i]
            key = keys[place]
            hole = i
            while hole >= gap:
                other = places[hole - gap]
                if keys[other] < key or (keys[other] == key and other < place):
                    break
                places[hole] = other
                hole -= gap
            places[hole] = place
        gap //= 3


@bare_kernel
def one_way_losses(
    codes: NDArray[np.int32], rows: NDArray[np.int64], model: CostModel, least: int, losses: NDArray[np.float64]
) -> None:
    """Write the NCP of the box around rows[: i + 1] to losses[i] for each i from `least` - 1 on; O(m q).

    Parameters
    ----------
    codes
        int32[n, q].
    rows
        int64[m].
    losses
        float64[m], written.
    """
    m = len(rows)
    for i in range(least - 1, m):
        losses[i] = 0.0
    for j in range(codes.shape[1]):
        low = codes[rows[0], j]
        high = low
        for i in range(1, min(least, m)):
            code = codes[rows[i], j]
            low = min(low, code)
            high = max(high, code)
        cost = -1.0
        for i in range(least - 1, m):
            code = codes[rows[i], j]
            if cost < 0 or code < low or code > high:
                low = min(low, code)
                high = max(high, code)
                cost = interval_cost(model, j, low, high)
            losses[i] += cost


@kernel
def split_large(
    codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int64], model: CostModel, rules: Rules
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
    k = rules.k
    answer = np.empty(len(rows) // max(k, 1) + len(ends) + 1, np.int64)
    waiting = np.empty(
        len(rows) // max(k, 1) + 2, np.int64
    )  # ends of the parts still to be looked at, nearest last
    count = 0
    start = 0
    for c in range(len(ends)):
        waiting[0] = ends[c]
        parts = 1
        while parts:
            stop = waiting[parts - 1]
            m = stop - start
            cut = 0
            if m >= 2 * k and not is_spent(rules) and may_part(rows[start:stop], rules):
                cut = _best_cut(codes, rows[start:stop], model, rules)
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
def _best_cut(codes: NDArray[np.int32], rows: NDArray[np.int64], model: CostModel, rules: Rules) -> int:
    """Sort the rows along the attribute with the best legal cut and return its place; 0 if there is none."""
    m = len(rows)
    q = codes.shape[1]
    k = rules.k
    if not rules.each_once:  # that one is shared, and nothing is bounded where it serves
        spend(rules, 4 * m)
    along = np.empty((q, m), np.int64)
    places = np.empty(m, np.int64)
    turned = np.empty(m, np.int64)
    keys = np.empty(m, np.int32)
    counts = np.empty(m, np.int64)
    fore = np.empty((q, m), np.float64)
    back = np.empty((q, m), np.float64)
    for j in range(q):
        for i in range(m):
            keys[i] = codes[rows[i], j]
        sort_codes(keys, places, counts)
        for i in range(m):
            along[j, i] = rows[places[i]]
            turned[m - 1 - i] = along[j, i]
        one_way_losses(codes, along[j], model, k, fore[j])
        one_way_losses(codes, turned, model, k, back[j])
    whole = m * fore[0, m - 1]
    bar = -1.0  # cuts up to this loss were found illegal
    for _ in range(_TRIES):
        if is_spent(rules):
            return 0
        best = whole - LITTLE
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
        if not rules.each_once:
            spend(rules, 4 * m)
        if is_legal(along[axis, :place], rules) and is_legal(along[axis, place:], rules):
            for i in range(m):
                rows[i] = along[axis, i]
            return place
        bar = best
    return 0
