"""Classes as two arrays, and the small things that are done with them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.array_copying import copy_to
from stream_anon.compiled import bare_kernel, kernel

Classes = tuple[NDArray[np.int64], NDArray[np.int64]]
"""int64[n], all rows class after class; int64[c], where each class ends."""
Boxes = tuple[NDArray[np.int32], NDArray[np.int32]]
"""int32[c, q] twice, the least and the greatest code of each class along each attribute."""


def sizes_of(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of each class, int64[c], from where each ends."""
    sizes = ends.copy()
    sizes[1:] -= ends[:-1]
    return sizes


@kernel
def boxes_of(codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int64]) -> Boxes:
    """Return the boxes of classes; O(m q).

    Parameters
    ----------
    codes
        int32[n, q].
    rows, ends
        int64[m] class after class, int64[c] where each ends.
    """
    low = np.empty((len(ends), codes.shape[1]), np.int32)
    high = np.empty_like(low)
    start = 0
    for c in range(len(ends)):
        copy_to(low[c], codes[rows[start]])
        copy_to(high[c], low[c])
        for i in range(start + 1, ends[c]):
            for j in range(codes.shape[1]):
                code = codes[rows[i], j]
                low[c, j] = min(low[c, j], code)
                high[c, j] = max(high[c, j], code)
        start = ends[c]
    return low, high


@bare_kernel
def name_owners(rows: NDArray[np.int64], ends: NDArray[np.int64], owner: NDArray[np.int64]) -> None:
    """Write the class of each row of `rows` into owner int64[all rows]; O(n)."""
    start = 0
    for c in range(len(ends)):
        for i in range(start, ends[c]):
            owner[rows[i]] = c
        start = ends[c]


@kernel
def spliced(values: NDArray[np.int64], places: NDArray[np.int64], fresh: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return values int64[n] with each of fresh int64[m] before the place int64[m] that it is given; O(n + m).

    The places ascend. What `numpy.insert` does, without its price of a dozen calls.
    """
    answer = np.empty(len(values) + len(fresh), np.int64)
    i = 0
    for j in range(len(fresh)):
        while i < places[j]:
            answer[i + j] = values[i]
            i += 1
        answer[i + j] = fresh[j]
    while i < len(values):
        answer[i + len(fresh)] = values[i]
        i += 1
    return answer


@kernel
def gathered(rows: NDArray[np.int64], ends: NDArray[np.int64], numbers: NDArray[np.int64]) -> Classes:
    """Return the classes of these numbers, int64[any], one after the other; O(rows of theirs)."""
    count = 0
    for c in numbers:
        count += ends[c] - (ends[c - 1] if c > 0 else 0)
    part = np.empty(count, np.int64)
    part_ends = np.empty(len(numbers), np.int64)
    end = 0
    for i in range(len(numbers)):
        c = numbers[i]
        for place in range(ends[c - 1] if c > 0 else 0, ends[c]):
            part[end] = rows[place]
            end += 1
        part_ends[i] = end
    return part, part_ends


def strided(rows: NDArray[np.int64], ends: NDArray[np.int64], step: int) -> Classes:
    """Return the classes so that each is followed by the one that stood `step` places after it; O(n)."""
    return gathered(rows, ends, np.argsort(np.arange(len(ends)) % step, kind="stable"))


@kernel
def changed_classes(
    rows: NDArray[np.int64], ends: NDArray[np.int64], fresh: NDArray[np.bool_], wide: bool
) -> NDArray[np.bool_]:
    """Return bool[c], which classes hold a row of fresh bool[n]; if `wide`, their neighbours too; O(n)."""
    changed = np.zeros(len(ends), np.bool_)
    start = 0
    for c in range(len(ends)):
        for i in range(start, ends[c]):
            if fresh[rows[i]]:
                changed[c] = True
                if wide and c > 0:
                    changed[c - 1] = True
                if wide and c + 1 < len(ends):
                    changed[c + 1] = True
                break
        start = ends[c]
    return changed


@bare_kernel
def put_back(
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    picked: NDArray[np.bool_],
    part: NDArray[np.int64],
    part_ends: NDArray[np.int64],
    answer: NDArray[np.int64],
) -> None:
    """Write all classes, those that were picked as they are now; O(n).

    Parameters
    ----------
    rows, ends, picked
        All classes as they were, and which were picked; ends are changed in place.
    part, part_ends
        Those, as `gathered` returned them and REFINE left them; their number must not have changed.
    answer
        int64[n], written.
    """
    start = 0
    count = 0
    begin = 0
    end = 0
    for c in range(len(ends)):
        stop = ends[c]
        if picked[c]:
            for i in range(begin, part_ends[count]):
                answer[end] = part[i]
                end += 1
            begin = part_ends[count]
            count += 1
        else:
            for i in range(start, stop):
                answer[end] = rows[i]
                end += 1
        start = stop
        ends[c] = end
