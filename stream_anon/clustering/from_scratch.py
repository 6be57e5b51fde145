"""What partitioners share that do their work when the window closes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.legality import is_legal, within_share
from stream_anon.clustering.partitioning import UNKNOWN, UNPLACED, Outlook
from stream_anon.clustering.rules import Rules, rules_of
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.criteria import Criteria


class Placement(NamedTuple):
    """The rows of a window that get a class, and what its classes must meet.

    Parameters
    ----------
    chosen
        int64[m], their places in the window, ascending.
    rows
        The same rows.
    """

    chosen: NDArray[np.int64]
    rows: Columns
    rules: Rules


def placement_of(rows: Columns, criteria: Criteria) -> Placement | None:
    """Return the rows that may be one class, each individual's first ones; None if they may not."""
    chosen = within_share(rows.individuals, criteria.max_share)
    part = rows.take(chosen) if len(chosen) < len(rows) else rows
    rules = rules_of(part, criteria)
    legal = len(part) >= rules.k and (rules.each_once or is_legal(np.arange(len(part)), rules))
    return Placement(chosen, part, rules) if legal else None


class AtTheEnd:
    """Counts rows as they arrive, and does nothing else before the window closes."""

    def __init__(self) -> None:
        self._count = 0

    @property
    def arrival_matters(self) -> bool:
        """Whether anything but the rows that are there at the end has a part in the classes."""
        return False

    def add(self, rows: Columns, outlook: Outlook = UNKNOWN) -> None:  # noqa: ARG002 - nothing is prepared
        """Take rows into the open window."""
        self._count += len(rows)

    def keep(self, kept: NDArray[np.bool_], rows: Columns) -> None:  # noqa: ARG002 - a count will do
        """Drop all rows but those marked."""
        self._count = len(rows)

    def preparation(self) -> Callable[[], None] | None:
        """Return None: there is nothing to prepare."""
        return None

    def check_invariants(self) -> None:
        """Raise AssertionError if the structure is broken."""
        assert self._count >= 0  # noqa: S101 - the only state is a count

    def _unplaced(self, rows: Columns) -> NDArray[np.int32]:
        """Return an answer in which no row has a class; ValueError for other rows than those that were counted."""
        if len(rows) != self._count:
            raise ValueError("close() must see the rows that were added and kept")
        return np.full(len(rows), UNPLACED, np.int32)


class FromScratch(AtTheEnd, ABC):
    """Partitions the rows that can be placed at all when the window closes."""

    def close(self, rows: Columns, criteria: Criteria) -> NDArray[np.int32]:
        """Return the class of each row; see `Partitioner`."""
        answer = self._unplaced(rows)
        placement = self._placement(rows, criteria)
        if placement is not None:
            self.look_at(placement.rows, placement.rules)
            answer[placement.chosen] = self.partition(placement.rows, placement.rules)
        return answer

    def _placement(self, rows: Columns, criteria: Criteria) -> Placement | None:
        """Return the rows that get a class."""
        return placement_of(rows, criteria)

    def look_at(self, rows: Columns, rules: Rules) -> None:
        """Learn from the rows of a window, before all of them or parts of them are partitioned."""

    @abstractmethod
    def partition(self, rows: Columns, rules: Rules) -> NDArray[np.int32]:
        """Return the class of each row, numbered from 0 without gaps; all rows together are legal as one class."""
