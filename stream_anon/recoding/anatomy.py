"""Anatomy (Xiao and Tao, VLDB 2006): quasi-identifiers as they are, sensitive values apart from them, by group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import Refused
from stream_anon.measures.grouping import dense


def anatomized(values: NDArray[np.int64], l: int, draws: np.random.Generator) -> NDArray[np.int64]:  # noqa: E741
    """Return the group of each row: at least l rows, all of different values.

    While l values or more are left, a group takes a row of each of the l most frequent ones, of equally frequent
    ones those that come first in an order drawn at random. An order taken from the rows, such as that in which
    values first appear, would tell who knows the order of the rows more than the groups do. A row that is left then
    joins a group without its value. O(n / l x v log v) for v values.

    Parameters
    ----------
    values
        int64[n], equal for rows of one sensitive value. Every row is somebody else's.
    l
        At least 2.
    draws
        Decides which of the rows of one value, and which of equally frequent values, go together.

    Raises
    ------
    Refused
        If there are fewer than l rows, or a value has more than n / l of them: no such groups are possible.
    """
    numbers, kinds = dense(values)
    numbers = draws.permutation(kinds)[numbers]
    counts = np.bincount(numbers, minlength=kinds)
    if len(values) < l:
        raise Refused(f"anatomy: no groups of {l} different values are possible with {len(values):,} rows")
    if counts.max() * l > len(values):
        raise Refused(
            f"anatomy: no groups of {l} different values are possible, since one value has more than 1/{l} of the "
            f"{len(values):,} rows"
        )
    mixed = draws.permutation(len(values))
    by_value = mixed[np.argsort(numbers[mixed], kind="stable")]
    ends = np.cumsum(counts)  # the rows of a value are taken from the end of its stretch
    groups = np.full(len(values), -1, np.int64)
    left, made = counts.copy(), 0
    while (left > 0).sum() >= l:
        chosen = np.argsort(-left, kind="stable")[:l]
        groups[by_value[ends[chosen] - (counts - left)[chosen] - 1]] = made
        left[chosen] -= 1
        made += 1
    held = groups >= 0
    shows = set(zip(groups[held].tolist(), numbers[held].tolist(), strict=True))
    for row in np.flatnonzero(groups < 0).tolist():
        without = [group for group in range(made) if (group, int(numbers[row])) not in shows]
        groups[row] = without[int(draws.integers(len(without)))]
        shows.add((int(groups[row]), int(numbers[row])))
    return groups


def is_anatomized(groups: NDArray[np.int64], values: NDArray[np.int64], l: int) -> bool:  # noqa: E741
    """Return whether no value has more than 1/l of the rows of a group; counted anew, from the tables alone."""
    rows = np.unique(groups, return_counts=True)
    size_of = dict(zip(rows[0].tolist(), rows[1].tolist(), strict=True))
    pairs, counts = np.unique(np.stack([groups, values]), axis=1, return_counts=True)
    return all(count * l <= size_of[group] for group, count in zip(pairs[0].tolist(), counts.tolist(), strict=True))
