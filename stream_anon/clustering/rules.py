"""What is asked of a class, as arrays that kernels read."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.columns import Columns
from stream_anon.privacy.criteria import FIGURES, Criteria, Spread

# Columns of `Rules.asked`. What is not asked is 0. Behind them stands the bound of each figure: see `column_of`.
LEAST_VALUES = 0
FREQUENCIES = 1  # whether any figure is asked
COMPARED = 2  # whether with what all rows show
RECURSIVE_L = 3
T_IS_ORDERED = 4
LISTED = 5  # whether values are sets, see `legality.list_lack`
_FIRST_BOUND = 6
_COLUMNS = _FIRST_BOUND + len(FIGURES)

# Rows of `Rules.bases`, with an entry for each value.
SHARE = 0  # of each value in all rows
SUM = 1  # of the shares up to it
SUM_OF_SUMS = 2  # before it
_ROWS = 3
# The entry behind those of the values holds something else in each row, and nothing in the last.
BEHIND = -1
SHARE_OF_MISSING = SHARE
COUNT_OF_VALUES = SUM


# Entries of `Rules.notes`; the values that occur stand behind them.
STAMP = 0
LEFT = 1
SHOWN = 2
_UNBOUNDED = 1 << 62


class Rules(NamedTuple):
    """The criteria, the columns they look at, and room to count in.

    Few arrays: a call counts references to each of them.

    Parameters
    ----------
    k, max_share
        As in `Criteria`.
    each_once
        No individual has two rows and k is the only criterion: sizes decide alone.
    singles
        No individual has two rows.
    grows_legal
        A legal class stays legal whatever rows join it.
    columns
        int32[1 + 2 s, n]: individuals, sensitive values, and (individual, value) pairs, each dense; values of an
        attribute whose order counts ascend with it.
    asked
        float64[s, columns]; the columns have names above, as the rows of `bases`.
    bases
        float64[s, 2, rows, values + 1], what all rows show, counted over records and over pairs.
    marks
        int32[3 + s, widest], by individual, value, pair, and value of each attribute: 0 between calls in the first
        two, else stamps.
    notes
        int64[2 + values], the stamp used last, how many rows may still be looked at (`budget`), and the values that
        occur.
    parts
        float64[1 + s], room for a deficit.
    set_starts, set_items
        int64[s, values + 1], int32: of attributes whose values are sets, the items of each.
    """

    k: int
    max_share: float
    each_once: bool
    singles: bool
    grows_legal: bool
    columns: NDArray[np.int32]
    asked: NDArray[np.float64]
    bases: NDArray[np.float64]
    marks: NDArray[np.int32]
    notes: NDArray[np.int64]
    parts: NDArray[np.float64]
    set_starts: NDArray[np.int64]
    set_items: NDArray[np.int32]


def rules_of(rows: Columns, criteria: Criteria) -> Rules:
    """Return the rules of classes of `rows`, with whose distribution classes are compared; O(s n log n)."""
    counts = np.bincount(rows.individuals, minlength=1)
    singles = bool(counts.max(initial=0) <= 1)
    if singles and not len(criteria.distinct_l):
        return sizes_alone(criteria.k, criteria.max_share)
    columns = np.concatenate([rows.individuals[None], rows.sensitive, np.zeros_like(rows.sensitive)])
    width = int(rows.sensitive.max(initial=0)) + 2
    count = len(criteria.distinct_l)
    asked, bases = np.zeros((count, _COLUMNS)), np.zeros((count, 2, _ROWS, width))
    for s, (least, spread) in enumerate(zip(criteria.distinct_l.tolist(), criteria.asked, strict=True)):
        asked[s, LEAST_VALUES] = least
        if spread.asks:
            asked[s, FREQUENCIES:] = _asked(spread)
            columns[1 + s], columns[1 + count + s], bases[s] = _based(rows.individuals, rows.sensitive[s], width)
    starts, items = _sets(rows, criteria, width)
    for s in np.flatnonzero(criteria.lists).tolist():
        asked[s, LISTED] = 1
        columns[1 + count + s] = _pairs(rows.individuals, rows.sensitive[s], width)[1]
    room = max(width, int(items.max(initial=0)) + 1)
    widest = max(len(counts), room, int(columns.max(initial=0)) + 1)
    return Rules(
        criteria.k,
        criteria.max_share,
        False,
        singles,
        singles and not asked[:, [FREQUENCIES, LISTED]].any(),
        columns,
        asked,
        bases,
        np.zeros((3 + count, widest), np.int32),
        np.array([0, _UNBOUNDED, *[0] * width], np.int64),
        np.zeros(1 + count),
        starts,
        items,
    )


@cache
def sizes_alone(k: int, max_share: float = 1.0) -> Rules:
    """Return the rules of classes that need k rows, each a person's own, and nothing else: nothing to count in."""
    columns, marks = np.empty((1, 0), np.int32), np.empty((3, 0), np.int32)
    asked, bases = np.empty((0, _COLUMNS)), np.empty((0, 2, _ROWS, 1))
    notes = np.array([0, _UNBOUNDED], np.int64)
    starts, items = np.zeros((0, 1), np.int64), np.empty(0, np.int32)
    return Rules(k, max_share, True, True, True, columns, asked, bases, marks, notes, np.zeros(1), starts, items)


