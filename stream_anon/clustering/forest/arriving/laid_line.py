"""LINE: the forest's line through the first rows of a window; later ones find a place on it, some may leave."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.arriving.keyed_rows import Keyed
from stream_anon.clustering.forest.arriving.late import cheapest_near
from stream_anon.clustering.forest.classes import spliced
from stream_anon.clustering.forest.line.agglomerate import CANDIDATES, grow_forest
from stream_anon.clustering.forest.line.layout import lay_out
from stream_anon.clustering.forest.line.points import points_of
from stream_anon.clustering.forest.ordering.order import KeyTable
from stream_anon.privacy.costs.model import CostModel

_REACH = 4


class Line(NamedTuple):
    """All rows of a window along the forest's line, as it is cut.

    Parameters
    ----------
    order, rows
        int64[n], the rows along the learned order, and along the line.
    points
        int32[p, q].
    point_along
        int64[n], the point at each place of the line.
    """

    order: NDArray[np.int64]
    rows: NDArray[np.int64]
    points: NDArray[np.int32]
    point_along: NDArray[np.int64]


class LaidLine(NamedTuple):
    """A line through the first rows of a window; it is never changed, only followed by another.

    Parameters
    ----------
    keyed
        The same rows along the learned order.
    rows
        int64[n], along the line.
    points
        int32[p, q], the distinct tuples.
    point
        int64[n], the point of each row.
    along, bounds
        int64[p], int64[p + 1], the points along the line, also those whose rows have left, and where on it the rows
        of each begin; the last entry is n.
    merges
        int32[m, 2], the joins of the trees that the line was laid from, each named by its first point.
    """

    keyed: Keyed
    rows: NDArray[np.int64]
    points: NDArray[np.int32]
    point: NDArray[np.int64]
    along: NDArray[np.int64]
    bounds: NDArray[np.int64]
    merges: NDArray[np.int32]

    def as_line(self) -> Line:
        """Return the line as it was laid."""
        return Line(self.keyed.rows, self.rows, self.points, self.point[self.rows])

    def with_late(self, codes: NDArray[np.int32], model: CostModel) -> Line:
        """Return the line through all rows of codes int32[n, q], of which the first ones are on this line.

        Each late row stands beside the cheapest of its 8 neighbours in key order, on the cheaper side, several
        there by key.
        """
        first, n = len(self.rows), len(codes)
        if first == n:
            return self.as_line()
        late = Keyed.of(np.ascontiguousarray(codes[first:].T), np.arange(first, n), self.keyed.table)
        places = self.keyed.places_of(late)
        own, along = codes[late.rows], self.along
        beside = self._nearest(own, places, self.point[self.keyed.rows], _REACH, model)
        # Of the points on both sides of that one the row goes towards the cheaper; at an end it stays at the end.
        number = np.empty(len(along), np.int64)
        number[along] = np.arange(len(along))
        run = number[beside]
        sides = along[np.stack([np.maximum(run - 1, 0), np.minimum(run + 1, len(along) - 1)], axis=1)]
        cheaper = self._nearest(own, 1 + 2 * np.arange(n - first), sides.ravel(), 1, model)
        at = self.bounds[run + (cheaper != sides[:, 0])]
        by_place = np.argsort(at, kind="stable")
        here = len(self.points) + np.arange(n - first)
        return Line(
            spliced(self.keyed.rows, places, late.rows),
            spliced(self.rows, at[by_place], late.rows[by_place]),
            np.concatenate([self.points, own]),
            spliced(self.point[self.rows], at[by_place], here[by_place]),
        )

    def _nearest(
        self,
        codes: NDArray[np.int32],
        places: NDArray[np.int64],
        points: NDArray[np.int64],
        reach: int,
        model: CostModel,
    ) -> NDArray[np.int64]:
        """Return for each row the point near its place among `points` with which it costs least as a pair."""
        answer = np.empty(len(codes), np.int64)
        alone = np.zeros(len(self.points), np.int64)
        cheapest_near(codes, places, points, self.points, self.points, alone, reach, model, answer)
        return answer

    def without(self, kept: NDArray[np.bool_]) -> LaidLine:
        """Return the line through the rows marked in bool[n], numbered anew in their order; O(n)."""
        numbers = np.cumsum(kept) - 1
        stays = kept[self.rows]
        return LaidLine(
            self.keyed.without(kept, numbers),
            numbers[self.rows[stays]],
            self.points,
            self.point[kept],
            self.along,
            np.concatenate([[0], np.cumsum(stays)])[self.bounds],
            self.merges,
        )

    def check_invariants(self, codes: NDArray[np.int32]) -> None:
        """Raise AssertionError if the line through the first rows of codes int32[n, q] is broken."""
        n = len(self.rows)
        # Every row is on the line once, and once in the order.
        assert sorted(self.rows.tolist()) == list(range(n))  # noqa: S101
        assert sorted(self.keyed.rows.tolist()) == list(range(n))  # noqa: S101
        self.keyed.check_invariants()
        # A row's point has its codes, and the rows of a point stand together.
        assert (self.points[self.point] == codes[:n]).all()  # noqa: S101
        along = np.repeat(self.along, np.diff(self.bounds))
        assert (along == self.point[self.rows]).all()  # noqa: S101
        assert sorted(self.along.tolist()) == list(range(len(self.points)))  # noqa: S101
        # The joins make one tree of all points: each joins two that were apart, and all are joined in the end.
        tree = list(range(len(self.merges) + 1))
        for stays, joins in self.merges.tolist():
            assert tree[stays] == stays  # noqa: S101
            assert tree[joins] == joins != stays  # noqa: S101
            tree[joins] = stays


def lay_line(codes: NDArray[np.int32], table: KeyTable, model: CostModel) -> LaidLine:
    """Return the line through codes int32[q, n]: ORDER, POINTS, FOREST and LAYOUT."""
    keyed = Keyed.of(codes, np.arange(codes.shape[1]), table)
    points, starts = points_of(codes, keyed.rows)
    weights = np.diff(starts)
    merges = np.empty((max(len(points) - 1, 0), 2), np.int32)
    grow_forest((points, points), weights, model, CANDIDATES, merges)
    along = lay_out((points, points), model, merges)
    sizes = weights[along]
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    point_along = np.repeat(along, sizes)
    # The rows of each point stand together in the order; their runs are put in the new order.
    rows = keyed.rows[np.arange(len(point_along)) + np.repeat(starts[:-1][along] - bounds[:-1], sizes)]
    point = np.empty(len(rows), np.int64)
    point[rows] = point_along
    return LaidLine(keyed, rows, points, point, along, bounds, merges)
