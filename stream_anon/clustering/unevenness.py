"""How far the values of a class are from spread as entropy, recursion, closeness and largest share ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_kernel
from stream_anon.privacy.criteria import TOLERANCE

if TYPE_CHECKING:
    from stream_anon.clustering.legality import Ledger


@bare_kernel
def unevenness(rows: NDArray[np.int64], s: int, way: int, ledger: Ledger) -> float:
    """Return how far the values of rows int64[m] are from spread as asked, 0 where they are; O(m + l d + d log d).

    Counted over records (`way` 0) or over distinct (individual, value) pairs (1), d values. In rows: entropy
    n (log l - H) / log l, recursion r1 - c (r_l + ..), share r1 - alpha n, closeness m (distance - t).
    """
    column = ledger.columns[1 + s]
    pairs = ledger.columns[1 + len(ledger.asked) + s]
    heights = ledger.marks[1]
    paired = ledger.marks[2]
    shown = ledger.notes[2:]
    asked = ledger.asked[s]
    ledger.notes[0] += 1
    stamp = ledger.notes[0]
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
    ledger.notes[1] -= kinds * (15 if asked[4] > 0 and asked[5] > 0 else 3)
    n = len(rows) - missing - repeated  # counted up from 0, numba would compile what it is passed to once for 0
    lack = 0.0
    if asked[1] > 0:
        entropy = 0.0
        for i in range(kinds):
            part = heights[shown[i]] / n
            entropy -= part * np.log(part)
        if entropy < asked[1] - TOLERANCE:
            lack += max(n, 1) * (asked[1] - entropy) / asked[1]
    if asked[2] > 0 or asked[6] > 0:
        # The l - 1 most frequent ones come to the front.
        rest = n
        front = min(kinds, max(int(asked[3]) - 1, 1))
        for i in range(front):
            most = i
            for j in range(i + 1, kinds):
                if heights[shown[j]] > heights[shown[most]]:
                    most = j
            shown[i], shown[most] = shown[most], shown[i]
            rest -= heights[shown[i]]
        top = heights[shown[0]] if kinds > 0 else 0
        if asked[2] > 0 and (rest == 0 or top / rest >= asked[2] - TOLERANCE):
            lack += max(top - asked[2] * rest, 0.0) + 0.5 * min(asked[2], 1.0)
        if asked[6] > 0 and n > 0 and top / n > asked[6] + TOLERANCE:
            lack += top - asked[6] * n
    if asked[4] > 0:
        base = ledger.bases[s, way]
        distance = 0.0
        if n > 0 and asked[5] > 0:
            distance = _ordered_distance(shown[:kinds], heights, n, base)
        elif n > 0:
            for i in range(kinds):
                distance += max(0.0, heights[shown[i]] / n - base[0, shown[i]])
        if n + missing > 0:
            distance = max(distance, abs(missing / (n + missing) - base[0, -1]))
        if distance > asked[4] + TOLERANCE:
            lack += (n + missing) * (distance - asked[4])
    for i in range(kinds):
        heights[shown[i]] = 0
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
    places = int(base[1, -1])
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
            if base[1, middle] > own:
                high = middle
            else:
                low = middle + 1
        moved += own * (low - start) - (base[2, low] - base[2, start])
        moved += (base[2, stop] - base[2, low]) - own * (stop - low)
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
