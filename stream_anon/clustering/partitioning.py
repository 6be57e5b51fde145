"""What every partitioner can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.columns import Columns
from stream_anon.privacy.criteria import Criteria

UNPLACED = -1
TOO_HIGH = -2


@dataclass(frozen=True, slots=True)
class Outlook:
    """How near the end of a window is, as far as can be told when rows arrive.

    Parameters
    ----------
    expected
        Rows that the window will hold at its end; None while nobody can tell.
    rate
        Rows per second; infinite where no time passes between them.
    at_once
        Rows that came together the last time.
    """

    expected: int | None = None
    rate: float = float("inf")
    at_once: int = 0


UNKNOWN = Outlook()


class Partitioner(Protocol):
    """Forms the classes of one window as its rows arrive.

    The conformance suite says what must hold: each row in exactly one class or unplaced, every class meets the
    criteria, the same rows and seed give the same classes, arrival in pieces equals arrival at once, and
    `check_invariants` holds after each step.
    """

    @property
    def arrival_matters(self) -> bool:
        """Whether rows that left, or work that was prepared before other rows arrived, affect the classes."""
        ...

    def add(self, rows: Columns, outlook: Outlook = UNKNOWN) -> None:
        """Take zero or more rows into the open window, with the outlook after them; must be fast."""
        ...

    def keep(self, kept: NDArray[np.bool_], rows: Columns) -> None:
        """Drop all rows but those marked; must not take long.

        Parameters
        ----------
        kept
            bool[n] over the rows taken so far.
        rows
            Those that stay, in order, their individuals and values numbered anew without gaps.
        """
        ...

    def preparation(self) -> Callable[[], None] | None:
        """Return work that may be done now, or None.

        It may be called once, in any thread, while rows go on arriving or the window closes: it works on what was
        there. If it is left undone, the close takes longer and gives the same classes or similar ones.
        Ask again when it has ended.
        """
        ...

    def close(self, rows: Columns, criteria: Criteria) -> NDArray[np.int32]:
        """Return the class of each row, numbered from 0 without gaps.

        Rows without one are `UNPLACED`, or `TOO_HIGH` where a class would need a higher level than is allowed.

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
