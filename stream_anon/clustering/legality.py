"""Count whether a few rows may be a class: what partitioners need to know while they work.

The gate does not believe them and counts again with other code.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.matching import held_values
from stream_anon.clustering.unevenness import unevenness
from stream_anon.compiled import bare_inlined, bare_kernel
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.criteria import Criteria, Spread

_UNBOUNDED = 1 << 62
_ROWS_FREE = 100_000  # about a second for REPAIR


class Ledger(NamedTuple):
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
        float64[s, 8]: distinct values, log of entropy_l, c, l, t, 1 for ordered, alpha, 0 for what is not asked; 1
        where any but the first is.
    bases
        float64[s, 2, 3, values + 1], counted over records and over pairs: the share of each value in all rows, the
        sum of the shares up to it, and the sum of these sums before it; the last entry is the share of missing
        ones, how many values there are, and nothing.
    marks
        int32[3 + s, widest], by individual, value, pair, and value of each attribute: 0 between calls in the first
        two, else stamps.
    notes
        int64[2 + values], the stamp used last, how many rows may still be looked at (`allow`), and the values that
        occur.
    parts
        float64[1 + s], room for a deficit.
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


def ledger_of(rows: Columns, criteria: Criteria) -> Ledger:
    """Return a ledger over `rows`, whose distribution is the one classes are compared with; O(s n log n)."""
    counts = np.bincount(rows.individuals, minlength=1)
    singles = bool(counts.max(initial=0) <= 1)
    if singles and not len(criteria.distinct_l):
        return sizes_alone(criteria.k, criteria.max_share)
    columns = np.concatenate([rows.individuals[None], rows.sensitive, np.zeros_like(rows.sensitive)])
    width = int(rows.sensitive.max(initial=0)) + 2
    count = len(criteria.distinct_l)
    asked, bases = np.zeros((count, 8)), np.zeros((count, 2, 3, width))
    for s, (least, spread) in enumerate(zip(criteria.distinct_l.tolist(), criteria.asked, strict=True)):
        asked[s, 0] = least
        if spread.asks:
            asked[s, 1:] = (*_asked(spread), 1.0)
            columns[1 + s], columns[1 + count + s], bases[s] = _based(rows.individuals, rows.sensitive[s], width)
    widest = max(len(counts), width, int(columns.max(initial=0)) + 1)
    return Ledger(
        criteria.k,
        criteria.max_share,
        False,
        singles,
        singles and not asked[:, 1:].any(),
        columns,
        asked,
        bases,
        np.zeros((3 + count, widest), np.int32),
        np.array([0, _UNBOUNDED, *[0] * width], np.int64),
        np.zeros(1 + count),
    )


@cache
def sizes_alone(k: int, max_share: float = 1.0) -> Ledger:
    """Return the ledger of classes that need k rows, each a person's own, and nothing else: nothing to count in."""
    columns, marks = np.empty((1, 0), np.int32), np.empty((3, 0), np.int32)
    asked, bases = np.empty((0, 8)), np.empty((0, 2, 3, 1))
    notes = np.array([0, _UNBOUNDED], np.int64)
    return Ledger(k, max_share, True, True, True, columns, asked, bases, marks, notes, np.zeros(1))


def allow(ledger: Ledger, looks: int, rows: int) -> None:
    """Let a stage look at `looks` rows for each row of its window from here on, and at more in a small window.

    Counting rows is what takes the time where classes are large or hardly ever legal, and it is the same count
    whatever the machine: a window is partitioned in the same way everywhere. A small one is soon closed whatever
    its values are; where it is large, time must not grow faster than the rows do.
    """
    ledger.notes[1] = looks * (rows + _ROWS_FREE)


def left_of(ledger: Ledger) -> int:
    """Return how many rows may still be looked at, less than 0 where it was stopped for that; not for kernels."""
    return int(ledger.notes[1])


@bare_inlined
def spend(ledger: Ledger, rows: int) -> None:
    """Count rows that were looked at."""
    ledger.notes[1] -= rows


@bare_inlined
def is_spent(ledger: Ledger) -> bool:
    """Return whether more rows were looked at than were allowed; never where nobody said how many."""
    return bool(ledger.notes[1] < 0)


def _asked(spread: Spread) -> tuple[float, ...]:
    """Return a row of `Ledger.asked` from its second entry on."""
    return (
        float(np.log(spread.entropy_l)),
        spread.c if spread.c < np.inf else 0.0,
        spread.l,
        spread.t if spread.t < 1 else 0.0,
        spread.ordered,
        spread.alpha if spread.alpha < 1 else 0.0,
    )


