"""Charge what is published: with `min_level` a value costs at least what its node of that level costs.

An engine that took finer nodes for cheaper would pay for differences that nobody sees, and choose other classes
than those that lose least.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_kernel
from stream_anon.microdata.domains.domain import WHOLE_TABLE
from stream_anon.microdata.domains.walk import FIRSTS, HALVING, RANGES, TABLE
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.model import CostModel


@bare_kernel
def charge_table(table: NDArray[np.float32], first: NDArray[np.int64], last: NDArray[np.int64]) -> None:
    """Make an interval of codes cost as much as that from the first one's lowest node to the last one's; O(n^2).

    Parameters
    ----------
    table
        float32[n^2], written. What is read was not changed before: these nodes' own costs stay.
    first, last
        int64[n], the bounds of each code's lowest node.
    """
    size = len(first)
    for low in range(size):
        for high in range(low, size):
            cost = table[first[low] * size + last[high]]
            table[low * size + high] = cost
            table[high * size + low] = cost


class LowestNodes:
    """The nodes of each attribute's `min_level`, below which nothing is published."""

    def __init__(self, attributes: Sequence[QuasiIdentifier]) -> None:
        self._bounds: dict[int, NDArray[np.int64]] = {}
        self._least = np.zeros(len(attributes), np.int64)
        for j, attribute in enumerate(attributes):
            if not attribute.min_level:
                continue
            if attribute.domain.size <= WHOLE_TABLE:
                codes = np.arange(attribute.size, dtype=np.int32)
                self._bounds[j] = attribute.nodes_at(codes, attribute.min_level).T.copy()
            else:
                self._least[j] = _least(attribute)

    def charged(self, model: CostModel) -> CostModel:
        """Return the model with the costs of what is published; itself where each code may be published."""
        if not self._bounds and not self._least.any():
            return model
        table = model.table.copy()
        for j, (first, last) in self._bounds.items():
            assert model.kind[j] == TABLE  # noqa: S101 - the domain is small
            start = int(model.start[j])
            charge_table(table[start : start + len(first) ** 2], first, last)
        return model._replace(table=table, least=self._least)


def _least(attribute: QuasiIdentifier) -> int:
    """Return what `CostModel.least` holds of an attribute without a table."""
    domain, level = attribute.domain, attribute.min_level
    if level >= domain.height:
        return -1
    walk = domain.walk()
    if walk.kind == HALVING:
        return domain.height - level + 1
    if walk.kind in (FIRSTS, RANGES):
        return level
    # The first levels of a shortened prefix are no wider than a code: they are part of what every code costs. Where
    # texts may be shorter, arithmetic does not find all nodes, and finer ones are charged as they are.
    first, last = domain.node_at(0, level)
    return int(np.searchsorted(walk.steps, last - first + 1)) + 1 if first < last else 0
