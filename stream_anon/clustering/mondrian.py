"""Strict Mondrian: top-down median cuts (LeFevre, DeWitt, Ramakrishnan, ICDE 2006).

A set of rows is cut at the median of the attribute whose published value costs most, all equal values on one
side, as long as both sides meet the criteria; if the widest attribute gives no legal cut the next is tried.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.protocol import UNPLACED
from stream_anon.compiled import kernel
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.cost import CostModel, table_cost, walked_cost
from stream_anon.privacy.criteria import Criteria


@kernel
def _median_cut(codes: NDArray[np.int32], rows: NDArray[np.int32], low: int, high: int) -> int:
    """Return the greatest code of the left side of the cut nearest to the middle; `low` <= answer < `high`.

    codes int32[n] of one attribute, rows int32[m], of which the codes span `low` < `high`.
    """
    m = len(rows)
    span = high - low + 1
    if span <= 4 * m:
        histogram = np.zeros(span, np.int32)
        for i in range(m):
            histogram[codes[rows[i]] - low] += 1
        below = 0
        cut, gap = 0, m
        for value in range(span - 1):
            below += histogram[value]
            if histogram[value] and abs(2 * below - m) < gap:
                cut, gap = value, abs(2 * below - m)
        return low + cut
    values = np.empty(m, np.int32)
    for i in range(m):
        values[i] = codes[rows[i]]
    values.sort()
    cut, gap = low, m
    for i in range(m - 1):
        if values[i] != values[i + 1] and abs(2 * (i + 1) - m) < gap:
            cut, gap = int(values[i]), abs(2 * (i + 1) - m)
    return cut


@kernel
def _is_legal(
    rows: NDArray[np.int32],
    individuals: NDArray[np.int32],
    sensitive: NDArray[np.int32],
    k: int,
    max_share: float,
    distinct_l: NDArray[np.int64],
    tally: NDArray[np.int32],
    seen: NDArray[np.int32],
    stamp: int,
) -> bool:
    """Return whether rows int32[m] meet the criteria; O(m (1 + s)).

    tally int32[individuals], all zero before and after; seen int32[s, values], holding stamps below `stamp`.
    """
    m = len(rows)
    people = 0
    largest = 0
    for i in range(m):
        person = individuals[rows[i]]
        if tally[person] == 0:
            people += 1
        tally[person] += 1
        largest = max(largest, tally[person])
    for i in range(m):
        tally[individuals[rows[i]]] = 0
    if people < k or largest > max_share * m:
        return False
    for s in range(len(distinct_l)):
        values = 0
        for i in range(m):
            value = sensitive[s, rows[i]]
            if seen[s, value] != stamp:
                seen[s, value] = stamp
                values += 1
                if values >= distinct_l[s]:
                    break
        if values < distinct_l[s]:
            return False
    return True


@kernel
def _split(rows: NDArray[np.int32], spare: NDArray[np.int32], codes: NDArray[np.int32], cut: int) -> int:
    """Put the rows with codes up to `cut` first, both sides in their order; return how many these are."""
    left = 0
    right = 0
    for i in range(len(rows)):
        if codes[rows[i]] <= cut:
            rows[left] = rows[i]
            left += 1
        else:
            spare[right] = rows[i]
            right += 1
    for i in range(right):
        rows[left + i] = spare[i]
    return left


@kernel
def mondrian_classes(
    codes: NDArray[np.int32],
    model: CostModel,
    rows: NDArray[np.int32],
    individuals: NDArray[np.int32],
    sensitive: NDArray[np.int32],
    k: int,
    max_share: float,
    distinct_l: NDArray[np.int64],
    values: int,
    each_once: bool,
) -> NDArray[np.int32]:
    """Return the class of each row, -1 for rows not in `rows`; O(q n log(n / k)).

    Parameters
    ----------
    codes
        int32[q, n].
    model
        The cost tables.
    rows
        int32[m], the rows to place; they meet the criteria as one class. Reordered in place.
    individuals, sensitive
        int32[n], int32[s, n], dense.
    values
        Greatest number in `sensitive`, plus one.
    each_once
        No individual has two rows and there is no criterion but k: sizes decide alone.
    """
    q, n = codes.shape
    answer = np.full(n, -1, np.int32)
    spare = np.empty(len(rows), np.int32)
    tally = np.zeros(individuals.max() + 1 if n else 1, np.int32)
    seen = np.zeros((len(distinct_l), values), np.int32)
    stamp = 0
    stack = [(0, len(rows))]
    low = np.empty(q, np.int32)
    high = np.empty(q, np.int32)
    width = np.empty(q, np.float64)
    classes = 0
    while len(stack) > 0:
        start, stop = stack.pop()
        part = rows[start:stop]
        divided = False
        if stop - start >= 2 * k:
            for j in range(q):
                least = codes[j, part[0]]
                most = least
                for i in range(1, len(part)):
                    code = codes[j, part[i]]
                    least = min(least, code)
                    most = max(most, code)
                low[j] = least
                high[j] = most
                width[j] = -1.0
                if least < most:
                    width[j] = table_cost(model, j, least, most)
                    if width[j] < 0:
                        width[j] = walked_cost(model, j, least, most)
            for _ in range(q):
                j = int(np.argmax(width))
                if width[j] < 0:
                    break
                width[j] = -1.0
                cut = _median_cut(codes[j], part, low[j], high[j])
                left = _split(part, spare, codes[j], cut)
                if each_once:
                    divided = left >= k and len(part) - left >= k
                elif left >= k and len(part) - left >= k:
                    stamp += 2
                    divided = _is_legal(
                        part[:left], individuals, sensitive, k, max_share, distinct_l, tally, seen, stamp - 1
                    ) and _is_legal(
                        part[left:], individuals, sensitive, k, max_share, distinct_l, tally, seen, stamp
                    )
                if divided:
                    stack.append((start + left, stop))
                    stack.append((start, start + left))
                    break
        if not divided:
            for i in range(len(part)):
                answer[part[i]] = classes
            classes += 1
    return answer


def within_share(individuals: NDArray[np.int32], max_share: float) -> NDArray[np.int32]:
    """Return the rows that stay if nobody may hold more than `max_share` of them: each one's first rows.

    Rows beyond are surplus: whoever has more than all others together cannot hide among them.
    """
    counts = np.bincount(individuals)
    cap = int(counts.max(initial=0))
    while cap > 0 and cap > max_share * np.minimum(counts, cap).sum():
        cap = min(cap - 1, int(max_share * np.minimum(counts, cap).sum()))
    if cap <= 0:
        return np.empty(0, np.int32)
    order = np.argsort(individuals, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(individuals), np.int64)
    rank[order] = np.arange(len(individuals)) - starts[individuals[order]]
    return np.flatnonzero(rank < cap).astype(np.int32)


class Mondrian:
    """Strict Mondrian over a window; nothing is prepared while rows arrive.

    Parameters
    ----------
    model
        The cost tables of the quasi-identifiers.
    """

    arrival_matters = False

    def __init__(self, model: CostModel) -> None:
        self._model = model
        self._count = 0

    def add(self, rows: Columns) -> None:
        """Take rows into the open window."""
        self._count += len(rows)

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Drop all rows but those marked."""
        self._count = int(rows.sum())

    def close(self, rows: Columns, criteria: Criteria) -> NDArray[np.int32]:
        """Return the class of each row; the order of arrival does not change which rows share a class."""
        if len(rows) != self._count:
            raise ValueError("close() must see the rows that were added and kept")
        chosen = within_share(rows.individuals, criteria.max_share)
        part = rows.take(chosen.astype(np.intp)) if len(chosen) < len(rows) else rows
        values = np.array([len(np.unique(column)) for column in part.sensitive], np.int64)
        people = len(np.unique(part.individuals))
        if not criteria.in_reach(people, values):
            return np.full(len(rows), UNPLACED, np.int32)
        return mondrian_classes(
            rows.codes,
            self._model,
            chosen,
            rows.individuals,
            rows.sensitive,
            criteria.k,
            criteria.max_share,
            criteria.distinct_l,
            int(rows.sensitive.max(initial=0)) + 1,
            people == len(part) and len(criteria.distinct_l) == 0,
        )

    def check_invariants(self) -> None:
        """Raise AssertionError if the structure is broken."""
        assert self._count >= 0  # noqa: S101 - the only state is a count
