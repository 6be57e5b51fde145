"""What smaller windows would have lost: parts of a window, closed as if each had been one.

Nothing of it is published. A part is a stretch of rows in their order of arrival, as a window that closed earlier
would have held.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from stream_anon.engine.closing import Closer
from stream_anon.engine.partitioners import partitioners_by_draws
from stream_anon.engine.window import SealedWindow
from stream_anon.microdata.batch import Rejects
from stream_anon.microdata.columns import NO_VALUE
from stream_anon.microdata.policy import Policy
from stream_anon.windowing.loss_law import WindowLoss

PARTS = 2, 4
"""A half and a quarter of a window are closed."""


class PartLosses:
    """Closes parts of windows with the policy's engine, one at a time, in any thread.

    It has an engine of its own, with what that learns: it takes nothing from the one that publishes, and gives it
    nothing.

    Parameters
    ----------
    draws
        For the engine and the stretches; from the operating system's entropy wherever it matters.
    """

    def __init__(self, policy: Policy, draws: np.random.Generator) -> None:
        self._draws = draws
        self._partitioner = partitioners_by_draws(policy, draws)
        self._closer = Closer(policy)

    def of(self, window: SealedWindow, least: int) -> tuple[WindowLoss, ...]:
        """Return records and loss of a half and a quarter of a window, if they have `least` records.

        Takes about three quarters of the time of the window's own close.

        Parameters
        ----------
        window
            It may be closed already, and stays as it is.
        """
        return tuple(self._losses(window, least))

    def _losses(self, window: SealedWindow, least: int) -> Iterator[WindowLoss]:
        for part in PARTS:
            count = window.records // part
            if count < least:
                return
            first = int(self._draws.integers(window.records - count + 1))
            partitioner = self._partitioner(self._draws)
            stretch = _stretch(window, first, count)
            partitioner.add(stretch.columns)
            loss = self._closer.release(replace(stretch, partitioner=partitioner), self._draws).gcp
            if loss is not None:
                yield WindowLoss(count, loss)


def _stretch(window: SealedWindow, first: int, count: int) -> SealedWindow:
    """Return a window of `count` rows from `first` on, without what a loss does not depend on."""
    rows = window.columns.take(slice(first, first + count))
    people, individuals = np.unique(rows.individuals, return_inverse=True)
    values = (np.bincount(numbers[numbers != NO_VALUE]) for numbers in rows.sensitive)
    return replace(
        window,
        columns=replace(rows, individuals=individuals.astype(np.int32)),
        payload=range(count),
        rejects=Rejects.of([]),
        over_limit=round(window.over_limit * count / window.records),
        individuals=len(people),
        values=tuple(values),
    )
