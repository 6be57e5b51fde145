"""The partitioner: ORDER, POINTS, FOREST, LAYOUT, CUT and REFINE, as much of it as can be before a window ends.

::

    from scratch   ·························│ORDER FOREST LAYOUT CUT REFINE
    LINE           ··········│ORDER FOREST LAYOUT·····│late rows CUT REFINE
    CLASSES        ······│ORDER FOREST LAYOUT CUT REFINE·late·late·│late

Which of them it is, the rate of arrival says (`marks`), and whether somebody did the preparation in time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.arriving.laid_line import LaidLine, Line, lay_line
from stream_anon.clustering.forest.arriving.open_forest import OpenForest
from stream_anon.clustering.forest.classes import Classes, name_owners
from stream_anon.clustering.forest.line.cut_sets import cut
from stream_anon.clustering.forest.ordering.current_order import OrderBook
from stream_anon.clustering.forest.ordering.order import permuted
from stream_anon.clustering.forest.refining.peel import peeled
from stream_anon.clustering.forest.refining.refine import reach_of, refined, refined_in_rounds, side_by_side
from stream_anon.clustering.forest.refining.refine_sets import refine_sets
from stream_anon.clustering.forest.refining.split import split_large
from stream_anon.clustering.forest.refining.swap import swap_pass
from stream_anon.clustering.forest.repairing.groups import groups_of, lines_of
from stream_anon.clustering.forest.repairing.repair import repaired
from stream_anon.clustering.forest.tables import reordered, tables_first
from stream_anon.clustering.from_scratch import FromScratch
from stream_anon.clustering.legality import Ledger, allow, left_of
from stream_anon.clustering.protocol import UNKNOWN, Outlook
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.cost import CostModel

_SWAPS = 2
_SMALL = 4_000  # rows up to which PEEL goes twice: 0.7 % less loss (1 % at 10,000) for a sixth more of the time
# Where frequencies decide REPAIR takes most of the time: a wide REFINE costs little and saves 3 to 5 %.
_REACH_OF_FREQUENCIES = 7
# Rows that may be looked at for each row of the window: in SPLIT, in a SWAP of its own, and in a REFINE.
_LOOKS_OF_SPLIT, _LOOKS_OF_SWAP, _LOOKS_OF_REFINE = 40, 20, 48
_LONGEST = 64  # times k: rows beyond which no class is tried, however few individuals they belong to


def following_of(individuals: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each place the next place of the same individual, n if there is none; O(n log n)."""
    n = len(individuals)
    order = np.argsort(individuals, kind="stable")
    following = np.full(n, n, np.int64)
    same = individuals[order[1:]] == individuals[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    return following


class Forest(FromScratch):
    """The cluster forest of one window.

    Parameters
    ----------
    model
        Cost tables.
    book
        The learned order; a window that closes may add to it, for itself and those after it.
    rounds
        1: neighbours along the forest's line are refined, then those in the key order. More: each round two more
        classes on either side count as neighbours, and before each further one the classes are cut anew; with
        other criteria than k they are not, but PEEL goes twice.
    k
        The k for which the window will close; 0 if that is not known, then nothing is prepared.
    """

    def __init__(self, model: CostModel, book: OrderBook, rounds: int = 1, k: int = 0) -> None:
        super().__init__()
        self._attributes = tables_first(model)
        self._model = reordered(model, self._attributes)
        self._book = book
        book.turn()
        self._rounds = rounds
        self._k = k
        self._open = OpenForest(self._model, k, rounds) if k else None

    @property
    def arrival_matters(self) -> bool:
        """Whether a line was laid before the last row came."""
        return self.trees() is not None

    def add(self, rows: Columns, outlook: Outlook = UNKNOWN) -> None:
        """Take rows into the open window; O(q) a row."""
        super().add(rows)
        if self._open is not None:
            self._open.take(Columns(rows.codes[self._attributes], rows.individuals, rows.sensitive), outlook)

    def keep(self, kept: NDArray[np.bool_], rows: Columns) -> None:
        """Drop all rows but those marked; O(n)."""
        super().keep(kept, rows)
        if self._open is not None:
            self._open.keep(kept, rows)

    def preparation(self) -> Callable[[], None] | None:
        """Return work that is due; see `Partitioner`. None while the order is still to be learned."""
        if self._open is None or not self._book.settled:
            return None
        return self._open.preparation(permuted(self._book.table, self._attributes))

    def trees(self) -> LaidLine | None:
        """Return the open forest with the line through it, for tests and debuggers alone; None before its mark.

        To users of the service it would tell whether a planted tuple found company.
        """
        return None if self._open is None else self._open.trees()

    def check_invariants(self) -> None:
        """Raise AssertionError if the structure is broken."""
        super().check_invariants()
        if self._open is not None:
            # Both have taken the same rows.
            assert len(self._open) == self._count  # noqa: S101
            self._open.check_invariants()

    # -- closing -------------------------------------------------------------------------------------------

    def _partition(self, rows: Columns, ledger: Ledger) -> NDArray[np.int32]:
        before = self._book.version
        table = self._book.consider(rows.codes, ledger.k)
        line = None
        # With a better order, or without the rows of somebody who had too many, what was prepared does not serve.
        if self._open is not None and self._book.version == before and len(rows) == self._count:
            self._open.adopt()
            if ledger.each_once and ledger.k == self._k:
                standing = self._open.standing()
                if standing is not None:
                    return standing.class_of_row()
            line = self._open.line()
        if self._open is None or line is None:
            codes = rows.codes[self._attributes]
            laid = lay_line(codes, permuted(table, self._attributes), self._model)
            return self._cut(rows, np.ascontiguousarray(codes.T), laid.as_line(), ledger, hurried=False)
        # Somebody waits for this one.
        codes = self._open.codes
        return self._cut(rows, codes, line.with_late(codes, self._model), ledger, hurried=True)

    def _cut(
        self, rows: Columns, codes: NDArray[np.int32], line: Line, ledger: Ledger, *, hurried: bool
    ) -> NDArray[np.int32]:
        n = len(rows)
        longest = 2 * ledger.k - 1 if ledger.singles else _LONGEST * ledger.k
        following = np.full(n, n) if ledger.singles else following_of(rows.individuals[line.rows])
        ends = cut(line.points, line.point_along, following, self._model, ledger.k, longest, np.empty(n + 1))
        classes = line.rows, ends if len(ends) else np.array([n], np.int64)
        if not ledger.each_once:
            classes = self._mended(rows, codes, line, classes, ledger)
        else:
            lines = line.rows, line.order
            classes = refined_in_rounds(codes, classes, lines, self._model, ledger, self._rounds, hurried=hurried)
        placed, ends = classes
        if self._model.share.any():
            refine_sets(codes, placed, ends, self._model, ledger, _SWAPS)
        owner = np.empty(n, np.int64)
        name_owners(placed, ends, owner)
        return owner.astype(np.int32)

    def _mended(
        self, rows: Columns, codes: NDArray[np.int32], line: Line, classes: Classes, ledger: Ledger
    ) -> Classes:
        """Return legal classes: REPAIR, then REFINE with PEEL where sizes alone do not decide."""
        lines = lines_of(line.order, line.rows, rows.individuals, rows.sensitive)

        def split(placed: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
            allow(ledger, _LOOKS_OF_SPLIT, len(rows))
            return split_large(codes, placed, ends, self._model, ledger)

        def peeled_anew(placed: NDArray[np.int64], ends: NDArray[np.int64]) -> Classes:
            placed, ends = peeled(groups_of(codes, placed, ends, self._model), lines, self._model, ledger)
            return placed, split(placed, ends)

        def swapped(placed: NDArray[np.int64], ends: NDArray[np.int64]) -> Classes:
            placed, ends = side_by_side(placed, ends, line.order)
            allow(ledger, _LOOKS_OF_SWAP, len(rows))
            swap_pass(codes, placed, ends, self._model, ledger)
            return placed, ends

        def refined_along(
            classes: Classes, along: NDArray[np.int64], reach: int, *, hurried: bool = False
        ) -> Classes:
            allow(ledger, _LOOKS_OF_REFINE, len(rows))
            return refined(codes, classes, (along,), self._model, ledger, hurried=hurried, reach=reach)

        placed, ends = repaired(groups_of(codes, *classes, self._model, ledger), lines, self._model, ledger)
        stopped = left_of(ledger) < 0
        # RESPLIT has more to choose from once PEEL has been there: before it, SWAP does nearly as well for less.
        classes = peeled_anew(*swapped(placed, split(placed, ends)))
        if ledger.asked[:, 7].any():
            # Classes are large where REPAIR was stopped, and each pass over them is dear.
            reach = 1 if stopped else max(reach_of(self._rounds), _REACH_OF_FREQUENCIES)
        else:
            reach = reach_of(self._rounds)
        if reach > 1 or stopped:
            classes = refined_along(classes, line.rows, reach)
            return refined_along(peeled_anew(*classes), line.order, reach)
        twice = len(rows) <= _SMALL
        classes = refined_along(classes, line.rows, reach, hurried=twice)
        return swapped(*peeled_anew(*classes)) if twice else classes
