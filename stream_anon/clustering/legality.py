"""Count whether a few rows may be a class: what partitioners need to know while they work.

The gate does not believe them and counts again with other code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.criteria import Criteria


class Ledger(NamedTuple):
    """The criteria, the columns they look at, and room to count in.

    Parameters
    ----------
    k, max_share, distinct_l
        As in `Criteria`.
    individuals, sensitive
        int32[n], int32[s, n], dense.
    each_once
        No individual has two rows and k is the only criterion: sizes decide alone.
    tally
        int32[individuals], all zero between calls.
    seen
        int32[s, values], stamps.
    stamp
        int32[1], the stamp used last.
    """

    k: int
    max_share: float
    distinct_l: NDArray[np.int64]
    individuals: NDArray[np.int32]
    sensitive: NDArray[np.int32]
    each_once: bool
    tally: NDArray[np.int32]
    seen: NDArray[np.int32]
    stamp: NDArray[np.int32]


def ledger_of(rows: Columns, criteria: Criteria) -> Ledger:
    """Return a ledger over `rows`; O(n)."""
    counts = np.bincount(rows.individuals, minlength=1)
    return Ledger(
        criteria.k,
        criteria.max_share,
        criteria.distinct_l,
        rows.individuals,
        rows.sensitive,
        bool(counts.max(initial=0) <= 1) and len(criteria.distinct_l) == 0,
        np.zeros(len(counts), np.int32),
        np.zeros((len(rows.sensitive), int(rows.sensitive.max(initial=0)) + 1), np.int32),
        np.zeros(1, np.int32),
    )


def within_share(individuals: NDArray[np.int32], max_share: float) -> NDArray[np.int64]:
    """Return the rows that stay if nobody may hold more than `max_share` of them: each one's first rows.

    Rows beyond are surplus: whoever has more than all others together cannot hide among them.
    """
    counts = np.bincount(individuals, minlength=1)
    cap = int(counts.max())
    while cap > 0 and cap > max_share * np.minimum(counts, cap).sum():
        cap = min(cap - 1, int(max_share * np.minimum(counts, cap).sum()))
    if cap <= 0:
        return np.empty(0, np.int64)
    if cap == counts.max():
        return np.arange(len(individuals))
    order = np.argsort(individuals, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(individuals), np.int64)
    rank[order] = np.arange(len(individuals)) - starts[individuals[order]]
    return np.flatnonzero(rank < cap)


def placeable(rows: Columns, criteria: Criteria) -> NDArray[np.int64]:
    """Return the rows that are legal as one class, as many as possible; none if that cannot be."""
    chosen = within_share(rows.individuals, criteria.max_share)
    values = np.array([len(np.unique(column[chosen])) for column in rows.sensitive], np.int64)
    reached = criteria.in_reach(int((np.bincount(rows.individuals[chosen], minlength=1) > 0).sum()), values)
    return chosen if reached else np.empty(0, np.int64)


@kernel
def is_legal(rows: NDArray[np.int64], ledger: Ledger) -> bool:
    """Return whether rows int64[m] meet the criteria; O(m (1 + s)), O(1) where sizes decide alone."""
    m = len(rows)
    if m < ledger.k:
        return False
    if ledger.each_once:
        return True
    people = 0
    largest = 0
    for i in range(m):
        person = ledger.individuals[rows[i]]
        if ledger.tally[person] == 0:
            people += 1
        ledger.tally[person] += 1
        largest = max(largest, ledger.tally[person])
    for i in range(m):
        ledger.tally[ledger.individuals[rows[i]]] = 0
    if people < ledger.k or largest > ledger.max_share * m:
        return False
    ledger.stamp[0] += 1
    for s in range(len(ledger.distinct_l)):
        values = 0
        for i in range(m):
            value = ledger.sensitive[s, rows[i]]
            if ledger.seen[s, value] != ledger.stamp[0]:
                ledger.seen[s, value] = ledger.stamp[0]
                values += 1
                if values >= ledger.distinct_l[s]:
                    break
        if values < ledger.distinct_l[s]:
            return False
    return True
