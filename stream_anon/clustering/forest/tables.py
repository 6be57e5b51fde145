"""Cost tables as the forest's kernels read them: attributes with a table first, then those that walk their levels.

A loop over the first kind has no branch, so that it costs a few nanoseconds an attribute. The others follow in a
loop of their own, which is empty under most policies. In any other order the kernels are slower, not wrong.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import inlined, kernel
from stream_anon.microdata.domains.walk import TABLE
from stream_anon.privacy.costs.model import CostModel


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


@kernel
def leading_tables(model: CostModel, starts: NDArray[np.uint64], widths: NDArray[np.uint64]) -> int:
    """Return how many attributes have a table before the first that has none.

    Parameters
    ----------
    starts, widths
        uint64[q], written: where each table begins, and the length of its rows.
    """
    for j in range(len(model.kind)):
        starts[j] = model.start[j]
        widths[j] = model.domain[j] + 2
    tabled = 0
    while tabled < len(model.kind) and model.kind[tabled] == TABLE:
        tabled += 1
    return tabled
