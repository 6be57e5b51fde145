"""The partitioners: the exact k-forest, and the one into which rows are inserted as they arrive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.k_forest.checks import check_forest, check_neighbours, check_trees
from stream_anon.clustering.k_forest.decompose import decompose_all
from stream_anon.clustering.k_forest.forest import grow_forest
from stream_anon.clustering.k_forest.insertion import insert_rows, those_intact
from stream_anon.clustering.k_forest.joining import join_cheapest
from stream_anon.clustering.k_forest.mending import LARGEST_K, mend
from stream_anon.clustering.k_forest.neighbours import (
    Neighbours,
    first_rows,
    meet,
    no_neighbours,
    those_kept,
    with_more_room,
)
from stream_anon.clustering.k_forest.pairs import MOST_ROWS, cover
from stream_anon.clustering.k_forest.trees import (
    Trees,
    most_rows,
    no_trees,
    threshold,
    trees_of_rows,
    with_room,
)
from stream_anon.clustering.legality import is_legal, within_share
from stream_anon.clustering.protocol import UNKNOWN, UNPLACED, Outlook
from stream_anon.clustering.rules import rules_of
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.cost import CostModel
from stream_anon.privacy.criteria import Criteria


class _Forest(ABC):
    """What both have in common: the k they grow for, and how a window closes.

    Parameters
    ----------
    model
        Cost tables: NCP or levels.
    k
        The k for which the window will close.
    as_published
        Leave trees of 2k rows and more whole up to the published threshold, beyond which a legal cut is certain.
        Else they are cut where that is legal: the same bounds, a tenth less loss.
    """

    def __init__(self, model: CostModel, k: int, *, as_published: bool = False) -> None:
        self._model = model
        self._k = k
        self._threshold = threshold(k) if as_published else 2 * k - 1
        self._count = 0

    def preparation(self) -> Callable[[], None] | None:
        """Return None: each row is worked on as it arrives."""
        return None

    def close(self, rows: Columns, criteria: Criteria) -> NDArray[np.int32]:
        """Return the class of each row; see `Partitioner`."""
        if len(rows) != self._count:
            raise ValueError("close() must see the rows that were added and kept")
        if criteria.k != self._k:
            raise ValueError("close() must be asked for the k that the forest grew for")
        answer = np.full(len(rows), UNPLACED, np.int32)
        chosen = within_share(rows.individuals, criteria.max_share)
        part = rows.take(chosen) if len(chosen) < len(rows) else rows
        rules = rules_of(part, criteria)
        if is_legal(np.arange(len(part)), rules):
            classes = np.unique(self._trees_of(chosen), return_inverse=True)[1]
            # Trees that grew over surplus rows too may be short of k without them.
            if not rules.each_once or len(part) < len(rows):
                join_cheapest(np.ascontiguousarray(part.codes.T), classes, self._model, rules)
            answer[chosen] = np.unique(classes, return_inverse=True)[1]
        return answer

    @abstractmethod
    def _trees_of(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tree of each chosen row."""


