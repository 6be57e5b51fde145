"""The partitioner: ORDER, POINTS, FOREST, LAYOUT, CUT and REFINE, as much of it as can be before a window ends.

::

    from scratch   ·························│ORDER FOREST LAYOUT CUT REFINE
    LINE           ··········│ORDER FOREST LAYOUT·····│late rows CUT REFINE
    CLASSES        ······│ORDER FOREST LAYOUT CUT REFINE·late·late·│late

The rate of arrival decides which of the three a window takes (`marks`), and so does whether its preparation was
ready in time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.arriving.laid_line import Line, lay_line
from stream_anon.clustering.forest.arriving.open_forest import OpenForest
from stream_anon.clustering.forest.classes import Classes, name_owners
from stream_anon.clustering.forest.cost_tables import reordered, tables_first
from stream_anon.clustering.forest.line.cut import cut
from stream_anon.clustering.forest.ordering.current_order import OrderBook
from stream_anon.clustering.forest.ordering.order import permuted
from stream_anon.clustering.forest.refining.refine import reach_of, refine_sets, refined, side_by_side
from stream_anon.clustering.forest.refining.split import split_large
from stream_anon.clustering.forest.refining.swap import swap_pass
from stream_anon.clustering.forest.repairing.groups import Lines, groups_of, lines_of
from stream_anon.clustering.forest.repairing.peel import peeled
from stream_anon.clustering.forest.repairing.repair import repaired
from stream_anon.clustering.forest.rounds import refined_in_rounds
from stream_anon.clustering.from_scratch import FromScratch
from stream_anon.clustering.partitioning import UNKNOWN, Outlook
from stream_anon.clustering.rules import FREQUENCIES, LISTED, Rules, rules_of
from stream_anon.clustering.work_limit import allow, left_of
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.criteria import Criteria

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
        1: neighbours along the forest's line are refined, then those in the key order. More: in each further round
        PEEL takes classes apart, and all are cut anew. With other criteria than k they are not, but each round
        counts two more classes on either side as neighbours, and PEEL goes twice.
    k
        The k for which the window will close; 0 if that is not known, then nothing is prepared.
    """

    def __init__(self, model: CostModel, book: OrderBook, rounds: int = 1, k: int = 0) -> None:
        super().__init__()
        self._attributes = tables_first(model)
        self._model = reordered(model, self._attributes)
        self._book = book
        self._table = book.turn()
        self._relearned = False
        self._rounds = rounds
        self._k = k
        self._open = OpenForest(self._model, k, rounds) if k else None

    @property
    def arrival_matters(self) -> bool:
        """Whether a line was laid before the last row came."""
        return self._open is not None and self._open.has_line()

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

    def check_invariants(self) -> None:
        """Raise AssertionError if the structure is broken."""
        super().check_invariants()
        if self._open is not None:
            # Both have taken the same rows.
            assert len(self._open) == self._count  # noqa: S101
            self._open.check_invariants()

    # -- warming up ----------------------------------------------------------------------------------------

    def warm_up(self, rows: Columns, criteria: Criteria, *, refining: bool) -> None:
        """Run one half of the stages of a close on made-up rows, which are legal as one class.

        One process compiles the kernels that form and repair classes, another those that refine them: each half
        takes about as long to compile as the other.
        """
        rules = rules_of(rows, criteria)
        n = len(rows)
        along = np.arange(n)
        together = along, np.array([n], np.int64)
        columns = rows.codes[self._attributes]
        codes = np.ascontiguousarray(columns.T)
        if not refining:
            table = permuted(self._book.consider(rows.codes, rules.k), self._attributes)
            laid = lay_line(columns, table, self._model).as_line()
            cut(laid.points, laid.point_along, np.full(n, n), self._model, rules.k, n, np.empty(n + 1))
            if not rules.each_once:
                lines = lines_of(along, along, rows.individuals, rows.sensitive)
                repaired(groups_of(codes, *together, self._model, rules), lines, self._model, rules)
        elif rules.each_once:
            refined_in_rounds(codes, together, (along, along), self._model, rules, self._rounds)
        else:
            lines = lines_of(along, along, rows.individuals, rows.sensitive)
            line = Line(along, along, codes, along)
            self._improved(codes, line, lines, together, rules)
        if refining and self._model.share.any():
            refine_sets(codes, together, self._model, rules, _SWAPS)

    # -- closing -------------------------------------------------------------------------------------------

    def look_at(self, rows: Columns, rules: Rules) -> None:
        """Let the order be learned from the rows of a window that closes."""
        before = self._book.version
        self._table = self._book.consider(rows.codes, rules.k)
        self._relearned = self._book.version != before

    def partition(self, rows: Columns, rules: Rules) -> NDArray[np.int32]:
        """Return the class of each row; see `FromScratch`."""
        line = None
        # With a better order, or without the rows of somebody who had too many, what was prepared does not serve.
        if self._open is not None and not self._relearned and len(rows) == self._count:
            self._open.adopt()
            if rules.each_once and rules.k == self._k:
                standing = self._open.standing()
                if standing is not None:
                    return standing.class_of_row()
            line = self._open.line()
        if self._open is None or line is None:
            codes = rows.codes[self._attributes]
            laid = lay_line(codes, permuted(self._table, self._attributes), self._model)
            return self._cut(rows, np.ascontiguousarray(codes.T), laid.as_line(), rules, hurried=False)
        # Somebody waits for this one.
        codes = self._open.codes
        return self._cut(rows, codes, line.with_late(codes, self._model), rules, hurried=True)

    def _cut(
        self, rows: Columns, codes: NDArray[np.int32], line: Line, rules: Rules, *, hurried: bool
    ) -> NDArray[np.int32]:
        n = len(rows)
        longest = 2 * rules.k - 1 if rules.singles else _LONGEST * rules.k
        following = np.full(n, n) if rules.singles else following_of(rows.individuals[line.rows])
        ends = cut(line.points, line.point_along, following, self._model, rules.k, longest, np.empty(n + 1))
        classes = line.rows, ends if len(ends) else np.array([n], np.int64)
        if not rules.each_once:
            classes = self._mended(rows, codes, line, classes, rules)
        else:
            lines = line.rows, line.order
            classes = refined_in_rounds(codes, classes, lines, self._model, rules, self._rounds, hurried=hurried)
        if self._model.share.any():
            if not rules.each_once:
                allow(rules, _LOOKS_OF_REFINE, n)
            refine_sets(codes, classes, self._model, rules, _SWAPS)
        placed, ends = classes
        owner = np.empty(n, np.int64)
        name_owners(placed, ends, owner)
        return owner.astype(np.int32)

    def _mended(
        self, rows: Columns, codes: NDArray[np.int32], line: Line, classes: Classes, rules: Rules
    ) -> Classes:
        """Return legal classes: REPAIR, then REFINE with PEEL where sizes alone do not decide."""
        lines = lines_of(line.order, line.rows, rows.individuals, rows.sensitive)
        classes = repaired(groups_of(codes, *classes, self._model, rules), lines, self._model, rules)
        return self._improved(codes, line, lines, classes, rules)

    def _improved(
        self, codes: NDArray[np.int32], line: Line, lines: Lines, classes: Classes, rules: Rules
    ) -> Classes:
        """Return legal classes after REFINE with PEEL."""
        stopped = left_of(rules) < 0
        n = len(codes)

        def split(placed: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
            allow(rules, _LOOKS_OF_SPLIT, n)
            return split_large(codes, placed, ends, self._model, rules)

        def peeled_anew(placed: NDArray[np.int64], ends: NDArray[np.int64]) -> Classes:
            placed, ends = peeled(groups_of(codes, placed, ends, self._model), lines, self._model, rules)
            return placed, split(placed, ends)

        def swapped(placed: NDArray[np.int64], ends: NDArray[np.int64]) -> Classes:
            placed, ends = side_by_side(placed, ends, line.order)
            allow(rules, _LOOKS_OF_SWAP, n)
            swap_pass(codes, placed, ends, self._model, rules)
            return placed, ends

        def refined_along(
            classes: Classes, along: NDArray[np.int64], reach: int, *, hurried: bool = False
        ) -> Classes:
            allow(rules, _LOOKS_OF_REFINE, n)
            return refined(codes, classes, (along,), self._model, rules, hurried=hurried, reach=reach)

        # RESPLIT has more to choose from once PEEL has been there: before it, SWAP does nearly as well for less.
        placed, ends = classes
        classes = peeled_anew(*swapped(placed, split(placed, ends)))
        if rules.asked[:, [FREQUENCIES, LISTED]].any():
            # Classes are large where REPAIR was stopped, and each pass over them is dear.
            reach = 1 if stopped else max(reach_of(self._rounds), _REACH_OF_FREQUENCIES)
        else:
            reach = reach_of(self._rounds)
        if reach > 1 or stopped:
            classes = refined_along(classes, line.rows, reach)
            return refined_along(peeled_anew(*classes), line.order, reach)
        twice = n <= _SMALL
        classes = refined_along(classes, line.rows, reach, hurried=twice)
        return swapped(*peeled_anew(*classes)) if twice else classes
