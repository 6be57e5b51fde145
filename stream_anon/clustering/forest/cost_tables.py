"""Cost tables as the forest's kernels read them: attributes with a table first, then those that walk their levels.

A loop over the first kind has no branch, so that it costs a few nanoseconds an attribute. The others follow in a
loop of their own, which is empty under most policies. In any other order the kernels are slower, not wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_inlined, inlined, kernel
from stream_anon.microdata.domains.walk import TABLE
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel

LITTLE = 1e-9
"""By how much a loss must be lower to count as lower: losses are sums of rounded numbers."""


def tables_first(model: CostModel) -> NDArray[np.int64]:
    """Return the attributes, those with a table first, else in their order."""
    return np.argsort(model.kind != TABLE, kind="stable").astype(np.int64)


def reordered(model: CostModel, attributes: NDArray[np.int64]) -> CostModel:
    """Return the model with its attributes in another order; the tables stay where they are."""
    return model._replace(
        kind=model.kind[attributes],
        domain=model.domain[attributes],
        levels=model.levels[attributes],
        start=model.start[attributes],
        slope=model.slope[attributes],
        base=model.base[attributes],
        weight=model.weight[attributes],
        share=model.share[attributes],
        least=model.least[attributes],
    )


@inlined
def cell(start: int, width: int, low: int, high: int) -> int:
    """Return where the cost of codes `low` to `high` stands in the table of an attribute.

    Unsigned: for a signed index numba looks each time whether it counts from the end.
    """
    return np.uint64(start + np.uint64(low) * width + np.uint64(high))  # type: ignore[return-value]


class Tables(NamedTuple):
    """The cost tables of a model, and where those that come first are.

    Parameters
    ----------
    model
        The model.
    starts, widths
        uint64[q], where each table begins, and the length of its rows.
    tabled
        How many attributes have a table before the first that has none.
    """

    model: CostModel
    starts: NDArray[np.uint64]
    widths: NDArray[np.uint64]
    tabled: int


@kernel
def leading_tables(model: CostModel) -> Tables:
    """Return the tables of a model; O(q)."""
    starts = np.empty(len(model.kind), np.uint64)
    widths = np.empty(len(model.kind), np.uint64)
    for j in range(len(model.kind)):
        starts[j] = model.start[j]
        widths[j] = model.domain[j] + 2
    tabled = 0
    while tabled < len(model.kind) and model.kind[tabled] == TABLE:
        tabled += 1
    return Tables(model, starts, widths, tabled)


@bare_inlined
def box_cost(tables: Tables, low: NDArray[np.int32], high: NDArray[np.int32], c: int) -> float:
    """Return what a record in box c of low and high int32[c, q] costs: a view of one box would cost time."""
    cost = 0.0
    for j in range(tables.tabled):
        cost += tables.model.table[cell(tables.starts[j], tables.widths[j], low[c, j], high[c, j])]
    for j in range(tables.tabled, low.shape[1]):
        cost += interval_cost(tables.model, j, low[c, j], high[c, j])
    return float(cost)


@bare_inlined
def union_cost(
    tables: Tables, low: NDArray[np.int32], high: NDArray[np.int32], a: int, b: int, bound: float
) -> float:
    """Return what a record in the box around two boxes costs, or something not below `bound` if that is reached.

    Parameters
    ----------
    low, high
        int32[c, q], boxes; `a` and `b` are two of them.
    """
    cost = 0.0
    for j in range(tables.tabled):
        bottom = min(low[a, j], low[b, j])
        top = max(high[a, j], high[b, j])
        cost += tables.model.table[cell(tables.starts[j], tables.widths[j], bottom, top)]
        if cost >= bound:
            return float(cost)
    for j in range(tables.tabled, low.shape[1]):
        cost += interval_cost(tables.model, j, min(low[a, j], low[b, j]), max(high[a, j], high[b, j]))
        if cost >= bound:
            break
    return float(cost)


def widest_set(model: CostModel) -> int:
    """Return the most codes of an attribute that is published as sets, missing and unknown ones included."""
    return int((model.domain[model.share > 0] + 2).max(initial=0))
