"""A class that takes in one row after the other: its box, the values it has met, and what a record of it costs.

Whether sets are published is told by `Values`: numba compiles a kernel of its own for None, without their branches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.cost_tables import Tables, box_cost, widest_set
from stream_anon.compiled import bare_inlined
from stream_anon.privacy.costs.cost import interval_cost, set_cost
from stream_anon.privacy.costs.model import CostModel


class Growing(NamedTuple):
    """Classes that grow.

    Parameters
    ----------
    tables
        The cost tables.
    low, high
        int32[c, q], the boxes.
    """

    tables: Tables
    low: NDArray[np.int32]
    high: NDArray[np.int32]


class Values(NamedTuple):
    """The values that c classes have met, of attributes that are published as sets.

    Parameters
    ----------
    stamps
        int64[c, q, values], the turn in which a class met a value last: no row is looked at to forget them.
    kinds
        int64[c, q, 3], met in this turn: how many values, whether a missing one, whether an unknown one.
    turn
        int64[c].
    """

    stamps: NDArray[np.int64]
    kinds: NDArray[np.int64]
    turn: NDArray[np.int64]


def values_of(model: CostModel, classes: int) -> Values | None:
    """Return room for the values of so many classes, or None where no sets are published."""
    if not model.share.any():
        return None
    q = len(model.share)
    return Values(
        np.zeros((classes, q, widest_set(model)), np.int64),
        np.zeros((classes, q, 3), np.int64),
        np.zeros(classes, np.int64),
    )


@bare_inlined
def forget_values(values: Values | None, c: int) -> None:
    """Let class c have met no value."""
    if values is not None:
        values.turn[c] += 1
        for j in range(values.kinds.shape[1]):
            for kind in range(3):
                values.kinds[c, j, kind] = 0


@bare_inlined
def meet_values(model: CostModel, values: Values | None, c: int, codes: NDArray[np.int32], row: int) -> bool:
    """Let class c meet the values of a row of codes int32[n, q]; return whether one of them is new."""
    fresh = False
    if values is not None:
        for j in range(codes.shape[1]):
            code = codes[row, j]
            if model.share[j] > 0 and values.stamps[c, j, code] != values.turn[c]:
                values.stamps[c, j, code] = values.turn[c]
                values.kinds[c, j, max(0, code - model.domain[j] + 1)] += 1
                fresh = True
    return fresh


@bare_inlined
def begin(classes: Growing, values: Values | None, c: int, codes: NDArray[np.int32], row: int) -> None:
    """Let class c hold a row of codes int32[n, q] and no other."""
    for j in range(codes.shape[1]):
        classes.low[c, j] = codes[row, j]
        classes.high[c, j] = codes[row, j]
    forget_values(values, c)
    meet_values(classes.tables.model, values, c, codes, row)


@bare_inlined
def take_in(classes: Growing, values: Values | None, c: int, codes: NDArray[np.int32], row: int) -> bool:
    """Let class c take in a row as well, as in `begin`; return whether its box or its values have changed."""
    low, high = classes.low, classes.high
    changed = np.int32(0)
    for j in range(codes.shape[1]):
        bottom = min(low[c, j], codes[row, j])
        top = max(high[c, j], codes[row, j])
        changed |= (bottom ^ low[c, j]) | (top ^ high[c, j])
        low[c, j] = bottom
        high[c, j] = top
    return meet_values(classes.tables.model, values, c, codes, row) or changed != 0


@bare_inlined
def class_cost(classes: Growing, values: Values | None, c: int) -> float:
    """Return what a record of class c costs: by its box, and by its values where sets are published."""
    tables, low, high = classes.tables, classes.low, classes.high
    if values is None:
        return box_cost(tables, low, high, c)
    cost = 0.0
    for j in range(low.shape[1]):
        if tables.model.share[j] > 0:
            kinds = values.kinds[c, j]
            cost += set_cost(tables.model, j, kinds[0], kinds[1], kinds[2])
        else:
            cost += interval_cost(tables.model, j, low[c, j], high[c, j])
    return float(cost)
