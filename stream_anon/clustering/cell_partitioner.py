"""Classes within cells: rows of different cells never share one.

::

    window   a a b c a b b c a ...        cells, such as nodes of the highest levels that may be published
    cells    aaaa.. | bbb.. | cc          1. a cell that could not be one class has no place: its rows are too high
    classes  aa aa  | bbb   |             2. a partitioner works within each of the others

Criteria that compare a class with all rows compare it with those of all cells that have a place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.from_scratch import FromScratch, Placement, placement_of
from stream_anon.clustering.legality import legal_runs, within_share
from stream_anon.clustering.partitioning import TOO_HIGH
from stream_anon.clustering.rules import Rules, rules_of
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.criteria import Criteria

CellOf = Callable[[NDArray[np.int32]], NDArray[np.int64]]
"""Returns the cell of each row, int64[n], from codes int32[q, n]; it depends on a row's own codes alone."""


def one_cell(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the same cell for all rows."""
    return np.zeros(codes.shape[1], np.int64)


class Inside(Protocol):
    """What partitions the rows of one cell; see `FromScratch`."""

    def look_at(self, rows: Columns, rules: Rules) -> None:
        """Learn from the rows of all cells."""
        ...

    def partition(self, rows: Columns, rules: Rules) -> NDArray[np.int32]:
        """Return the class of each row of a cell, which is legal as one class."""
        ...


class CellPartitioner(FromScratch):
    """A window of cells.

    Parameters
    ----------
    cell_of
        Tells cells apart.
    inside
        Forms classes within a cell that may hold two of them; without it each cell is one class.
    """

    def __init__(self, cell_of: CellOf, inside: Inside | None = None) -> None:
        super().__init__()
        self._cell_of = cell_of
        self._inside = inside

    def close(self, rows: Columns, criteria: Criteria) -> NDArray[np.int32]:
        """Return the class of each row; see `Partitioner`."""
        answer = super().close(rows, criteria)
        if (answer < 0).any():
            # What could not be placed without cells either has another reason.
            anywhere = placement_of(rows, criteria)
            placed = np.zeros(len(rows), np.bool_)
            if anywhere is not None:
                placed[anywhere.chosen] = True
            answer[placed & (answer < 0)] = TOO_HIGH
        return answer

    def _placement(self, rows: Columns, criteria: Criteria) -> Placement | None:
        cells = self._cell_of(rows.codes)
        chosen = _within_share(rows.individuals, cells, criteria)
        while len(chosen):
            part = rows.take(chosen) if len(chosen) < len(rows) else rows
            rules = rules_of(part, criteria)
            order, ends = _runs(cells[chosen])
            legal = legal_runs(order, ends, rules)
            if legal.all():
                return Placement(chosen, part, rules)
            # What all rows show is something else without these.
            chosen = np.sort(chosen[order[np.repeat(legal, np.diff(ends, prepend=0))]])
        return None

    def look_at(self, rows: Columns, rules: Rules) -> None:
        """Let the partitioner learn from all cells; see `FromScratch`."""
        if self._inside is not None:
            self._inside.look_at(rows, rules)

    def partition(self, rows: Columns, rules: Rules) -> NDArray[np.int32]:
        """Return the class of each row; each cell is legal as one class."""
        order, ends = _runs(self._cell_of(rows.codes))
        answer = np.empty(len(rows), np.int32)
        begin = count = 0
        for end in ends.tolist():
            members = order[begin:end]
            if self._inside is None or len(members) < 2 * rules.k:
                answer[members] = count
                count += 1
            else:
                classes = self._inside.partition(rows.take(members), _rules_within(rules, members))
                answer[members] = count + classes
                count += int(classes.max()) + 1
            begin = end
        return answer


def _runs(cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all rows cell after cell, int64[n], and where each cell ends, int64[c]; O(n log n)."""
    order = np.argsort(cells, kind="stable")
    ends = np.flatnonzero(np.diff(cells[order], append=-1)) + 1
    return order, ends


def _within_share(
    individuals: NDArray[np.int32], cells: NDArray[np.int64], criteria: Criteria
) -> NDArray[np.int64]:
    """Return the rows that stay if nobody may hold more than `max_share` of a cell; int64[m], ascending.

    Cells of fewer than k rows, which have no place anyway, are left as they are.
    """
    order, ends = _runs(cells)
    sizes = np.diff(ends, prepend=0)
    number = np.empty(len(cells), np.int64)
    number[order] = np.repeat(np.arange(len(ends)), sizes)
    span = int(individuals.max(initial=0)) + 1
    pairs, counts = np.unique(number * span + individuals, return_counts=True)
    largest = np.zeros(len(ends), np.int64)
    np.maximum.at(largest, pairs // span, counts)
    stays = np.ones(len(cells), np.bool_)
    for cell in np.flatnonzero((largest > criteria.max_share * sizes) & (sizes >= criteria.k)).tolist():
        members = order[ends[cell] - sizes[cell] : ends[cell]]
        people = np.unique(individuals[members], return_inverse=True)[1].astype(np.int32)
        stays[members] = False
        stays[members[within_share(people, criteria.max_share)]] = True
    return np.flatnonzero(stays)


def _rules_within(rules: Rules, members: NDArray[np.int64]) -> Rules:
    """Return what classes of these rows must meet; what all rows show stays as it is."""
    if rules.each_once:
        return rules
    return rules._replace(columns=np.ascontiguousarray(rules.columns[:, members]))
