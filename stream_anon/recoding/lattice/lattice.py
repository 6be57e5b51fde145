"""Every way to recode a table level by level, and how many records each would suppress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.batch import MISSING_KEY
from stream_anon.recoding.lattice.attribute_levels import AttributeLevels
from stream_anon.recoding.lattice.group_table import GroupTable
from stream_anon.recoding.lattice.histograms import MOST_NODES, Histograms
from stream_anon.recoding.lattice.lattice_shape import LatticeShape
from stream_anon.recoding.lattice.roll_up import RollUp
from stream_anon.recoding.lattice.rows import Rows

Visit = Callable[[int | NDArray[np.int64], GroupTable], None]
_AT_ONCE = 8_192  # groups times nodes up to which a part of the lattice is one operation on arrays


class Lattice:
    """The lattice of level vectors over a table, a histogram at each node.

    Parameters
    ----------
    levels
        Per quasi-identifier in policy order.
    rows
        The table.

    Notes
    -----
    Each node is rolled up from a finer one, depth first, so that only the tables on the way to it are held: the
    attribute with the most levels is the last to go up, and as the least significant digit of the groups' keys it
    leaves them sorted. Where groups are few, all nodes that come of a table are made at once.

    Negotiation over such histograms: Pilalidou and Vassiliadis, SSDBM 2012.
    """

    def __init__(self, levels: Sequence[AttributeLevels], rows: Rows) -> None:
        self.levels = tuple(levels)
        self.shape = LatticeShape([each.height for each in levels])
        if self.shape.nodes > MOST_NODES:
            raise ValueError(f"a lattice has at most {MOST_NODES} nodes")
        ladder = RollUp(levels)
        self._order, self._keys, self._steps = ladder.order, ladder.keys, ladder.steps
        heights = [levels[place].height + 1 for place in self._order]
        self._after = [prod(heights[place + 1 :]) for place in range(len(heights))]  # nodes of the later attributes
        self.records = len(rows)
        """Rows of the table."""
        self.individuals = len(np.unique(rows.individuals))
        """Distinct individuals."""
        values = [len(np.unique(row[row != MISSING_KEY])) for row in rows.sensitive]
        self.values = min(values, default=0)
        """Distinct values of the sensitive attribute with the fewest; 0 without one."""
        self.histograms = self._swept(ladder.bottom(rows))

    def suppressed(self, nodes: NDArray[np.int64], k: int, l: int = 1) -> NDArray[np.int64]:  # noqa: E741
        """Return for each node the records in groups of fewer than k individuals or l sensitive values."""
        return self.histograms.suppressed(nodes, k, l)

    def check_invariants(self) -> None:
        """Raise AssertionError if a histogram is not what its node's groups say."""
        every = np.arange(self.shape.nodes)
        # Each node's histogram holds every record once.
        _assert((self.suppressed(every, 2**62) == self.records).all(), "a node holds another number of records")
        # Going up never suppresses more.
        for k, l in ((2, 1), (3, 1), (2, 2)):  # noqa: E741
            found = self.suppressed(every, k, l)
            for place, stride in enumerate(self.shape.strides):
                upper = every[self.shape.vectors[:, place] > 0]
                _assert((found[upper] <= found[upper - stride]).all(), "a higher node suppresses more")

    def _swept(self, bottom: GroupTable) -> Histograms:
        keys: list[NDArray[np.int64]] = []
        records: list[NDArray[np.int64]] = []

        def visit(node: int | NDArray[np.int64], groups: GroupTable) -> None:
            found, counts = groups.entries(node)
            keys.append(found)
            records.append(counts)

        self._walk(bottom, 0, 0, visit)
        found = np.concatenate(keys)
        keys.clear()  # of a large lattice they take as much as all that is kept of it
        return Histograms(self.shape.nodes, found, np.concatenate(records))

    def _walk(self, table: GroupTable, node: int, first: int, visit: Visit) -> None:
        """Visit a node and all that come of raising its attributes from the `first` on, in their order."""
        levels = self.shape.levels(node)
        nodes = (self.levels[self._order[first]].height - levels[self._order[first]] + 1) * self._after[first]
        if self._keys.words[-1] == 0 and len(table) * nodes <= _AT_ONCE:
            self._visit_all(table, node, first, visit)
            return
        visit(node, table)
        for place in range(first, len(self._order)):
            own = self._order[place]
            level = levels[own]
            if level < self.levels[own].height:
                wider = table.merged(self._keys.raised(table.keys, place, self._steps[place][level]))
                self._walk(wider, node + self.shape.strides[own], place, visit)

    def _visit_all(self, table: GroupTable, node: int, first: int, visit: Visit) -> None:
        """Visit a node and all that come of raising its attributes from the `first` on, as one node."""
        keys, nodes = table.keys, np.array([node])
        for place in range(first, len(self._order)):
            own = self._order[place]
            level, stride = int(self.shape.vectors[node, own]), self.shape.strides[own]
            above = np.arange(self.levels[own].sizes[level])
            rises = [np.zeros(len(table), np.int64)]
            for step in self._steps[place][level:]:
                above = step[above]
                rises.append(self._keys.rise(table.keys, place, above))
            keys = (keys[:, None] + np.array(rises)).reshape(len(keys) * len(rises), len(table))
            nodes = (nodes[:, None] + stride * np.arange(len(rises))).ravel()
        row, groups = table.at_once(keys)
        visit(nodes[row], groups)


def _assert(holds: bool | np.bool_, what: str) -> None:
    if not holds:
        raise AssertionError(what)
