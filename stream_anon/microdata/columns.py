"""The columns of an open window: codes and dense numbers, grown as batches arrive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_VALUE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Rows as columns of small integers.

    Parameters
    ----------
    codes
        int32[q, n], a row a quasi-identifier.
    individuals
        int32[n], dense numbers from 0.
    sensitive
        int32[s, n], a row a sensitive attribute with a criterion, dense numbers from 0, `NO_VALUE` where it is
        missing.
    """

    codes: NDArray[np.int32]
    individuals: NDArray[np.int32]
    sensitive: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.individuals)

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Columns:
        """Return the chosen rows."""
        return Columns(
            np.ascontiguousarray(self.codes[:, rows]),
            self.individuals[rows],
            np.ascontiguousarray(self.sensitive[:, rows]),
        )

    @classmethod
    def empty(cls, quasi_identifiers: int, sensitive: int) -> Columns:
        """Return columns without a row."""
        return cls(
            np.empty((quasi_identifiers, 0), np.int32), np.empty(0, np.int32), np.empty((sensitive, 0), np.int32)
        )

    @classmethod
    def concatenate(cls, parts: list[Columns]) -> Columns:
        """Return the rows of all parts in order."""
        return cls(
            np.concatenate([part.codes for part in parts], axis=1),
            np.concatenate([part.individuals for part in parts]),
            np.concatenate([part.sensitive for part in parts], axis=1),
        )
