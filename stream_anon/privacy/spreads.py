"""Count how sensitive values are spread in each group of rows: the gate's own code, shared with no partitioner.

For l-diversity by entropy and frequency, t-closeness, delta-disclosure and beta-likeness.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.columns import NO_VALUE
from stream_anon.privacy.criteria import Spread, Spreads


def spreads_of(
    group_of_row: NDArray[np.int64],
    groups: int,
    individuals: NDArray[np.int32],
    column: NDArray[np.int32],
    asked: Spread,
) -> Spreads:
    """Return the spread of one attribute's values in each group, the worse of two counts; O(n log n).

    One counts records, as a reader of the output sees them; the other distinct (individual, value) pairs, so that
    a person with many records weighs no more than others. The reference is what all rows show in the same count.

    Parameters
    ----------
    group_of_row
        int64[n], 0..groups-1.
    individuals, column
        int32[n], dense; values `NO_VALUE` where missing. Where their order counts they ascend with it.
    asked
        Which l of the recursive criterion is meant, which distance, and which figures are asked for.
    """
    by_records = _counted(group_of_row, groups, column, column, asked)
    pairs = individuals.astype(np.int64) * (int(column.max(initial=0)) + 2) + column
    _, first = np.unique(pairs, return_index=True)
    if len(first) == len(pairs):
        return by_records
    _, pair_of_row = np.unique(pairs, return_inverse=True)
    _, own = np.unique(group_of_row * (int(pair_of_row.max(initial=0)) + 1) + pair_of_row, return_index=True)
    by_pairs = _counted(group_of_row[own], groups, column[own], column[first], asked)
    return by_records.or_worse(by_pairs)


def _counted(
    group_of_row: NDArray[np.int64],
    groups: int,
    column: NDArray[np.int32],
    everything: NDArray[np.int32],
    asked: Spread,
) -> Spreads:
    """Return the spread of `column` in each group, its reference the values in `everything`."""
    present = column != NO_VALUE
    group, value = group_of_row[present], column[present].astype(np.int64)
    rows = np.bincount(group_of_row, minlength=groups)
    held = np.bincount(group, minlength=groups)
    base = everything[everything != NO_VALUE]
    reference = np.bincount(base) / len(base)
    span = len(reference)
    # One cell for each value of each group, the most frequent of a group first.
    cells, counts = np.unique(group * span + value, return_counts=True)
    order = np.lexsort((-counts, cells // span))
    owner, shown, counts = cells[order] // span, cells[order] % span, counts[order]
    starts = np.searchsorted(owner, np.arange(groups + 1))
    place = np.arange(len(owner)) - starts[owner]
    part = counts / held[owner]
    entropy = -np.bincount(owner, part * np.log(part), groups).astype(np.float64)
    most = np.bincount(owner[place == 0], counts[place == 0], groups).astype(np.float64)
    rest = np.bincount(owner[place >= asked.l - 1], counts[place >= asked.l - 1], groups)
    tilt = np.divide(most, rest, out=np.full(groups, np.inf), where=rest > 0)
    share = most / np.maximum(held, 1)
    distance = np.zeros(groups)
    if asked.t < 1:
        if asked.ordered:
            parts = [(shown[a:b], part[a:b]) for a, b in pairwise(starts.tolist())]
            distance = np.array([_ordered(values, shares, reference) for values, shares in parts])
        else:
            distance = np.bincount(owner, np.maximum(part - reference[shown], 0.0), groups).astype(np.float64)
        missing = 1 - len(base) / max(len(everything), 1)
        distance = np.maximum(distance, np.abs(1 - held / np.maximum(rows, 1) - missing))
    disclosure, gain = np.zeros(groups), np.zeros(groups)
    if asked.delta < np.inf or asked.beta < np.inf:
        ratio = part / reference[shown]
        lacking = np.bincount(owner, minlength=groups) < np.count_nonzero(reference)
        if len(base) < len(everything):  # whether somebody has a value is compared alike
            without = (rows - held) / np.maximum(rows, 1)
            ratio = np.append(ratio, (without * len(everything) / (len(everything) - len(base)))[without > 0])
            owner = np.append(owner, np.flatnonzero(without))
            lacking |= without == 0
        np.maximum.at(disclosure, owner, np.abs(np.log(ratio)))
        disclosure[lacking] = np.inf
        np.maximum.at(gain, owner, ratio - 1)
    return Spreads(entropy, tilt, distance, share, disclosure, gain)


def _ordered(values: NDArray[np.int64], shares: NDArray[np.float64], reference: NDArray[np.float64]) -> float:
    """Return the earth mover's distance of one group's shares over the places in the order; 0 for no value."""
    used = np.flatnonzero(reference)
    if not len(values) or len(used) < 2:
        return 0.0
    own = np.zeros(len(reference))
    own[values] = shares
    return float(np.abs(np.cumsum(own[used] - reference[used])).sum() / (len(used) - 1))
