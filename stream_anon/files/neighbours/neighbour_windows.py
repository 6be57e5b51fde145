"""Windows of neighbours: classes of rows that lie together on a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.files.anonymizing import SOURCE, Anonymization
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.choices.engine_choice import LearnedOrder
from stream_anon.microdata.choices.window_limits import AboveMost
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import SUPPRESSED, Release


class NeighbourRelease(NamedTuple):
    """What becomes of a window.

    Parameters
    ----------
    people
        int64[m], the individual of each released row, in their order.
    left
        The rows that are not released.
    """

    release: Release
    people: NDArray[np.int64]
    left: CodedBatch


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

    def release(self, batch: CodedBatch) -> NeighbourRelease:
        """Return what becomes of a window of at least one row, none of them beyond its individual's limit."""
        first, now = self._engine.position(SOURCE), self._clock.monotonic()
        numbered = replace(batch, offsets=np.arange(first, first + len(batch)), rejects=Rejects.of([]))
        self._engine.add(numbered, now)
        window = self._engine.seal(now)
        assert window is not None  # noqa: S101 - it has rows
        window, shuffle = self._drawn(window)
        release = self._closer.release(window, shuffle)
        rows = window.offsets - first
        left = np.flatnonzero(release.class_of_row == SUPPRESSED)
        return NeighbourRelease(release, batch.individuals[rows[release.order]], batch.take(rows[left]))


def without(release: Release, missing: Mapping[str, int]) -> Release:
    """Return a release without the rows that it suppresses, which lack so many values of each attribute."""
    return replace(release, suppressed={}, missing=Counter(release.missing) - Counter(missing))
