"""Costs that are drawn anew for each window, so that nobody who replays an engine replays this window's classes.

An engine's classes follow from its rows and its costs. An attacker who knows the policy and all rows but one
value could try each value and see which of them gives what was published. What is reported stays the NCP without a
draw.

Weights alone are not enough: with three attributes they are three numbers, which an attacker finds by trying
some hundred of them and comparing with the classes far from the one he asks about. The steps are a number for each
pair of neighbouring values, and most of them matter to few classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_kernel
from stream_anon.microdata.domains.walk import TABLE
from stream_anon.privacy.costs.lowest_nodes import LowestNodes
from stream_anon.privacy.costs.model import CostModel

WEIGHT_SPREAD = 0.1  # of the logarithm of an attribute's weight
STEP_SPREAD = 0.1  # of the logarithm of the cost of uniting two neighbouring values
_CLOSE = 1e-5


@bare_kernel
def rises_by_steps(table: NDArray[np.float32], n: int, close: float) -> bool:
    """Tell whether the cost of codes `low` to `high` is the largest cost of two neighbours among them; O(n^2).

    So it is of nodes, which lie within each other or apart. The cost of ranges and sets grows with each value.

    Parameters
    ----------
    table
        float32[(n + 2)^2], a whole table of costs.
    """
    size = n + 2
    for low in range(n - 1):
        cost = 0.0
        for high in range(low + 1, n):
            cost = max(cost, table[(high - 1) * size + high])
            if abs(cost - table[low * size + high]) > close * cost:
                return False
    return True


@bare_kernel
def draw_table(table: NDArray[np.float32], n: int, factor: float, steps: NDArray[np.float64]) -> None:
    """Multiply a table of costs by `factor`, and where there are `steps`, build it anew from those of neighbours.

    A wider interval never costs less than one inside; O(n^2).

    Parameters
    ----------
    table
        float32[(n + 2)^2], written.
    steps
        float64[n - 1], by what the cost of codes i and i + 1 is multiplied; empty to leave the ratios as they are.
    """
    size = n + 2
    for place in range(len(table)):
        table[place] *= factor
    if len(steps):
        for code in range(n - 1):
            table[code * size + code + 1] *= steps[code]
        for low in range(n - 1):
            cost = 0.0
            for high in range(low + 1, n):
                cost = max(cost, table[(high - 1) * size + high])
                table[high * size + low] = cost
        for low in range(n - 1):
            for high in range(low + 1, n):
                table[low * size + high] = table[high * size + low]
        root = table[n - 1]  # what is published with an unknown or a missing value is the root too
        for code in range(n + 2):
            for other in range(max(code, n), n + 2):
                if table[code * size + other] > 0:
                    table[code * size + other] = table[other * size + code] = root


class DrawnCosts:
    """Draws costs around those of a model.

    Each attribute's weight is multiplied by a log-normal factor. Of attributes that publish nodes and have a table,
    the cost of each step between neighbouring values is multiplied by such a factor too, and a node costs what its
    dearest step does. In the end all costs are scaled so that what suppressing a row costs stays.

    Parameters
    ----------
    model
        The costs without a draw.
    lowest
        The nodes below which nothing is published, if there are such: what is drawn of finer ones is not charged.
    """

    def __init__(self, model: CostModel, lowest: LowestNodes | None = None) -> None:
        self._model = model
        self._lowest = lowest or LowestNodes(())
        self._steps = [self._steps_of(j) for j in range(len(model.kind))]
        self._most = self._largest(model)

    def _steps_of(self, j: int) -> int:
        n = int(self._model.domain[j])
        by_steps = self._model.kind[j] == TABLE and rises_by_steps(self._model.table[self._own(j)], n, _CLOSE)
        return n - 1 if by_steps else 0

    def _own(self, j: int) -> slice:
        """Return where the table of an attribute that has one stands."""
        start = int(self._model.start[j])
        return slice(start, start + (int(self._model.domain[j]) + 2) ** 2)

    def _largest(self, model: CostModel) -> float:
        """Return what a row costs whose attributes are all published as the root."""
        tabled = model.kind == TABLE
        most = [float(model.table[self._own(j)].max()) for j in np.flatnonzero(tabled).tolist()]
        return float(model.weight[~tabled].sum()) + sum(most)

    def draw(self, draws: np.random.Generator) -> CostModel:
        """Return a model of drawn costs; O(entries of the tables), 4 MB for the largest one."""
        model = self._model
        factors = np.exp(WEIGHT_SPREAD * draws.standard_normal(len(model.weight)))
        table = model.table.copy()
        for j, count in enumerate(self._steps):
            steps = np.exp(STEP_SPREAD * draws.standard_normal(count))
            if model.kind[j] == TABLE:
                draw_table(table[self._own(j)], int(model.domain[j]), float(factors[j]), steps)
        drawn = model._replace(table=table, weight=model.weight * factors, share=model.share * factors)
        scale = self._most / self._largest(drawn)
        table *= np.float32(scale)
        return self._lowest.charged(drawn._replace(weight=drawn.weight * scale, share=drawn.share * scale))
