"""The partitioner: rows meet each other as they arrive, the forest grows and is cut when the window closes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.from_scratch import Placement, placement_of
from stream_anon.clustering.k_forest.checks import check_forest, check_neighbours, check_trees
from stream_anon.clustering.k_forest.decompose import decompose_all
from stream_anon.clustering.k_forest.growing import grow_forest
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
    trees_of_rows,
)
from stream_anon.clustering.partitioning import UNKNOWN, UNPLACED, Outlook
from stream_anon.clustering.rules import Rules
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.criteria import Criteria


class KForest:
    """The k-forest of Aggarwal et al. (2005) over a window of up to a few thousand rows.

    While rows arrive each one's k - 1 nearest are kept; FOREST and DECOMPOSE run when the window closes. Which rows
    share a class depends on the order of arrival (ties go to the first), not on its pieces.

    Trees of 2k rows and more are cut wherever that is legal. The paper leaves them whole up to 3k - 5 rows: the
    bounds are the same, and the loss is a tenth higher.

    Up to 1,200 rows two values of k are special. For k = 2 the lightest edge cover takes the place of the forest: a
    fifth less loss. For k = 2 and 3 classes are mended: a few near ones are cut anew in the best of all ways, which
    never loses more, and a quarter less for k = 3. 1,000 rows take seconds then.

    Parameters
    ----------
    model
        Cost tables: NCP or levels.
    k
        The k for which the window will close.

    Notes
    -----
    O(n^2 q) for n rows, of which O(n^2) are left when the window closes, without a cost to look up. Before criteria
    other than k join classes they have k to max(2k - 1, 3k - 3) rows, and all together lose at most that many times
    the optimum.
    """

    arrival_matters = False

    def __init__(self, model: CostModel, k: int) -> None:
        self._model = model
        self._k = k
        self._count = 0
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
        placement = placement_of(rows, criteria)
        if placement is not None:
            answer[placement.chosen] = self._placed_classes(placement)
        return answer

    def look_at(self, rows: Columns, rules: Rules) -> None:
        """Learn nothing; see `clustering.cell_partitioner.Inside`."""

    def partition(self, rows: Columns, rules: Rules) -> NDArray[np.int32]:
        """Return the class of each row of a part of a window, which is legal as one class; O(n^2 q)."""
        forest = KForest(self._model, self._k)
        forest.add(rows)
        return forest._placed_classes(Placement(np.arange(len(rows)), rows, rules))

    def _placed_classes(self, placement: Placement) -> NDArray[np.int32]:
        """Return the class of each row that has a place."""
        chosen, part, rules = placement
        classes = np.unique(self._classes_of(chosen), return_inverse=True)[1]
        # Trees that grew over surplus rows too may be short of k without them.
        if not rules.each_once or len(part) < self._count:
            join_cheapest(np.ascontiguousarray(part.codes.T), classes, self._model, rules)
        return np.unique(classes, return_inverse=True)[1].astype(np.int32)

    def _among(self, chosen: NDArray[np.int64]) -> Neighbours:
        if len(chosen) < self._count:
            return those_kept(self._neighbours, chosen, self._model)
        return first_rows(self._neighbours, self._count)

    def _classes_of(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the class of each chosen row before criteria other than k join classes."""
        neighbours = self._among(chosen)
        trees = self._grown(neighbours)
        decompose_all(trees, self._k, 2 * self._k - 1)
        classes = trees_of_rows(trees)
        if self._k <= LARGEST_K and self._k <= len(classes) <= MOST_ROWS:
            classes = np.unique(classes, return_inverse=True)[1]
            mend(neighbours.codes, classes, self._model, self._k)
        return classes

    def _grown(self, neighbours: Neighbours) -> Trees:
        trees = no_trees(2 * len(neighbours))
        if self._k == 2 and 2 <= len(neighbours) <= MOST_ROWS:
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
        decompose_all(trees, self._k, 2 * self._k - 1)
        check_trees(trees, neighbours.codes, self._model, self._k, most_rows(self._k))
