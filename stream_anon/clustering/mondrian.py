"""Mondrian: top-down median cuts (LeFevre, DeWitt, Ramakrishnan, ICDE 2006).

A set of rows is cut at the median of one attribute as long as both sides meet the criteria: of the attribute whose
published value costs most, and if that gives no legal cut of the next; or, better and slower, of the one whose cut
loses least. Strict: all equal values are on one side. Relaxed: some of those equal to the median may go left, so
that the sides are always equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.array_copying import copy_to
from stream_anon.clustering.from_scratch import FromScratch
from stream_anon.clustering.legality import is_legal
from stream_anon.clustering.rules import Rules
from stream_anon.compiled import kernel
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel


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
def _middle(codes: NDArray[np.int32], rows: NDArray[np.int64]) -> tuple[int, int]:
    """Return the upper median code, and how many of the rows that have it belong to the left half."""
    values = np.sort(codes[rows])
    middle = len(rows) // 2
    median = int(values[middle])
    return median, middle - int(np.searchsorted(values, median))


@kernel
def _split(rows: NDArray[np.int64], spare: NDArray[np.int64], codes: NDArray[np.int32], cut: int, ties: int) -> int:
    """Put rows with codes below `cut`, and the first `ties` of those with it, before the rest; return their number.

    Both sides stay in their order.
    """
    left = 0
    right = 0
    for i in range(len(rows)):
        code = codes[rows[i]]
        stays = code < cut
        if code == cut and ties > 0:
            stays = True
            ties -= 1
        if stays:
            rows[left] = rows[i]
            left += 1
        else:
            spare[right] = rows[i]
            right += 1
    for i in range(right):
        rows[left + i] = spare[i]
    return left


@kernel
def _loss(codes: NDArray[np.int32], rows: NDArray[np.int64], model: CostModel) -> float:
    """Return what rows lose as one class, summed over rows and attributes."""
    total = 0.0
    for j in range(len(codes)):
        low = codes[j, rows[0]]
        high = low
        for i in range(1, len(rows)):
            low = min(low, codes[j, rows[i]])
            high = max(high, codes[j, rows[i]])
        cost = interval_cost(model, j, low, high)
        total += cost
    return (total + model.crowd * len(rows)) * len(rows)


@kernel
def mondrian_classes(
    codes: NDArray[np.int32],
    model: CostModel,
    rows: NDArray[np.int64],
    rules: Rules,
    relaxed: bool,
    least_loss: bool,
) -> NDArray[np.int32]:
    """Return the class of each row, -1 for rows not in `rows`; O(q n log(n / k)), O(q^2 ..) for the least loss.

    Parameters
    ----------
    codes
        int32[q, n].
    model
        The cost tables.
    rows
        int64[m], the rows to place; they meet the criteria as one class. Reordered in place.
    rules
        What both sides of a cut must meet.
    relaxed
        Rows with the median code may be on both sides.
    least_loss
        Of all attributes take the cut that loses least; else the first legal one, widest attribute first.
    """
    q, n = codes.shape
    answer = np.full(n, -1, np.int32)
    spare = np.empty(len(rows), np.int64)
    tried = np.empty(len(rows), np.int64)
    found = np.empty(len(rows), np.int64)
    # One cut is found at most, and the order of rows in a part does not matter.
    in_place = not relaxed and not least_loss
    stack = [(0, len(rows))]
    low = np.empty(q, np.int32)
    high = np.empty(q, np.int32)
    width = np.empty(q, np.float64)
    classes = 0
    while len(stack) > 0:
        start, stop = stack.pop()
        part = rows[start:stop]
        m = stop - start
        middle = 0  # rows on the left side of the cut that was found
        best = np.inf
        if m >= 2 * rules.k:
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
                    width[j] = interval_cost(model, j, least, most)
            for _ in range(q):
                j = int(np.argmax(width))
                if width[j] < 0:
                    break
                width[j] = -1.0
                if relaxed:
                    cut, ties = _middle(codes[j], part)
                else:
                    cut, ties = _median_cut(codes[j], part, low[j], high[j]), m
                if not in_place:
                    copy_to(tried, part)
                attempt = part if in_place else tried[:m]
                left = _split(attempt, spare, codes[j], cut, ties)
                if not (is_legal(attempt[:left], rules) and is_legal(attempt[left:], rules)):
                    continue
                if least_loss:
                    loss = _loss(codes, attempt[:left], model) + _loss(codes, attempt[left:], model)
                    if loss >= best:
                        continue
                    best = loss
                middle = left
                if not in_place:
                    copy_to(found, attempt)
                if not least_loss:
                    break
        if middle > 0:
            if not in_place:
                copy_to(part, found[:m])
            stack.append((start + middle, stop))
            stack.append((start, start + middle))
        else:
            for i in range(len(part)):
                answer[part[i]] = classes
            classes += 1
    return answer


class Mondrian(FromScratch):
    """Mondrian over a window.

    Which rows share a class does not depend on the order of arrival, but that the first of equal rows go left where
    it is relaxed.

    Parameters
    ----------
    model
        The cost tables of the quasi-identifiers.
    relaxed
        Cut between rows that are equal in the attribute too.
    least_loss
        Try every attribute and take the cut that loses least.
    """

    def __init__(self, model: CostModel, *, relaxed: bool = False, least_loss: bool = False) -> None:
        super().__init__()
        self._model = model
        self._relaxed = relaxed
        self._least_loss = least_loss

    def partition(self, rows: Columns, rules: Rules) -> NDArray[np.int32]:
        """Return the class of each row; see `FromScratch`."""
        # Of rows with the median code it is not the first that go left, but the least by their other codes.
        order = np.lexsort(rows.codes[::-1]) if self._relaxed else np.arange(len(rows))
        return mondrian_classes(rows.codes, self._model, order, rules, self._relaxed, self._least_loss)
