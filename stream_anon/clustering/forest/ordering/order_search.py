"""LEARN: which order of the digits loses least, found by trying changes on a sample.

The loss of an order is that of blocks of the line a little longer than the smallest class, at several offsets. It
tells more of what FOREST and REFINE will make of the line than the best cut does, which has fitted itself to every
accident of the sample, and it costs a third of it. A sample of s rows cut into blocks for k s / n stands for n rows
and k. Only the order of digits outlives a window: it says which attributes matter, nothing of anybody.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.cost_tables import box_cost, leading_tables
from stream_anon.clustering.forest.line.cut import cut
from stream_anon.clustering.forest.line.points import points_of
from stream_anon.clustering.forest.ordering.digits import Digits
from stream_anon.clustering.forest.ordering.order import KeyTable, key_table, line_order
from stream_anon.compiled import kernel
from stream_anon.privacy.costs.model import CostModel

SAMPLE = 10_000
TRIES = 200  # while a window waits for its order
THOROUGH = 800  # where nobody waits: about 1 % less loss after REFINE, and more tries change little
_LONGER = 1.2  # blocks against k: 1.0 and 1.4 gave worse orders, 2 and more far worse ones
_SHIFTS = 4
_FEW = 3_000  # rows on which a cut of sets stands for that of the whole sample
_HEAT = 0.002  # share of the loss by which a change may be for the worse at the beginning


@dataclass(frozen=True, eq=False)
class WindowSample:
    """A sample of a window: what an order can be judged by. It does not outlive the window it is of.

    Parameters
    ----------
    codes
        int32[q, s], the same rows whatever the order of their arrival.
    block
        Rows of a block.
    """

    codes: NDArray[np.int32]
    block: float

    @classmethod
    def of(cls, codes: NDArray[np.int32], k: int, along: KeyTable) -> WindowSample:
        """Return a lesson from codes int32[q, n]: up to `SAMPLE` rows, evenly along a line; O(n log n)."""
        n = codes.shape[1]
        # Where rows with equal keys can differ, arrival must not choose among them.
        rows = np.arange(n) if along.whole else np.lexsort(codes)
        order = rows[line_order(codes[:, rows], along)]
        chosen = order[np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)]
        return cls(np.ascontiguousarray(codes[:, chosen]), max(2.0, _LONGER * k * len(chosen) / n))

    def loss(self, table: KeyTable, model: CostModel) -> float:
        """Return the mean loss of a row along the line of `table`; about 0.1 microseconds a row."""
        if model.share.any():
            return self._set_loss(table, model)
        return float(block_loss(self.codes, line_order(self.codes, table), model, self.block, _SHIFTS))

    def _set_loss(self, table: KeyTable, model: CostModel) -> float:
        """Return the mean loss of the best cut where sets are published: blocks know only the ends of a box."""
        step = max(1, self.codes.shape[1] // _FEW)
        codes = np.ascontiguousarray(self.codes[:, ::step])
        k = max(2, round(self.block / _LONGER / step))
        n = codes.shape[1]
        points, starts = points_of(codes, line_order(codes, table))
        best = np.empty(n + 1)
        cut(points, np.repeat(np.arange(len(points)), np.diff(starts)), np.full(n, n), model, k, 2 * k - 1, best)
        return float(best[n] / n)


@kernel
def block_loss(
    codes: NDArray[np.int32], order: NDArray[np.int64], model: CostModel, block: float, shifts: int
) -> float:
    """Return the mean NCP, summed over attributes, of rows in blocks along a line; O(n q shifts).

    Parameters
    ----------
    codes
        int32[q, n].
    order
        int64[n], the line.
    block
        Rows of a block, not always a whole number.
    shifts
        How many times the line is cut, each time some rows further on.
    """
    q, n = codes.shape
    tables = leading_tables(model)
    rows = np.empty((n, q), np.int32)
    for i in range(n):
        for j in range(q):
            rows[i, j] = codes[j, order[i]]
    low = np.empty((1, q), np.int32)
    high = np.empty((1, q), np.int32)
    total = 0.0
    for shift in range(shifts):
        first = 0
        cuts = (shift + 0.5) / shifts
        while first < n:
            last = min(max(int(cuts * block), first + 1), n)
            cuts += 1.0
            for j in range(q):
                low[0, j] = rows[first, j]
                high[0, j] = rows[first, j]
            for i in range(first + 1, last):
                for j in range(q):
                    low[0, j] = min(low[0, j], rows[i, j])
                    high[0, j] = max(high[0, j], rows[i, j])
            total += box_cost(tables, low, high, 0) * (last - first)
            first = last
    return float(total / (n * shifts))


def learn_order(
    lesson: WindowSample,
    digits: Digits,
    model: CostModel,
    start: NDArray[np.int64],
    draws: np.random.Generator,
    tries: int = TRIES,
) -> NDArray[np.int64]:
    """Return an order of the digits that loses less than `start`, or `start`; about 1 ms a try of 10,000 rows.

    Simulated annealing: at first a change is kept even if it is a little for the worse.

    Parameters
    ----------
    lesson
        What to learn from.
    digits
        The digits of all attributes.
    model
        Cost tables.
    start
        int64[d], the order to begin with, each attribute's digits top-down.
    draws
        Chooses the changes.
    """
    owners = digits.attribute[start]
    if len(start) < 2 or digits.curve:
        return start
    least = here = lesson.loss(key_table(digits, start), model)
    best = owners
    for turn in range(tries):
        changed = _changed(owners, draws)
        heat = here * _HEAT * (1 - turn / tries) ** 2 * -np.log(1 - draws.random())
        if (changed == owners).all():
            continue
        loss = lesson.loss(key_table(digits, top_down(changed, digits)), model)
        if loss < here + heat:
            here, owners = loss, changed
            if loss < least:
                least, best = loss, changed
    return top_down(best, digits)


def _changed(owners: NDArray[np.int64], draws: np.random.Generator) -> NDArray[np.int64]:
    """Return the owners of the digits with two of them exchanged, or one moved."""
    one, two = draws.choice(len(owners), 2, replace=False)
    if draws.random() < 0.5:
        changed = owners.copy()
        changed[one], changed[two] = changed[two], changed[one]
        return changed
    return np.insert(np.delete(owners, one), two, owners[one])


def top_down(owners: NDArray[np.int64], digits: Digits) -> NDArray[np.int64]:
    """Return the digits so that the i-th place of an attribute holds its i-th digit from the top."""
    order = np.empty(len(owners), np.int64)
    for attribute in np.unique(owners):
        order[owners == attribute] = np.flatnonzero(digits.attribute == attribute)
    return order
