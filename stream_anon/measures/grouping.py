"""Group equal rows of columns, and count the people of each group."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_SPARSE = 8  # times as many possible keys as rows up to which a table of all keys is faster than sorting


def dense(keys: NDArray[np.integer]) -> tuple[NDArray[np.int64], int]:
    """Return numbers 0..g-1 that are equal where keys are, ascending with them, and g; O(n) or O(n log n).

    Parameters
    ----------
    keys
        Integers [n], of any sign.
    """
    if not len(keys):
        return np.empty(0, np.int64), 0
    least, top = int(keys.min()), int(keys.max())
    if top - least < _SPARSE * len(keys):
        shifted = keys.astype(np.int64) - least
        seen = np.zeros(top - least + 1, np.int64)
        seen[shifted] = 1
        places = np.cumsum(seen) - 1
        return places[shifted], int(places[-1]) + 1
    unique, inverse = np.unique(keys, return_inverse=True)
    return inverse.astype(np.int64), len(unique)


def grouped(columns: Iterable[NDArray[np.integer]], rows: int) -> tuple[NDArray[np.int64], int]:
    """Return for each row the number of its group of equal rows, 0..g-1, and g; no column makes one group.

    Parameters
    ----------
    columns
        Integers [rows] each.
    rows
        Their length.
    """
    groups, count = np.zeros(rows, np.int64), min(1, rows)
    for column in columns:
        groups, count = split(groups, count, *dense(column))
    return groups, count


def split(
    groups: NDArray[np.int64], count: int, values: NDArray[np.int64], kinds: int
) -> tuple[NDArray[np.int64], int]:
    """Return groups split by a further column: numbers 0..g-1 of the rows that are equal in both, and g.

    Parameters
    ----------
    groups, count
        int64[n], numbers below `count`.
    values, kinds
        int64[n], numbers below `kinds`, as `dense` gives them.
    """
    return (values, kinds) if count == 1 else dense(groups * kinds + values)


def firsts(groups: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the first row of each group, int64[count]."""
    found = np.empty(count, np.int64)
    found[groups[::-1]] = np.arange(len(groups) - 1, -1, -1)
    return found


def by_appearance(keys: NDArray[np.integer]) -> tuple[NDArray[np.int64], int]:
    """Return numbers 0..g-1 that are equal where keys are, in the order in which these come first, and g."""
    groups, count = dense(keys)
    places = np.empty(count, np.int64)
    places[np.argsort(firsts(groups, count))] = np.arange(count)
    return places[groups], count


def people(groups: NDArray[np.int64], count: int, individuals: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the number of distinct individuals of each group, int64[count].

    Parameters
    ----------
    individuals
        int64[n], dense numbers from 0; None where every row is another person's.
    """
    if individuals is None:
        return np.bincount(groups, minlength=count)
    persons = int(individuals.max(initial=0)) + 1
    pairs = np.unique(groups * persons + individuals)
    return np.bincount(pairs // persons, minlength=count)
