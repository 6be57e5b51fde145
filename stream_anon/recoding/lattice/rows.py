"""The rows under a lattice."""

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
