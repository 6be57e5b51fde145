"""Windows of neighbours: classes of rows that lie together on a line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.files.anonymizing import SOURCE, Anonymization
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.policy import AboveMost, LearnedOrder, Policy
from stream_anon.microdata.release import Release


class NeighbourWindows(Anonymization):
    """Closes windows that are given whole; the table that they are of is certified, and not each of them.

    Parameters
    ----------
    policy
        The table's. How many of its records may be suppressed is asked of the table.
    order
        What the line was learned as: a window of neighbours teaches less.
    """

    def __init__(self, policy: Policy, order: LearnedOrder) -> None:
        engine = replace(policy.engine, order=order) if policy.engine.name == "forest" else policy.engine
        own = replace(policy, engine=engine, max_suppressed=None, above_max_suppressed=AboveMost.PUBLISH)
        super().__init__(own)

    def release(self, batch: CodedBatch) -> tuple[Release, NDArray[np.int64]]:
        """Return what becomes of a window, and the individual of each released row, int64[m], in their order.

        Parameters
        ----------
        batch
            At least one row, none of them beyond its individual's limit.
        """
        first, now = self._engine.position(SOURCE), self._clock.monotonic()
        numbered = replace(batch, offsets=np.arange(first, first + len(batch)), rejects=Rejects.of([]))
        self._engine.add(numbered, now)
        window = self._engine.seal(now)
        assert window is not None  # noqa: S101 - it has rows
        window, shuffle = self._drawn(window)
        release = self._closer.release(window, shuffle)
        return release, batch.individuals[window.offsets[release.order] - first]
