"""Two neighbouring classes as SWAP sees them: what they hold and cost, and which of their rows lie at the border.

A border row makes its class dearer: it alone holds an end of the class's box or, where sets are published, a value.

Whether sets are published is told by `counts`: None, or int32[2, q, values], how often each value occurs in either
class. numba compiles a kernel of its own for None, without the branches for sets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.cost_tables import LITTLE, Tables, cell, leading_tables
from stream_anon.compiled import bare_inlined, constant, kernel
from stream_anon.privacy.costs.cost import interval_cost, set_cost
from stream_anon.privacy.costs.model import CostModel

NOBODY = constant(-1)
"""No row, and the code of no row."""
_BEYOND = 2147483647  # every code


class Pair(NamedTuple):
    """Two classes; of most arrays the first index is the class.

    Parameters
    ----------
    codes, rows, tables
        int32[n, q], int64[m] the rows class after class, and the cost tables.
    least, second, most, before
        int32[2, q], the ends of the box, and its ends without the one row that holds them.
    values
        int64[2, q], how many values a published set has.
    size
        int64[2].
    own, cost
        What a record costs: float64[2, q] each attribute, float64[2] all.
    border, without, borders
        int64[2, b] where border rows stand in `rows`, float64[2, b] the cost without each, int64[2] how many.
    """

    codes: NDArray[np.int32]
    rows: NDArray[np.int64]
    tables: Tables
    least: NDArray[np.int32]
    second: NDArray[np.int32]
    most: NDArray[np.int32]
    before: NDArray[np.int32]
    values: NDArray[np.int64]
    size: NDArray[np.int64]
    own: NDArray[np.float64]
    cost: NDArray[np.float64]
    border: NDArray[np.int64]
    without: NDArray[np.float64]
    borders: NDArray[np.int64]


@kernel
def new_pair(codes: NDArray[np.int32], rows: NDArray[np.int64], model: CostModel, most: int) -> Pair:
    """Return room for two classes, each with up to `most` border rows."""
    q = codes.shape[1]
    ends = np.empty((4, 2, q), np.int32)
    return Pair(
        codes,
        rows,
        leading_tables(model),
        least=ends[0],
        second=ends[1],
        most=ends[2],
        before=ends[3],
        values=np.zeros((2, q), np.int64),
        size=np.zeros(2, np.int64),
        own=np.empty((2, q), np.float64),
        cost=np.empty(2, np.float64),
        border=np.empty((2, most), np.int64),
        without=np.empty((2, most), np.float64),
        borders=np.zeros(2, np.int64),
    )


@bare_inlined
def _box_cost(pair: Pair, j: int, low: int, high: int) -> float:
    tables = pair.tables
    if j < tables.tabled:
        return float(tables.model.table[cell(tables.starts[j], tables.widths[j], low, high)])
    return interval_cost(tables.model, j, low, high)


@bare_inlined
def _set_cost_after(pair: Pair, counts: NDArray[np.int32], side: int, j: int, gone: int, come: int) -> float:
    if gone == come:
        return float(pair.own[side, j])
    n = pair.tables.model.domain[j]
    values = pair.values[side, j]
    missing = counts[side, j, n]
    unknown = counts[side, j, n + 1]
    if gone == n:
        missing -= 1
    elif gone > n:
        unknown -= 1
    elif gone >= 0 and counts[side, j, gone] == 1:
        values -= 1
    if come == n:
        missing += 1
    elif come > n:
        unknown += 1
    elif come >= 0 and counts[side, j, come] == 0:
        values += 1
    return set_cost(pair.tables.model, j, values, missing, unknown)


@bare_inlined
def cost_after(pair: Pair, counts: NDArray[np.int32] | None, side: int, j: int, gone: int, come: int) -> float:
    """Return what attribute `j` costs in a class once a row with code `gone` left and one with `come` joined."""
    if counts is not None and pair.tables.model.share[j] > 0:
        return _set_cost_after(pair, counts, side, j, gone, come)
    low = pair.least[side, j]
    high = pair.most[side, j]
    if gone >= 0:
        low = pair.second[side, j] if gone == low else low
        high = pair.before[side, j] if gone == high else high
    if come >= 0:
        low = min(low, come)
        high = max(high, come)
    return _box_cost(pair, j, low, high)


@bare_inlined
def _find_box(pair: Pair, side: int, first: int, last: int) -> None:
    codes = pair.codes
    for j in range(codes.shape[1]):
        pair.least[side, j] = codes[pair.rows[first], j]
        pair.most[side, j] = pair.least[side, j]
        pair.second[side, j] = _BEYOND
        pair.before[side, j] = NOBODY
    for i in range(first + 1, last):
        row = pair.rows[i]
        for j in range(codes.shape[1]):
            code = codes[row, j]
            pair.second[side, j] = min(pair.second[side, j], max(pair.least[side, j], code))
            pair.least[side, j] = min(pair.least[side, j], code)
            pair.before[side, j] = max(pair.before[side, j], min(pair.most[side, j], code))
            pair.most[side, j] = max(pair.most[side, j], code)


@bare_inlined
def _find_ends(pair: Pair, side: int, first: int) -> None:
    """List the rows that alone hold an end of the box."""
    kept = 0
    for j in range(pair.codes.shape[1]):
        if pair.least[side, j] == pair.most[side, j]:
            continue
        for way in range(2):
            end = pair.least[side, j] if way == 0 else pair.most[side, j]
            if end == (pair.second[side, j] if way == 0 else pair.before[side, j]):
                continue
            place = first
            while pair.codes[pair.rows[place], j] != end:
                place += 1
            listed = False
            for other in range(kept):
                listed = listed or pair.border[side, other] == place
            if not listed:
                pair.border[side, kept] = place
                kept += 1
    pair.borders[side] = kept


@bare_inlined
def look_at(pair: Pair, counts: NDArray[np.int32] | None, side: int, first: int, last: int) -> None:
    """Write what the class rows[first:last] holds and costs, and its border rows; its counts must be zero."""
    codes = pair.codes
    q = codes.shape[1]
    pair.size[side] = last - first
    _find_box(pair, side, first, last)
    pair.cost[side] = 0.0
    for j in range(q):
        if counts is not None and pair.tables.model.share[j] > 0:
            n = pair.tables.model.domain[j]
            pair.values[side, j] = 0
            for i in range(first, last):
                code = codes[pair.rows[i], j]
                pair.values[side, j] += counts[side, j, code] == 0 and code < n
                counts[side, j, code] += 1
            held = pair.values[side, j]
            pair.own[side, j] = set_cost(pair.tables.model, j, held, counts[side, j, n], counts[side, j, n + 1])
        else:
            pair.own[side, j] = _box_cost(pair, j, pair.least[side, j], pair.most[side, j])
        pair.cost[side] += pair.own[side, j]
    if counts is None:
        _find_ends(pair, side, first)
    else:  # any row may hold a value alone
        pair.borders[side] = last - first
    kept = 0
    for b in range(pair.borders[side]):
        place = pair.border[side, b] if counts is None else first + b
        saved = 0.0
        for j in range(q):
            code = codes[pair.rows[place], j]
            saved += pair.own[side, j] - cost_after(pair, counts, side, j, code, NOBODY)
        if saved > LITTLE:
            pair.border[side, kept] = place
            pair.without[side, kept] = pair.cost[side] - saved
            kept += 1
    pair.borders[side] = kept


@bare_inlined
def forget(pair: Pair, counts: NDArray[np.int32] | None, side: int, first: int, last: int) -> None:
    """Make the counts of the class rows[first:last] zero again."""
    if counts is not None:
        for j in range(pair.codes.shape[1]):
            if pair.tables.model.share[j] > 0:
                for i in range(first, last):
                    counts[side, j, pair.codes[pair.rows[i], j]] = 0
