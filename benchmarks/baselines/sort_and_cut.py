"""The plain line: rows sorted along the learned order and cut optimally, without a forest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.forest import following_of
from stream_anon.clustering.forest.line.cut import cut_line
from stream_anon.clustering.forest.line.points import points_of
from stream_anon.clustering.forest.ordering.current_order import OrderBook
from stream_anon.clustering.forest.ordering.order import line_order
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.costs.model import CostModel

_LONGEST = 64  # times k, where individuals have several rows


def sort_and_cut(rows: Columns, book: OrderBook, model: CostModel, k: int) -> NDArray[np.int32]:
    """Return the class of each row; -1 for all where no cut leaves k individuals in each."""
    n = len(rows)
    order = line_order(rows.codes, book.table)
    points, starts = points_of(rows.codes, order)
    point_of = np.repeat(np.arange(len(points)), np.diff(starts))
    once = int(rows.individuals.max(initial=-1)) + 1 == n
    following = np.full(n, n) if once else following_of(rows.individuals[order])
    longest = 2 * k - 1 if once else _LONGEST * k
    ends = cut_line(points, point_of, following, model, k, longest, np.empty(n + 1), None)
    answer = np.full(n, -1, np.int32)
    answer[order] = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0)) if len(ends) else -1
    return answer
