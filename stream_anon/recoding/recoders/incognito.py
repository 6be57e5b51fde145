"""Incognito: all nodes that satisfy, by subsets of attributes (LeFevre, DeWitt, Ramakrishnan, SIGMOD 2005)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from stream_anon.recoding.lattice.lattice_shape import LatticeShape
from stream_anon.recoding.lattice.rows import Rows
from stream_anon.recoding.recoders.nodes import Nodes, at_node, cost_of, costs, shape_of
from stream_anon.recoding.recoders.recoder import Recoding, RecodingGoal, Step, Table

Subset = tuple[int, ...]


@dataclass(frozen=True)
class Incognito:
    """Find every node that satisfies, and take that of highest Prec.

    Groups by fewer attributes are unions of groups by more. Where a subset of the attributes fails on some levels,
    so does each larger one on these levels, and need not be looked at. Ties go to the least height, then to the
    lexicographically smallest levels.

    Parameters
    ----------
    collapse_levels
        See `KMinimal`.
    """

    collapse_levels: bool = False
    across_groups: ClassVar[bool] = False

    def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
        """Return the table on the chosen node; on the top where no node satisfies."""
        whole = shape_of(table)
        satisfying: dict[Subset, NDArray[np.bool_]] = {}
        steps = []
        attributes = range(len(table.attributes))
        for size in range(1, len(table.attributes) + 1):
            for subset in combinations(attributes, size):
                satisfying[subset], step = _searched(table, subset, asked, satisfying)
                steps.append(step)
        found = [whole.levels(node) for node in np.flatnonzero(satisfying[tuple(attributes)]).tolist()]
        by_level = costs(table, "prec", collapse_levels=self.collapse_levels)
        best = min(found, key=lambda own: (cost_of(by_level, own), sum(own), own), default=whole.tops)
        return at_node(table, best, asked, steps)


def _searched(
    table: Table, subset: Subset, asked: RecodingGoal, smaller: dict[Subset, NDArray[np.bool_]]
) -> tuple[NDArray[np.bool_], Step]:
    """Return which nodes over a subset of attributes satisfy; bool[nodes]."""
    levels = [table.levels[place] for place in subset]
    shape = LatticeShape([own.height for own in levels])
    candidates = np.ones(shape.nodes, np.bool_)
    for left in range(len(subset) if len(subset) > 1 else 0):
        others = [place for place in range(len(subset)) if place != left]
        part = LatticeShape([shape.tops[place] for place in others])
        candidates &= smaller[tuple(subset[place] for place in others)][shape.vectors[:, others] @ part.strides]
    satisfying = np.zeros(shape.nodes, np.bool_)
    nodes = Nodes(levels, Rows(table.rows.codes[list(subset)], table.rows.individuals, table.rows.sensitive), asked)
    for height in range(shape.top + 1):  # breadth first, so that a node is looked at after all below it
        for node in shape.at_height(height).tolist():
            vector = shape.levels(node)
            if candidates[node] and not satisfying[node] and nodes.satisfies(vector):
                satisfying |= (shape.vectors >= vector).all(axis=1)
    figures = {
        "nodes": shape.nodes,
        "pruned by smaller subsets": int((~candidates).sum()),
        "counted": nodes.counted,
        "told from finer nodes": int(candidates.sum()) - nodes.counted,
        "satisfying": int(satisfying.sum()),
    }
    return satisfying, Step("subset " + ", ".join(table.names[place] for place in subset), figures)