def _based(
    individuals: NDArray[np.int32], column: NDArray[np.int32], width: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return values without gaps, (individual, value) pairs, and what all rows show: `columns` and `bases`."""
    used, dense = np.unique(column, return_inverse=True)
    values = (dense - (len(used) > 0 and used[0] < 0)).astype(np.int32)
    _, first, pairs = np.unique(
        individuals.astype(np.int64) * (width + 1) + values, return_index=True, return_inverse=True
    )
    base = np.zeros((2, 3, width))
    for way, shown in enumerate((values, values[first])):
        present = shown[shown >= 0]
        share = np.bincount(present, minlength=width)[: width - 1] / max(len(present), 1)
        base[way, 0, :-1] = share
        base[way, 1, :-1] = np.cumsum(share)
        base[way, 2, 1:] = np.cumsum(base[way, 1, :-1])
        base[way, 0, -1] = 1 - len(present) / max(len(shown), 1)
        base[way, 1, -1] = int(present.max(initial=-1)) + 1
    return values, pairs.astype(np.int32), base


def within_share(individuals: NDArray[np.int32], max_share: float) -> NDArray[np.int64]:
    """Return the rows that stay if nobody may hold more than `max_share` of them: each one's first rows.

    Rows beyond are surplus: whoever has more than all others together cannot hide among them.
    """
    counts = np.bincount(individuals, minlength=1)
    cap = int(counts.max())
    if cap <= max_share * len(individuals):
        return np.arange(len(individuals))
    while cap > 0 and cap > max_share * np.minimum(counts, cap).sum():
        cap = min(cap - 1, int(max_share * np.minimum(counts, cap).sum()))
    if cap <= 0:
        return np.empty(0, np.int64)
    order = np.argsort(individuals, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(individuals), np.int64)
    rank[order] = np.arange(len(individuals)) - starts[individuals[order]]
    return np.flatnonzero(rank < cap)


@bare_kernel
def is_legal(rows: NDArray[np.int64], ledger: Ledger) -> bool:
    """Return whether rows int64[m] meet the criteria; O(m (1 + s)), O(1) where sizes decide alone."""
    if len(rows) < ledger.k:
        return False
    return ledger.each_once or deficit(rows, ledger, ledger.parts) <= 0


@bare_kernel
def may_part(rows: NDArray[np.int64], ledger: Ledger) -> bool:
    """Return False where rows int64[m] hold too few values for two legal classes, whatever the cut; O(m s)."""
    for s in range(len(ledger.asked)):
        ledger.notes[0] += 2
        once = ledger.notes[0] - 1
        found = 0
        for i in range(len(rows)):
            value = ledger.columns[1 + s, rows[i]]
            if value >= 0 and ledger.marks[3 + s, value] <= once:
                ledger.marks[3 + s, value] = once + (ledger.marks[3 + s, value] == once)
                found += 1
        if found < 2 * ledger.asked[s, 0]:
            return False
    return True


@bare_kernel
def deficit(rows: NDArray[np.int64], ledger: Ledger, parts: NDArray[np.float64]) -> float:
    """Return how far rows int64[m] are from legal, 0 exactly where `is_legal` holds; O(m (1 + s)).

    The sum of one part per column that is looked at; a criterion more is a term more.

    Parameters
    ----------
    parts
        float64[1 + s], written. Individuals: how many are missing to k, and by how many rows the one with the
        most is above `max_share`. Each sensitive attribute: how many values are missing to l, and `unevenness`.
    """
    m = len(rows)
    columns = ledger.columns
    marks = ledger.marks
    spend(ledger, m if ledger.singles else 2 * m)  # once for the rows, once for their people
    people = m
    over = 0.0
    if not ledger.singles:
        largest = 0
        people = 0
        for i in range(m):
            person = columns[0, rows[i]]
            marks[0, person] += 1
            people += marks[0, person] == 1
            largest = max(largest, marks[0, person])
        for i in range(m):
            marks[0, columns[0, rows[i]]] = 0
        over = max(0.0, largest - ledger.max_share * m)
    total = over + max(0, ledger.k - people)
    parts[0] = total
    for s in range(len(ledger.asked)):
        least = ledger.asked[s, 0]
        lack = 0.0
        if least > 0:
            ledger.notes[0] += 1
            stamp = ledger.notes[0]
            values = 0
            for i in range(m):
                value = columns[1 + s, rows[i]]
                if value >= 0 and marks[3 + s, value] != stamp:
                    marks[3 + s, value] = stamp
                    values += 1
                    if values >= least:
                        break
            if people < m and values > 1:
                values = held_values(rows, values, s, ledger)
            lack = least - values
        if ledger.asked[s, 7] > 0:
            uneven = 0.0
            for way in range(2 if people < m else 1):  # over records, then over (individual, value) pairs
                uneven = max(uneven, unevenness(rows, s, way, ledger))
            lack += uneven
        parts[1 + s] = lack
        total += lack
    return total
