"""What each quasi-identifier leaks to who holds a release, by the published table alone.

Whoever has the table can compute the same. So these figures, however exact, tell nothing of anybody that the table
does not tell (post-processing).
"""

from __future__ import annotations

from math import log2

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes


def shares_after(boxes: Boxes) -> NDArray[np.float64]:
    """Return the share of all that can leak which each quasi-identifier of a release leaks alone, float64[q].

    The mean over the released records of log2(n / |match|), as a share of log2 n for n released records, where
    |match| counts the records whose published value is compatible with the true one. The true value is one of those
    that the published value stands for. Each counts by how often the release makes it occur, if the records of each
    class are spread evenly over the values that it stands for. 0 for a single record.

    Equal tables give equal bits, whatever the order of their classes. O(q c log c) for c classes.
    """
    total = int(boxes.records.sum())
    if total < 2:  # log2 of it measures nothing
        return np.zeros(len(boxes.low))
    return np.array([_bits(boxes, place, total) for place in range(len(boxes.low))]) / log2(total)


def _bits(boxes: Boxes, place: int, total: int) -> float:
    """Return the bits that one attribute leaks.

    A published value is made of pieces: its interval, or each member of its set. The ends of all pieces cut the
    codes into segments, on each of which everything is constant.
    """
    records, value, low, end = _pieces(boxes, place)
    share = (records / np.bincount(value, end - low))[value]  # of the value's records, on one code
    edges = np.unique(np.concatenate([low, end]))
    starts, ends = np.searchsorted(edges, low), np.searchsorted(edges, end)

    def on_segments(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        steps = np.bincount(starts, weights, len(edges)) - np.bincount(ends, weights, len(edges))
        return np.asarray(steps.cumsum()[:-1], np.float64)

    def of_values(on_segment: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.concatenate([[0.0], on_segment.cumsum()])
        return np.asarray(np.bincount(value, sums[ends] - sums[starts]), np.float64)

    matching = np.maximum(on_segments(records[value].astype(np.float64)), 1)  # 1 where no value is, and none counts
    occurring = on_segments(share) * np.diff(edges)
    mean = of_values(occurring * np.log2(total / matching)) / of_values(occurring)
    return float(np.clip(records @ mean / total, 0.0, log2(total)))


def _pieces(boxes: Boxes, place: int) -> tuple[NDArray[np.int64], ...]:
    """Return the distinct values that classes publish of an attribute, in an order that is theirs alone.

    int64[v], the records of each value; and for each of m pieces int64[m]: the number of its value, its first code,
    and the code after its last one.
    """
    chosen, records = boxes.alike((place,))
    low, high = boxes.low[place, chosen].astype(np.int64), boxes.high[place, chosen].astype(np.int64)
    sets = boxes.members.get(place)
    if sets is None:  # groups come in the order of their bounds
        return records, np.arange(len(records)), low, high + 1
    spans = [
        [(code, code + 1) for code in sets[number]] or [(first, last + 1)]
        for number, first, last in zip(chosen.tolist(), low.tolist(), high.tolist(), strict=True)
    ]
    inorder = sorted(range(len(spans)), key=lambda at: (spans[at], records[at]))
    pieces = np.array([(place, *span) for place, at in enumerate(inorder) for span in spans[at]], np.int64)
    return records[inorder], pieces[:, 0], pieces[:, 1], pieces[:, 2]
