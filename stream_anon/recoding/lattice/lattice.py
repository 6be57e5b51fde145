"""Every way to recode a table level by level, and how many records each would suppress."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.batch import MISSING_KEY
from stream_anon.recoding.lattice.groups import GroupTable, marked
from stream_anon.recoding.lattice.histograms import MOST_NODES, Histograms
from stream_anon.recoding.lattice.levels import AttributeLevels
from stream_anon.recoding.lattice.roll_up import RollUp
from stream_anon.recoding.lattice.rows import RowBag, Rows
from stream_anon.recoding.lattice.shape import Shape

Tables = Mapping[int, GroupTable]
"""Tables by the sign with which their entries count."""
Visit = Callable[[int | NDArray[np.int64], int, GroupTable], None]
_AT_ONCE = 8_192  # groups times nodes up to which a part of the lattice is one operation on arrays
_FEW = 0.001  # share of the rows up to which a change touches few enough groups to look for them


class Lattice:
    """The lattice of level vectors over a table, a histogram at each node.

    Rows may be added and taken away; the histograms are those that the rows would give from scratch.

    Parameters
    ----------
    levels
        Per quasi-identifier in policy order, with all values that rows may ever have.
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
        self.shape = Shape([each.height for each in levels])
        if self.shape.nodes > MOST_NODES:
            raise ValueError(f"a lattice has at most {MOST_NODES} nodes")
        self._ladder = RollUp(levels)
        self._order, self._keys, self._steps = self._ladder.order, self._ladder.keys, self._ladder.steps
        heights = [levels[place].height + 1 for place in self._order]
        self._after = [prod(heights[place + 1 :]) for place in range(len(heights))]  # nodes of the later attributes
        self._hold(RowBag.of(rows))
        self.histograms = self._from_scratch(self._bag)

    def _from_scratch(self, bag: RowBag) -> Histograms:
        return Histograms(self.shape.nodes, *self._swept({1: self._ladder.bottom(bag)}, None))

    def _hold(self, bag: RowBag) -> None:
        self._bag = bag
        self.records = int(bag.counts.sum())
        """Rows of the table."""
        self.individuals = len(np.unique(bag.individuals))
        """Distinct individuals."""
        values = [len(np.unique(row[row != MISSING_KEY])) for row in bag.sensitive]
        self.values = min(values, default=0)
        """Distinct values of the sensitive attribute with the fewest; 0 without one."""

    def suppressed(self, nodes: NDArray[np.int64], k: int, l: int = 1) -> NDArray[np.int64]:  # noqa: E741
        """Return for each node the records in groups of fewer than k individuals or l sensitive values."""
        return self.histograms.suppressed(nodes, k, l)

    def add(self, rows: Rows) -> None:
        """Add rows; ValueError if one holds a value that the levels were made without.

        Of few rows only the groups that they may change are made again, before and after; more than one in a
        thousand cost as much as the lattice. `benchmarks/lattice.py` measures both.
        """
        self._change(rows, RowBag.with_rows)

    def take_away(self, rows: Rows) -> None:
        """Take rows away; ValueError if one of them is not there. Cost as `add`."""
        self._change(rows, RowBag.without)

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
        # The histograms are those from scratch.
        anew = self._from_scratch(self._bag)
        _assert(np.array_equal(anew.keys, self.histograms.keys), "groups of another size or diversity")
        _assert(np.array_equal(anew.records, self.histograms.records), "another number of records")

    def _change(self, rows: Rows, change: Callable[[RowBag, RowBag], RowBag]) -> None:
        if not len(rows):
            return
        before, after = self._bag, change(self._bag, RowBag.of(rows))
        if len(rows) > _FEW * self.records:
            self.histograms = self._from_scratch(after)
        else:
            tables = {-1: self._ladder.bottom(before), 1: self._ladder.bottom(after)}
            self.histograms = self.histograms.changed(*self._swept(tables, self._ladder.bottom(RowBag.of(rows))))
        self._hold(after)

    def _swept(self, tables: Tables, focus: GroupTable | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the entries of all nodes, each table's times its sign.

        With a focus they are only those of groups that hold its rows, and of some others that are alike in all
        tables. The tables go up together: what is left out of one is left out of all.
        """
        keys: list[NDArray[np.int64]] = []
        records: list[NDArray[np.int64]] = []

        def visit(node: int | NDArray[np.int64], sign: int, groups: GroupTable) -> None:
            found, counts = groups.entries(node)
            keys.append(found)
            records.append(sign * counts)

        self._walk(tables, focus, 0, 0, visit)
        found = np.concatenate(keys)
        keys.clear()  # of a large lattice they take as much as all that is kept of it
        return found, np.concatenate(records)

    def _walk(self, tables: Tables, focus: GroupTable | None, node: int, first: int, visit: Visit) -> None:
        """Visit a node and all that come of raising its attributes from the `first` on, in their order.

        What stands before the attribute that is raised stays as it is below here, so groups that differ there from
        all rows of the focus never merge with them, and are left out.
        """
        levels = self.shape.levels(node)
        nodes = (self.levels[self._order[first]].height - levels[self._order[first]] + 1) * self._after[first]
        if self._keys.words[-1] == 0 and sum(map(len, tables.values())) * nodes <= _AT_ONCE:
            for sign, table in tables.items():
                self._visit_all(table, node, first, sign, visit)
            return
        for sign, table in tables.items():
            visit(node, sign, table)
        for place in range(first, len(self._order)):
            if focus is not None and place > 0:
                tables = {sign: self._narrowed(table, focus, place) for sign, table in tables.items()}
            own = self._order[place]
            level = levels[own]
            if level < self.levels[own].height:
                step = self._steps[place][level]
                wider = {sign: self._ladder.raised(table, place, step) for sign, table in tables.items()}
                aim = None if focus is None else self._ladder.raised(focus, place, step)
                self._walk(wider, aim, node + self.shape.strides[own], place, visit)

    def _visit_all(self, table: GroupTable, node: int, first: int, sign: int, visit: Visit) -> None:
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
        visit(nodes[row], sign, groups)

    def _narrowed(self, table: GroupTable, focus: GroupTable, places: int) -> GroupTable:
        kept = marked(self._keys.beginnings(table.keys, places), self._keys.beginnings(focus.keys, places))
        return table if kept.all() else table.within(kept)


def _assert(holds: bool | np.bool_, what: str) -> None:
    if not holds:
        raise AssertionError(what)
