"""The cost graph, as far as FOREST needs it: each row's k - 1 nearest rows, kept up to date as rows arrive.

A tree that still has to grow has fewer than k rows, so one of the k - 1 nearest rows of its sink lies outside of
it: with these lists the forest of all rows costs next to nothing, and is the same as with the whole graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.k_forest.trees import NOTHING
from stream_anon.compiled import kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel


class Neighbours(NamedTuple):
    """The nearest rows of each of n rows, near first, of equally near ones the first that came.

    Parameters
    ----------
    codes
        int32[n, q], row-major.
    mates
        int64[n, m], the m nearest rows; -1 where there are no more.
    weights
        float64[n, m], the cost of publishing the two rows alike, summed over attributes; inf without a mate.
    """

    codes: NDArray[np.int32]
    mates: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.mates)


def no_neighbours(rows: int, q: int, width: int) -> Neighbours:
    """Return room for `rows` rows of `q` attributes and the `width` nearest of each."""
    return Neighbours(
        np.empty((rows, q), np.int32),
        np.full((rows, width), NOTHING, np.int64),
        np.full((rows, width), np.inf),
    )


def with_more_room(neighbours: Neighbours, rows: int) -> Neighbours:
    """Return a copy with room for `rows` rows."""
    n, width = neighbours.mates.shape
    larger = no_neighbours(rows, neighbours.codes.shape[1], width)
    larger.codes[:n], larger.mates[:n], larger.weights[:n] = neighbours
    return larger


def first_rows(neighbours: Neighbours, rows: int) -> Neighbours:
    """Return a view of the first `rows` rows."""
    return Neighbours(neighbours.codes[:rows], neighbours.mates[:rows], neighbours.weights[:rows])


@kernel
def pair_weight(one: NDArray[np.int32], two: NDArray[np.int32], model: CostModel, bound: float) -> float:
    """Return the weight of the edge between two rows of codes int32[q], or any number from `bound` on; O(q)."""
    total = 0.0
    for j in range(len(one)):
        low = min(one[j], two[j])
        high = max(one[j], two[j])
        cost = interval_cost(model, j, low, high)
        total += cost
        if total >= bound:
            break
    return total


@kernel
def _enlist(mates: NDArray[np.int64], weights: NDArray[np.float64], mate: int, weight: float) -> None:
    """Put `mate` behind all that are as near; the last one leaves."""
    place = len(mates) - 1
    while place > 0 and weights[place - 1] > weight:
        mates[place] = mates[place - 1]
        weights[place] = weights[place - 1]
        place -= 1
    mates[place] = mate
    weights[place] = weight


@kernel
def meet(neighbours: Neighbours, first: int, last: int, model: CostModel) -> None:
    """Let each row from `first` to before `last` meet all rows before it; O(m n q)."""
    codes, mates, weights = neighbours
    q = codes.shape[1]
    end = mates.shape[1] - 1
    for row in range(first, last):
        for other in range(row):
            # Stop as soon as neither of the two would list the other.
            bound = max(weights[row, end], weights[other, end])
            total = 0.0
            for j in range(q):
                low = min(codes[row, j], codes[other, j])
                high = max(codes[row, j], codes[other, j])
                cost = interval_cost(model, j, low, high)
                total += cost
                if total >= bound:
                    break
            if total < weights[row, end]:
                _enlist(mates[row], weights[row], other, total)
            if total < weights[other, end]:
                _enlist(mates[other], weights[other], row, total)


@kernel
def _look_around(neighbours: Neighbours, row: int, rows: int, model: CostModel) -> None:
    """List the nearest of all `rows` rows anew for one of them; O(n q)."""
    codes, mates, weights = neighbours
    end = mates.shape[1] - 1
    mates[row] = NOTHING
    weights[row] = np.inf
    for other in range(rows):
        if other != row:
            weight = pair_weight(codes[row], codes[other], model, weights[row, end])
            if weight < weights[row, end]:
                _enlist(mates[row], weights[row], other, weight)


@kernel
def _renew(neighbours: Neighbours, rows: NDArray[np.int64], model: CostModel) -> None:
    """List the nearest rows of `rows` anew."""
    for row in rows:
        _look_around(neighbours, row, len(neighbours.mates), model)


def those_kept(neighbours: Neighbours, kept: NDArray[np.int64], model: CostModel) -> Neighbours:
    """Return the neighbours among the rows `kept`, int64, ascending; O(n q) for each that lost a listed one."""
    number = np.full(len(neighbours) + 1, NOTHING, np.int64)  # the last entry stands for no mate
    number[kept] = np.arange(len(kept))
    had = neighbours.mates[kept] != NOTHING
    mates = number[neighbours.mates[kept]]
    answer = Neighbours(neighbours.codes[kept], mates, neighbours.weights[kept])
    _renew(answer, np.flatnonzero((had & (mates == NOTHING)).any(axis=1)), model)
    return answer


@kernel
def cost_graph(codes: NDArray[np.int32], model: CostModel) -> NDArray[np.float64]:
    """Return the weights of the edges between all rows of codes int32[n, q]; float64[n, n], 0 on the diagonal."""
    n = len(codes)
    graph = np.zeros((n, n))
    for row in range(n):
        for other in range(row):
            graph[row, other] = pair_weight(codes[row], codes[other], model, np.inf)
            graph[other, row] = graph[row, other]
    return graph