class KForest(_Forest):
    """The k-forest of Aggarwal et al. (2005) over a window of up to a few thousand rows.

    While rows arrive each one's k - 1 nearest are kept; FOREST and DECOMPOSE run when the window closes. Which rows
    share a class depends on the order of arrival (ties go to the first), not on its pieces.

    Up to 1,200 rows, unless `as_published`, two values of k are special. For k = 2 the lightest edge cover takes
    the place of the forest: a fifth less loss. For k = 2 and 3 classes are mended: a few near ones are cut anew in
    the best of all ways, which never loses more, and a quarter less for k = 3. 1,000 rows take seconds then.

    Notes
    -----
    O(n^2 q) for n rows, of which O(n^2) are left when the window closes, without a cost to look up. Before criteria
    other than k join classes they have k to max(2k - 1, 3k - 3) rows, and all together lose at most that many times
    the optimum.
    """

    arrival_matters = False

    def __init__(self, model: CostModel, k: int, *, as_published: bool = False) -> None:
        super().__init__(model, k, as_published=as_published)
        self._in_pairs = k == 2 and not as_published
        self._mended = k <= LARGEST_K and not as_published
        self._neighbours = no_neighbours(0, len(model.kind), max(k - 1, 1))

    def add(self, rows: Columns, outlook: Outlook = UNKNOWN) -> None:  # noqa: ARG002 - rows are worked on
        """Take rows into the open window; O(n q) a row."""
        first, self._count = self._count, self._count + len(rows)
        if self._count > len(self._neighbours):
            self._neighbours = with_more_room(self._neighbours, 2 * self._count)
        self._neighbours.codes[first : self._count] = rows.codes.T
        meet(self._neighbours, first, self._count, self._model)

    def keep(self, kept: NDArray[np.bool_], rows: Columns) -> None:  # noqa: ARG002 - codes stay
        """Drop all rows but those marked; O(n q) for each that was near to one that leaves."""
        self._neighbours = those_kept(self._neighbours, np.flatnonzero(kept), self._model)
        self._count = len(self._neighbours)

    def _among(self, chosen: NDArray[np.int64]) -> Neighbours:
        if len(chosen) < self._count:
            return those_kept(self._neighbours, chosen, self._model)
        return first_rows(self._neighbours, self._count)

    def _trees_of(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        neighbours = self._among(chosen)
        trees = self._grown(neighbours)
        decompose_all(trees, self._k, self._threshold)
        classes = trees_of_rows(trees)
        if self._mended and self._k <= len(classes) <= MOST_ROWS:
            classes = np.unique(classes, return_inverse=True)[1]
            mend(neighbours.codes, classes, self._model, self._k)
        return classes

    def _grown(self, neighbours: Neighbours) -> Trees:
        trees = no_trees(2 * len(neighbours))
        if self._in_pairs and 2 <= len(neighbours) <= MOST_ROWS:
            cover(trees, neighbours.codes, self._model)
        else:
            grow_forest(trees, neighbours, self._k)
        return trees

    def check_invariants(self) -> None:
        """Raise AssertionError if the structure, or the forest that grows from it now, is broken; O(n^2)."""
        neighbours = first_rows(self._neighbours, self._count)
        check_neighbours(neighbours)
        trees = self._grown(neighbours)
        check_forest(trees, neighbours.weights, self._k)
        check_trees(trees, neighbours.codes, self._model, self._k, self._count)
        decompose_all(trees, self._k, self._threshold)
        check_trees(trees, neighbours.codes, self._model, self._k, most_rows(self._k))


class InsertionForest(_Forest):
    """The k-forest into which rows are inserted: each joins the nearest row of those before it, and stays.

    The open forest is there at any time, at a higher loss than `KForest` has, which knows the later rows too.

    Notes
    -----
    O(n q) a row; O(n) when the window closes. Class sizes as for `KForest`, but the loss has no bound.
    """

    arrival_matters = True

    def __init__(self, model: CostModel, k: int, *, as_published: bool = False) -> None:
        super().__init__(model, k, as_published=as_published)
        self._trees = no_trees(0)
        self._codes = np.empty((0, len(model.kind)), np.int32)

    def add(self, rows: Columns, outlook: Outlook = UNKNOWN) -> None:  # noqa: ARG002 - rows are worked on
        """Take rows into the open window; O(n q) a row."""
        first, self._count = self._count, self._count + len(rows)
        self._codes = np.concatenate([self._codes, rows.codes.T])
        self._insert(np.arange(first, self._count))

    def _insert(self, rows: NDArray[np.int64]) -> None:
        # Each row needs a tree to begin with; each cut makes a copy and a tree, and leaves k rows in each.
        need = int(self._trees.used.max()) + len(rows) + self._count // self._k + 1
        if need > len(self._trees.row):
            self._trees = with_room(self._trees, 2 * need)
        insert_rows(self._trees, self._codes, rows, self._k, threshold(self._k), self._model)

    def keep(self, kept: NDArray[np.bool_], rows: Columns) -> None:
        """Drop all rows but those marked; what is left of trees that lose a row is inserted anew."""
        self._count = len(rows)
        self._codes = self._codes[kept]
        self._trees, loose = those_intact(self._trees, kept)
        self._insert(loose)

    def _trees_of(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        return trees_of_rows(self._cut())[chosen]

    def _cut(self) -> Trees:
        """Return a copy of the open trees, cut for good."""
        trees = with_room(self._trees, int(self._trees.used.max()) + self._count)
        decompose_all(trees, self._k, self._threshold)
        return trees

    def check_invariants(self) -> None:
        """Raise AssertionError if the open forest, or its classes, are broken."""
        for trees in (self._trees, self._cut()):
            check_trees(trees, self._codes, self._model, self._k, most_rows(self._k))
