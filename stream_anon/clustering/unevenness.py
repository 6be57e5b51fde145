"""How far the values of a class are from spread as the criteria on frequencies ask."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.rules import (
    BEHIND,
    COUNT_OF_VALUES,
    RECURSIVE_L,
    SHARE,
    SHARE_OF_MISSING,
    SHOWN,
    STAMP,
    SUM,
    SUM_OF_SUMS,
    T_IS_ORDERED,
    Rules,
    column_of,
)
from stream_anon.clustering.work_limit import spend
from stream_anon.compiled import bare_kernel
from stream_anon.privacy.criteria import TOLERANCE

# Columns of `Rules.asked` with the bound of each figure; entropy in nats.
ENTROPY = column_of("entropy")
RECURSIVE_C = column_of("tilt")
T = column_of("distance")
ALPHA = column_of("share")
DELTA = column_of("disclosure")
BETA = column_of("gain")


@bare_kernel
def unevenness(rows: NDArray[np.int64], s: int, way: int, rules: Rules) -> float:
    """Return how far the values of rows int64[m] are from spread as asked, 0 where they are; O(m + l d + d log d).

    Counted over records (`way` 0) or over distinct (individual, value) pairs (1), d values. In rows: entropy
    n (log l - H) / log l, recursion r1 - c (r_l + ..), share r1 - alpha n, closeness m (distance - t), delta and
    beta the rows of each value that are too few or too many.
    """
    column = rules.columns[1 + s]
    pairs = rules.columns[1 + len(rules.asked) + s]
    heights = rules.marks[1]
    paired = rules.marks[2]
    shown = rules.notes[SHOWN:]
    asked = rules.asked[s]
    rules.notes[STAMP] += 1
    stamp = rules.notes[STAMP]
    kinds = 0
    missing = 0
    repeated = 0
    for i in range(len(rows)):
        row = rows[i]
        if way == 1:
            if paired[pairs[row]] == stamp:
                repeated += 1
                continue
            paired[pairs[row]] = stamp
        value = column[row]
        if value < 0:
            missing += 1
            continue
        if heights[value] == 0:
            shown[kinds] = value
            kinds += 1
        heights[value] += 1
    # The rows are counted already, and cost little where values are few; what orders values looks at each often.
    spend(rules, kinds * (15 if asked[T] > 0 and asked[T_IS_ORDERED] > 0 else 3))
    n = len(rows) - missing - repeated  # counted up from 0, numba would compile what it is passed to once for 0
    lack = 0.0
    if asked[ENTROPY] > 0:
        entropy = 0.0
        for i in range(kinds):
            part = heights[shown[i]] / n
            entropy -= part * np.log(part)
        if entropy < asked[ENTROPY] - TOLERANCE:
            lack += max(n, 1) * (asked[ENTROPY] - entropy) / asked[ENTROPY]
    if asked[RECURSIVE_C] > 0 or asked[ALPHA] > 0:
        # The l - 1 most frequent ones come to the front.
        rest = n
        front = min(kinds, max(int(asked[RECURSIVE_L]) - 1, 1))
        for i in range(front):
            most = i
            for j in range(i + 1, kinds):
                if heights[shown[j]] > heights[shown[most]]:
                    most = j
            shown[i], shown[most] = shown[most], shown[i]
            rest -= heights[shown[i]]
        top = heights[shown[0]] if kinds > 0 else 0
        if asked[RECURSIVE_C] > 0 and (rest == 0 or top / rest >= asked[RECURSIVE_C] - TOLERANCE):
            lack += max(top - asked[RECURSIVE_C] * rest, 0.0) + 0.5 * min(asked[RECURSIVE_C], 1.0)
        if asked[ALPHA] > 0 and n > 0 and top / n > asked[ALPHA] + TOLERANCE:
            lack += top - asked[ALPHA] * n
    if asked[T] > 0:
        base = rules.bases[s, way]
        distance = 0.0
        if n > 0 and asked[T_IS_ORDERED] > 0:
            distance = _ordered_distance(shown[:kinds], heights, n, base)
        elif n > 0:
            for i in range(kinds):
                distance += max(0.0, heights[shown[i]] / n - base[SHARE, shown[i]])
        if n + missing > 0:
            distance = max(distance, abs(missing / (n + missing) - base[SHARE_OF_MISSING, BEHIND]))
        if distance > asked[T] + TOLERANCE:
            lack += (n + missing) * (distance - asked[T])
    if asked[DELTA] > 0 or asked[BETA] > 0:
        lack += _unlikeness(shown[:kinds], heights, n, missing, rules.bases[s, way], asked)
    for i in range(kinds):
        heights[shown[i]] = 0
    return lack


@bare_kernel
def _unlikeness(
    shown: NDArray[np.int64],
    heights: NDArray[np.int32],
    n: int,
    missing: int,
    base: NDArray[np.float64],
    asked: NDArray[np.float64],
) -> float:
    """Return by how many rows the shares of n values differ more from `base` than delta and beta allow; O(d).

    A value that does not occur has too few rows for any delta. Missing ones are compared like one value more, among
    all rows.
    """
    lack = 0.0
    known = 0.0
    for i in range(len(shown)):
        share = base[SHARE, shown[i]]
        known += share
        lack += _misfit(heights[shown[i]], n, share, asked)
    absent = int(base[COUNT_OF_VALUES, BEHIND]) - len(shown)
    if asked[DELTA] > 0 and absent > 0:
        lack += 0.5 * absent + n * max(0.0, 1.0 - known) * np.exp(-asked[DELTA])
    if n + missing > 0 and base[SHARE_OF_MISSING, BEHIND] > 0:
        lack += _misfit(missing, n + missing, base[SHARE_OF_MISSING, BEHIND], asked)
    return lack


@bare_kernel
def _misfit(height: int, n: int, share: float, asked: NDArray[np.float64]) -> float:
    """Return how many rows of a value are too many or too few among n, all rows showing it in this share."""
    lack = 0.0
    ratio = height / (n * share)
    # As far as the edge, which delta does not allow, it is never quite 0.
    if asked[DELTA] > 0 and (height == 0 or abs(np.log(ratio)) >= asked[DELTA] - TOLERANCE):
        few = n * share * np.exp(-asked[DELTA]) - height
        many = height - n * share * np.exp(asked[DELTA])
        lack += 0.5 + max(few, many, 0.0)
    if asked[BETA] > 0 and ratio - 1.0 > asked[BETA] + TOLERANCE:
        lack += height - (1.0 + asked[BETA]) * n * share
    return lack


@bare_kernel
def _ordered_distance(
    shown: NDArray[np.int64], heights: NDArray[np.int32], n: int, base: NDArray[np.float64]
) -> float:
    """Return the earth mover's distance of n values from `base`, places apart; O(d log values + d^1.3).

    Between two values that occur, what was moved so far is a constant less a sum that only grows: where they
    cross is sought, and sums of sums are looked up on both sides.
    """
    kinds = len(shown)
    places = int(base[COUNT_OF_VALUES, BEHIND])
    if places < 2:
        return 0.0
    sort_values(shown)
    moved = 0.0
    own = 0.0
    for i in range(-1, kinds):
        start = shown[i] if i >= 0 else 0
        stop = shown[i + 1] if i + 1 < kinds else places
        if i >= 0:
            own += heights[start] / n
        low = start
        high = stop
        while low < high:  # the first place where the sum of the base is above what is here
            middle = (low + high) // 2
            if base[SUM, middle] > own:
                high = middle
            else:
                low = middle + 1
        moved += own * (low - start) - (base[SUM_OF_SUMS, low] - base[SUM_OF_SUMS, start])
        moved += (base[SUM_OF_SUMS, stop] - base[SUM_OF_SUMS, low]) - own * (stop - low)
    return moved / (places - 1)


@bare_kernel
def sort_values(keys: NDArray[np.int64]) -> None:
    """Sort in place, by Shell's sort. numba's own sorts take seconds to compile."""
    m = len(keys)
    gap = 1
    while 3 * gap + 1 < m:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, m):
            key = keys[i]
            j = i
            while j >= gap and keys[j - gap] > key:
                keys[j] = keys[j - gap]
                j -= gap
            keys[j] = key
        gap //= 3
