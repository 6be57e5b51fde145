"""Count whether a few rows may be a class: what partitioners need to know while they work.

The gate does not believe them and counts again with other code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import inlined, kernel
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
    singles
        No individual has two rows.
    grows_legal
        A legal class stays legal whatever rows join it.
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
    singles: bool
    grows_legal: bool
    tally: NDArray[np.int32]
    seen: NDArray[np.int32]
    stamp: NDArray[np.int32]


def ledger_of(rows: Columns, criteria: Criteria) -> Ledger:
    """Return a ledger over `rows`; O(n)."""
    counts = np.bincount(rows.individuals, minlength=1)
    singles = bool(counts.max(initial=0) <= 1)
    return Ledger(
        criteria.k,
        criteria.max_share,
        criteria.distinct_l,
        rows.individuals,
        rows.sensitive,
        singles and len(criteria.distinct_l) == 0,
        singles,
        singles,
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


@kernel
def is_legal(rows: NDArray[np.int64], ledger: Ledger) -> bool:
    """Return whether rows int64[m] meet the criteria; O(m (1 + s)), O(1) where sizes decide alone."""
    m = len(rows)
    if m < ledger.k:
        return False
    if ledger.each_once:
        return True
    people = m
    if not ledger.singles:
        people, largest = _people(rows, ledger.individuals, ledger.tally)
        if people < ledger.k or largest > ledger.max_share * m:
            return False
    for s in range(len(ledger.distinct_l)):  # noqa: SIM110 - a kernel knows no all()
        if held_values(rows, people, s, ledger) < ledger.distinct_l[s]:
            return False
    return True


@kernel
def deficit(rows: NDArray[np.int64], ledger: Ledger, parts: NDArray[np.float64]) -> float:
    """Return how far rows int64[m] are from legal, 0 exactly where `is_legal` holds; O(m (1 + s)).

    The sum of one part per column that is looked at; a criterion more is a term more.

    Parameters
    ----------
    parts
        float64[1 + s], written. Individuals: how many are missing to k, and by how many rows the one with the
        most is above `max_share`. Each sensitive attribute: how many values are missing to l.
    """
    m = len(rows)
    people = m
    parts[0] = 0.0
    if not ledger.singles:
        people, largest = _people(rows, ledger.individuals, ledger.tally)
        if largest > ledger.max_share * m:
            parts[0] = largest - ledger.max_share * m
    if people < ledger.k:
        parts[0] += ledger.k - people
    total = float(parts[0])
    for s in range(len(ledger.distinct_l)):
        parts[1 + s] = ledger.distinct_l[s] - held_values(rows, people, s, ledger)
        total += parts[1 + s]
    return total


@inlined
def _people(rows: NDArray[np.int64], individuals: NDArray[np.int32], tally: NDArray[np.int32]) -> tuple[int, int]:
    """Return how many individuals rows belong to, and how many rows to the one with the most."""
    people = 0
    largest = 0
    for i in range(len(rows)):
        person = individuals[rows[i]]
        if tally[person] == 0:
            people += 1
        tally[person] += 1
        largest = max(largest, tally[person])
    for i in range(len(rows)):
        tally[individuals[rows[i]]] = 0
    return people, largest


@inlined
def held_values(rows: NDArray[np.int64], people: int, s: int, ledger: Ledger) -> int:
    """Return how many values of a sensitive attribute are held by as many individuals, up to l; O(m) mostly."""
    m = len(rows)
    least = ledger.distinct_l[s]
    ledger.stamp[0] += 1
    values = 0
    for i in range(m):
        value = ledger.sensitive[s, rows[i]]
        if value >= 0 and ledger.seen[s, value] != ledger.stamp[0]:
            ledger.seen[s, value] = ledger.stamp[0]
            values += 1
            if values == least:
                break
    if people == m:
        return values  # one value a person: as many people hold them
    # Each person's first value: these are held by different people. Only where they are too few is it worth
    # looking whether somebody's other values help.
    ledger.stamp[0] += 1
    firsts = 0
    for i in range(m):
        value = ledger.sensitive[s, rows[i]]
        person = ledger.individuals[rows[i]]
        if value >= 0 and ledger.tally[person] == 0:
            ledger.tally[person] = 1
            if ledger.seen[s, value] != ledger.stamp[0]:
                ledger.seen[s, value] = ledger.stamp[0]
                firsts += 1
    for i in range(m):
        ledger.tally[ledger.individuals[rows[i]]] = 0
    if firsts >= values:
        return values
    return matched_values(rows, ledger.individuals, ledger.sensitive[s], values)


@kernel
def matched_values(
    rows: NDArray[np.int64], individuals: NDArray[np.int32], column: NDArray[np.int32], enough: int
) -> int:
    """Return how many values of rows int64[m] are held by as many different individuals, up to `enough`.

    Augmenting paths over (individual, value) pairs, one path at a time; O(enough x m^2), m small. Negative values
    count for nothing.
    """
    m = len(rows)
    person_at = np.full(m, -1, np.int64)  # of each row's value: the row by whose individual it is held
    taken_by = np.full(m, -1, np.int64)  # of each row's individual: the row whose value it holds
    # The first row with a value, or with an individual, stands for it.
    value_of = np.empty(m, np.int64)
    person_of = np.empty(m, np.int64)
    for i in range(m):
        value_of[i] = i
        person_of[i] = i
        for other in range(i):
            if column[rows[other]] == column[rows[i]]:
                value_of[i] = other
                break
        for other in range(i):
            if individuals[rows[other]] == individuals[rows[i]]:
                person_of[i] = other
                break
    queue = np.empty(m, np.int64)
    came_by = np.empty(m, np.int64)
    matched = 0
    for start in range(m):
        if matched >= enough:
            break
        if value_of[start] != start or column[rows[start]] < 0:
            continue
        came_by[:] = -1
        queue[0] = start
        tail = 1
        head = 0
        end = -1
        while head < tail and end < 0:
            value = queue[head]
            head += 1
            for i in range(m):
                person = person_of[i]
                if value_of[i] != value or came_by[person] >= 0:
                    continue
                came_by[person] = value
                if taken_by[person] < 0:
                    end = person
                    break
                queue[tail] = taken_by[person]
                tail += 1
        if end >= 0:
            matched += 1
        while end >= 0:  # walk back: everybody on the path takes the value that led to them
            value = came_by[end]
            before = person_at[value]
            taken_by[end] = value
            person_at[value] = end
            end = before
    return matched