def column_of(figure: str) -> int:
    """Return the column of `Rules.asked` with the bound of one of `privacy.criteria.FIGURES`."""
    return _FIRST_BOUND + [each.name for each in FIGURES].index(figure)


def _asked(spread: Spread) -> tuple[float, ...]:
    """Return a row of `Rules.asked` from its second column on."""
    bounds = [figure.bound(spread) if figure.is_asked(spread) else 0.0 for figure in FIGURES]
    return spread.asks, spread.compares, spread.l, spread.ordered, 0.0, *bounds


def _pairs(
    individuals: NDArray[np.int32], values: NDArray[np.int32], width: int
) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Return the first row of each (individual, value) pair, and the dense number of each row's pair."""
    pairs = individuals.astype(np.int64) * (width + 1) + values
    _, first, numbers = np.unique(pairs, return_index=True, return_inverse=True)
    return first, numbers.astype(np.int32)


def _sets(rows: Columns, criteria: Criteria, width: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where the items of each value begin, for each attribute, and the items of all attributes."""
    starts = np.zeros((len(criteria.distinct_l), width + 1), np.int64)
    items, filled = [np.empty(0, np.int32)], 0
    for s in np.flatnonzero(criteria.lists).tolist():
        sets = rows.sets[s]
        if sets is None:
            raise ValueError("the sets behind the lists of an attribute are missing")
        known = min(len(sets.starts), width + 1)
        starts[s, :known] = filled + sets.starts[:known]
        starts[s, known:] = filled + sets.starts[known - 1]
        items.append(sets.items)
        filled += len(sets.items)
    return starts, np.concatenate(items)


def _based(
    individuals: NDArray[np.int32], column: NDArray[np.int32], width: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return values without gaps, (individual, value) pairs, and what all rows show: `columns` and `bases`."""
    used, dense = np.unique(column, return_inverse=True)
    values = (dense - (len(used) > 0 and used[0] < 0)).astype(np.int32)
    first, pairs = _pairs(individuals, values, width)
    base = np.zeros((2, _ROWS, width))
    for way, shown in enumerate((values, values[first])):
        present = shown[shown >= 0]
        share = np.bincount(present, minlength=width)[: width - 1] / max(len(present), 1)
        base[way, SHARE, :-1] = share
        base[way, SUM, :-1] = np.cumsum(share)
        base[way, SUM_OF_SUMS, 1:] = np.cumsum(base[way, SUM, :-1])
        base[way, SHARE_OF_MISSING, BEHIND] = 1 - len(present) / max(len(shown), 1)
        base[way, COUNT_OF_VALUES, BEHIND] = int(present.max(initial=-1)) + 1
    return values, pairs, base
