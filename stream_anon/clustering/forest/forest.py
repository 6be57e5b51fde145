"""The partitioner: ORDER, POINTS, FOREST, LAYOUT, CUT and REFINE over a window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.agglomerate import CANDIDATES, grow_forest
from stream_anon.clustering.forest.book import OrderBook
from stream_anon.clustering.forest.classes import by_rank
from stream_anon.clustering.forest.cut_sets import cut
from stream_anon.clustering.forest.groups import groups_of, lines_of
from stream_anon.clustering.forest.layout import lay_out
from stream_anon.clustering.forest.order import line_order
from stream_anon.clustering.forest.peel import peeled
from stream_anon.clustering.forest.points import points_of
from stream_anon.clustering.forest.refine_sets import refine_sets
from stream_anon.clustering.forest.repair import repaired
from stream_anon.clustering.forest.resplit import resplit_pass
from stream_anon.clustering.forest.split import split_large
from stream_anon.clustering.forest.swap import swap_pass
from stream_anon.clustering.forest.tables import reordered, tables_first
from stream_anon.clustering.from_scratch import FromScratch
from stream_anon.clustering.legality import Ledger
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.cost import CostModel

_SWAPS = 2
_LONGEST = 64  # times k: rows beyond which no class is tried, however few individuals they belong to


def following_of(individuals: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each place the next place of the same individual, n if there is none; O(n log n)."""
    n = len(individuals)
    order = np.argsort(individuals, kind="stable")
    following = np.full(n, n, np.int64)
    same = individuals[order[1:]] == individuals[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    return following


def lay_line(
    codes: NDArray[np.int32], order: NDArray[np.int64], model: CostModel
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return the rows along the forest's line, the points, and the point of each place on the line."""
    points, starts = points_of(codes, order)
    weights = np.diff(starts)
    merges = np.empty((max(len(points) - 1, 0), 2), np.int32)
    grow_forest(points, weights, model, CANDIDATES, merges)
    along = lay_out(points, model, merges)
    point_of = np.repeat(along, weights[along])
    # The rows of each point stand together in `order`; their runs are put in the new order.
    firsts = np.cumsum(weights[along]) - weights[along]
    places = (
        np.arange(len(order)) - np.repeat(firsts, weights[along]) + np.repeat(starts[:-1][along], weights[along])
    )
    return order[places], points, point_of


class Forest(FromScratch):
    """The cluster forest of one window.

    Parameters
    ----------
    model
        Cost tables.
    book
        The learned order; a window that closes may add to it, for itself and those after it.
    rounds
        1: neighbours in the key order are refined; 2: then those along the forest's line too.
    """

    def __init__(self, model: CostModel, book: OrderBook, rounds: int = 2) -> None:
        super().__init__()
        self._attributes = tables_first(model)
        self._model = reordered(model, self._attributes)
        self._book = book
        book.turn()
        self._rounds = rounds

    def _partition(self, rows: Columns, ledger: Ledger) -> NDArray[np.int32]:
        n = len(rows)
        order = line_order(rows.codes, self._book.consider(rows.codes, ledger.k))
        rows = Columns(np.ascontiguousarray(rows.codes[self._attributes]), rows.individuals, rows.sensitive)
        line, points, point_of = lay_line(rows.codes, order, self._model)
        longest = 2 * ledger.k - 1 if ledger.each_once else _LONGEST * ledger.k
        following = np.full(n, n) if ledger.each_once else following_of(rows.individuals[line])
        ends = cut(points, point_of, following, self._model, ledger.k, longest, np.empty(n + 1))
        if not len(ends):
            ends = np.array([n], np.int64)
        return self._refined(rows, order, line, ends, ledger)

    def _refined(
        self,
        rows: Columns,
        order: NDArray[np.int64],
        line: NDArray[np.int64],
        ends: NDArray[np.int64],
        ledger: Ledger,
    ) -> NDArray[np.int32]:
        codes = np.ascontiguousarray(rows.codes.T)
        placed = line
        if not ledger.each_once:
            lines = lines_of(order, line, rows.individuals, rows.sensitive)
            placed, ends = repaired(groups_of(codes, line, ends, self._model, ledger), lines, self._model, ledger)
            ends = split_large(codes, placed, ends, self._model, ledger)
        rank = np.empty(len(order), np.int64)
        for number, along in enumerate((order, line)[: self._rounds]):
            rank[along] = np.arange(len(order))
            placed, ends = by_rank(placed, ends, rank)
            resplit_pass(codes, placed, ends, self._model, ledger)
            if not ledger.each_once and number == 0:
                placed, ends = peeled(
                    groups_of(codes, placed, ends, self._model, ledger), lines, self._model, ledger
                )
                ends = split_large(codes, placed, ends, self._model, ledger)
                # What came of it has other neighbours: they are cut anew along the forest's line.
                rank[line] = np.arange(len(order))
                placed, ends = by_rank(placed, ends, rank)
                resplit_pass(codes, placed, ends, self._model, ledger)
            for _ in range(_SWAPS):
                swap_pass(codes, placed, ends, self._model, ledger)
        if self._model.share.any():
            refine_sets(codes, placed, ends, self._model, ledger, _SWAPS)
        sizes = np.diff(ends, prepend=0)
        answer = np.empty(len(rows), np.int32)
        answer[placed] = np.repeat(np.arange(len(ends)), sizes)
        return answer
