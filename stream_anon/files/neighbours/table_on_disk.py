"""Rows of a table on the disk, released in windows of neighbours along a line."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.entropy import fresh_draws
from stream_anon.clustering.forest.ordering.digits import Digits
from stream_anon.clustering.forest.ordering.order import key_table
from stream_anon.clustering.forest.ordering.order_file import order_of
from stream_anon.engine.closing import missing_by_name
from stream_anon.engine.sealed_window import missing_counts
from stream_anon.files.neighbours.neighbour_windows import NeighbourWindows, without
from stream_anon.files.neighbours.scattered import Scattered
from stream_anon.files.neighbours.sorted_runs import SortedRuns
from stream_anon.files.neighbours.united import UnitedClasses, Untaken
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.choices.engine_choice import LearnedOrder
from stream_anon.microdata.payload import taken
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.release import Suppression

_MOST_LEFT = 0.1  # of a window's rows, for the next one: more are left over for another reason, as many as come


class TableOnDisk:
    """Takes batches, and gives their rows in classes and heaps.

    Parameters
    ----------
    policy
        The table's.
    order
        What the line was learned as.
    """

    def __init__(self, policy: Policy, order: LearnedOrder) -> None:
        own = policy.quasi_identifiers
        self._policy, self._order = policy, order
        self._runs = SortedRuns(key_table(Digits.of(own), order_of(order, own)))
        self._rejects = [Rejects.of([])]
        self._suppressed: Counter[Suppression] = Counter()
        self._missing = np.zeros(len(own) + len(policy.passed), np.int64)
        self._end = 0

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, batch: CodedBatch, over: NDArray[np.bool_]) -> None:
        """Write the rows of a batch to the disk.

        Parameters
        ----------
        over
            bool[n], rows beyond their individual's limit: they are suppressed.
        """
        ends = (int(part.max()) + 1 for part in (batch.offsets, batch.rejects.offsets) if len(part))
        self._end = max(self._end, *ends, 0)
        self._rejects.append(batch.rejects)
        if over.any():
            beyond = batch.take(np.flatnonzero(over))
            self._suppressed[Suppression.OVER_LIMIT] += len(beyond)
            self._missing += missing_counts(self._policy, beyond.codes, beyond.payload)
            batch = batch.take(np.flatnonzero(~over))
        if len(batch):
            self._runs.add(batch)

    @property
    def untaken(self) -> Untaken:
        """Return what no window takes."""
        return Untaken(self._suppressed, self._missing, Rejects.concatenate(self._rejects), self._end)

    def release(self, windows: int, heaps: int) -> tuple[UnitedClasses, Scattered]:
        """Return the classes of all rows, formed in so many windows, and the released rows in so many heaps."""
        policy = self._policy
        scattered, united = Scattered(heaps, fresh_draws()), UnitedClasses()
        closing = NeighbourWindows(policy, self._order)
        last = min(windows, len(self))
        left: CodedBatch | None = None
        for number, stretch in enumerate(self._runs.stretches(windows), 1):
            release, people, rest = closing.release(
                stretch if left is None else CodedBatch.concatenate([left, stretch])
            )
            left = None
            # At the end of a window some rows find too few neighbours. The next window has them.
            few = 0 < len(rest) <= len(stretch) * _MOST_LEFT
            if few and number < last and not release.gate_violations:
                left = rest
                absent = missing_counts(policy, rest.codes, rest.payload)
                release = without(release, missing_by_name(policy, absent))
            classes = united.add(release, None if policy.individual == EVERY_RECORD else people)
            scattered.add(classes, taken(release.payload, release.order))
        self._runs.close()
        return united, scattered
