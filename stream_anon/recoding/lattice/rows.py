"""The rows under a lattice, as a multiset: rows come, and the same rows may leave again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.batch import CodedBatch


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a table as columns.

    Parameters
    ----------
    codes
        int32[q, n], a row a quasi-identifier in policy order.
    individuals
        int64[n], equal for equal individuals.
    sensitive
        int64[s, n], equal for equal values, `MISSING_KEY` where there is none.
    """

    codes: NDArray[np.int32]
    individuals: NDArray[np.int64]
    sensitive: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.individuals)

    @classmethod
    def of(cls, batch: CodedBatch) -> Rows:
        """Return the rows of a batch."""
        return cls(batch.codes, batch.individuals, batch.sensitive)

    def take(self, rows: NDArray[np.intp] | slice) -> Rows:
        """Return the chosen rows."""
        return Rows(self.codes[:, rows], self.individuals[rows], self.sensitive[:, rows])


@dataclass(frozen=True, slots=True, eq=False)
class RowBag:
    """Distinct rows and how often each is there.

    Parameters
    ----------
    columns
        int64[q + 1 + s, m], ascending: quasi-identifiers, individual, sensitive values.
    counts
        int64[m], above 0.
    quasi_identifiers
        The number q.
    """

    columns: NDArray[np.int64]
    counts: NDArray[np.int64]
    quasi_identifiers: int

    @property
    def codes(self) -> NDArray[np.int64]:
        """Return int64[q, m]."""
        return self.columns[: self.quasi_identifiers]

    @property
    def individuals(self) -> NDArray[np.int64]:
        """Return int64[m]."""
        own: NDArray[np.int64] = self.columns[self.quasi_identifiers]
        return own

    @property
    def sensitive(self) -> NDArray[np.int64]:
        """Return int64[s, m]."""
        return self.columns[self.quasi_identifiers + 1 :]

    @classmethod
    def of(cls, rows: Rows) -> RowBag:
        """Return the bag of some rows; O(n log n)."""
        columns = np.concatenate([rows.codes, rows.individuals[None], rows.sensitive]).astype(np.int64)
        return _counted(columns, np.ones(len(rows), np.int64), len(rows.codes))

    def with_rows(self, other: RowBag) -> RowBag:
        """Return the rows of both."""
        return self._joined(other, 1)

    def without(self, other: RowBag) -> RowBag:
        """Return what is left when rows leave; ValueError if one of them is not there."""
        left = self._joined(other, -1)
        if (left.counts < 0).any():
            raise ValueError("rows to be removed are not there")
        return left

    def _joined(self, other: RowBag, sign: int) -> RowBag:
        columns = np.concatenate([self.columns, other.columns], axis=1)
        return _counted(columns, np.concatenate([self.counts, sign * other.counts]), self.quasi_identifiers)


def _counted(columns: NDArray[np.int64], counts: NDArray[np.int64], quasi_identifiers: int) -> RowBag:
    order = np.lexsort(columns[::-1])
    columns, counts = columns[:, order], counts[order]
    new = np.concatenate([[True], (columns[:, 1:] != columns[:, :-1]).any(axis=0)])
    starts = np.flatnonzero(new[: len(counts)])
    if len(starts):
        columns, counts = columns[:, starts], np.add.reduceat(counts, starts)
    there = counts != 0
    return RowBag(np.ascontiguousarray(columns[:, there]), counts[there], quasi_identifiers)
