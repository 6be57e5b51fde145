"""Roll up: the groups of one node from those of a finer one (LeFevre et al., SIGMOD 2005)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.batch import MISSING_KEY
from stream_anon.recoding.lattice.attribute_levels import AttributeLevels
from stream_anon.recoding.lattice.group_table import GroupTable, Members, TupleKeys, numbered
from stream_anon.recoding.lattice.rows import Rows


class RollUp:
    """Makes the groups of nodes.

    Parameters
    ----------
    levels
        Per quasi-identifier in policy order.

    Attributes
    ----------
    order
        The order in which attributes go up, and that of the digits of keys.
    steps
        Per attribute in that order, and per level above the first, the node above each node.
    """

    def __init__(self, levels: Sequence[AttributeLevels]) -> None:
        self.levels = tuple(levels)
        self.order = sorted(range(len(levels)), key=lambda place: (levels[place].height, -levels[place].sizes[0]))
        self.keys = TupleKeys([levels[place].sizes[0] for place in self.order])
        self.steps = [
            [levels[place].step(level) for level in range(1, levels[place].height + 1)] for place in self.order
        ]

    def bottom(self, rows: Rows) -> GroupTable:
        """Return the groups of the bottom; O(n log n)."""
        places = [self.levels[place].places(rows.codes[place]) for place in self.order]
        nodes = np.array(
            [self.levels[own].nodes[0][found] for own, found in zip(self.order, places, strict=True)], np.int64
        )
        keys = self.keys.write(nodes)
        tuples, group = numbered(keys)
        people = np.unique(rows.individuals, return_inverse=True)[1].astype(np.int64)
        pairs = Members.of(group, people, int(people.max(initial=0)) + 1)
        settled = np.bincount(pairs.items, minlength=pairs.span)[pairs.items] == 1
        return GroupTable(
            tuples,
            np.bincount(group, minlength=tuples.shape[1]),
            np.bincount(pairs.groups[settled], minlength=tuples.shape[1]),
            Members(pairs.groups[~settled], pairs.items[~settled], pairs.span),
            tuple(_values(group, row) for row in rows.sensitive),
        )

    def climbed(self, table: GroupTable, start: Sequence[int], end: Sequence[int]) -> GroupTable:
        """Return the groups of the node `end` from those of `start`, of which no level is higher; O(g log g)."""
        keys = table.keys
        for place, own in enumerate(self.order):
            if start[own] < end[own]:
                step = np.arange(self.levels[own].sizes[start[own]])
                for above in self.steps[place][start[own] : end[own]]:
                    step = above[step]
                keys = self.keys.raised(keys, place, step)
        return table if keys is table.keys else table.merged(keys)


def _values(group: NDArray[np.int64], row: NDArray[np.int64]) -> Members:
    """Return which values occur in which group; a missing one is none."""
    there = row != MISSING_KEY
    numbers = np.unique(row[there], return_inverse=True)[1].astype(np.int64)
    return Members.of(group[there], numbers, int(numbers.max(initial=0)) + 1)
