"""What every partitioner can do."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.columns import Columns
from stream_anon.privacy.criteria import Criteria

UNPLACED = -1


class Partitioner(Protocol):
    """Forms the classes of one window as its rows arrive.

    The conformance suite says what must hold: each row in exactly one class or unplaced, every class meets the
    criteria, the same rows and seed give the same classes, arrival in pieces equals arrival at once where
    `arrival_matters` is False, and `check_invariants` holds after each step.
    """

    arrival_matters: bool

    def add(self, rows: Columns) -> None:
        """Take rows into the open window."""
        ...

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Drop all rows but those marked; bool[n] over the rows taken so far."""
        ...

    def close(self, rows: Columns, criteria: Criteria) -> NDArray[np.int32]:
        """Return the class of each row, numbered from 0 without gaps, `UNPLACED` for rows without one.

        Parameters
        ----------
        rows
            All rows that were added and kept, in order.
        criteria
            What every class must meet.
        """
        ...

    def check_invariants(self) -> None:
        """Raise AssertionError if the structure is broken."""
        ...
