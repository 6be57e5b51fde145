"""Strict Mondrian: top-down median cuts (LeFevre, DeWitt, Ramakrishnan, ICDE 2006).

A set of rows is cut at the median of the attribute whose published value costs most, all equal values on one
side, as long as both sides meet the criteria; if the widest attribute gives no legal cut the next is tried.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.from_scratch import FromScratch
from stream_anon.clustering.legality import Ledger, is_legal
from stream_anon.compiled import kernel
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.cost import CostModel, table_cost, walked_cost


@kernel
def _median_cut(codes: NDArray[np.int32], rows: NDArray[np.int64], low: int, high: int) -> int:
    """Return the greatest code of the left side of the cut nearest to the middle; `low` <= answer < `high`.

    codes int32[n] of one attribute, rows int64[m], of which the codes span `low` < `high`.
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
def _split(rows: NDArray[np.int64], spare: NDArray[np.int64], codes: NDArray[np.int32], cut: int) -> int:
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
    rows: NDArray[np.int64],
    ledger: Ledger,
) -> NDArray[np.int32]:
    """Return the class of each row, -1 for rows not in `rows`; O(q n log(n / k)).

    Parameters
    ----------
    codes
        int32[q, n].
    model
        The cost tables.
    rows
        int64[m], the rows to place; they meet the criteria as one class. Reordered in place.
    ledger
        What both sides of a cut must meet.
    """
    q, n = codes.shape
    answer = np.full(n, -1, np.int32)
    spare = np.empty(len(rows), np.int64)
    stack = [(0, len(rows))]
    low = np.empty(q, np.int32)
    high = np.empty(q, np.int32)
    width = np.empty(q, np.float64)
    classes = 0
    while len(stack) > 0:
        start, stop = stack.pop()
        part = rows[start:stop]
        divided = False
        if stop - start >= 2 * ledger.k:
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
                divided = is_legal(part[:left], ledger) and is_legal(part[left:], ledger)
                if divided:
                    stack.append((start + left, stop))
                    stack.append((start, start + left))
                    break
        if not divided:
            for i in range(len(part)):
                answer[part[i]] = classes
            classes += 1
    return answer


class Mondrian(FromScratch):
    """Strict Mondrian over a window; which rows share a class does not depend on the order of arrival.

    Parameters
    ----------
    model
        The cost tables of the quasi-identifiers.
    """

    def __init__(self, model: CostModel) -> None:
        super().__init__()
        self._model = model

    def _partition(self, rows: Columns, ledger: Ledger) -> NDArray[np.int32]:
        return mondrian_classes(rows.codes, self._model, np.arange(len(rows)), ledger)
