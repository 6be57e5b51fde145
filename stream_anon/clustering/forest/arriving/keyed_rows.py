"""Rows along the learned order with their keys, so that later rows find their neighbours in it."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.arriving.late import key_places
from stream_anon.clustering.forest.ordering.order import KeyTable, ascending, line_keys


class Keyed(NamedTuple):
    """Rows along the learned order.

    Parameters
    ----------
    table
        The order.
    rows
        int64[n], from the least key to the greatest, equal ones by arrival.
    keys
        int64[2, n], theirs.
    """

    table: KeyTable
    rows: NDArray[np.int64]
    keys: NDArray[np.int64]

    @classmethod
    def of(cls, codes: NDArray[np.int32], rows: NDArray[np.int64], table: KeyTable) -> Self:
        """Return rows int64[n] with codes int32[q, n] along the order; O(n log n)."""
        keys = line_keys(codes, table)
        along = ascending(keys, table)
        return cls(table, rows[along], keys.take(along, axis=1))

    def places_of(self, others: Keyed) -> NDArray[np.int64]:
        """Return how many of these rows stand before each of the others; O(m log n)."""
        places = np.empty(len(others.rows), np.int64)
        key_places(self.keys, others.keys, places)
        return places

    def without(self, kept: NDArray[np.bool_], numbers: NDArray[np.int64]) -> Keyed:
        """Return the rows marked in bool[n or more], named by their new numbers."""
        stays = kept[self.rows]
        return Keyed(self.table, numbers[self.rows[stays]], self.keys.compress(stays, axis=1))

    def check_invariants(self) -> None:
        """Raise AssertionError if the rows do not stand in their order."""
        first, second = self.keys[:, :-1], self.keys[:, 1:]
        ascends = (first[0] < second[0]) | ((first[0] == second[0]) & (first[1] <= second[1]))
        assert ascends.all()  # noqa: S101 - no key is followed by a smaller one
        # Of equal keys the row that came first stands first, and no row stands twice.
        assert (self.rows[:-1][(first == second).all(axis=0)] < self.rows[1:][(first == second).all(axis=0)]).all()  # noqa: S101
        assert len(set(self.rows.tolist())) == len(self.rows)  # noqa: S101
