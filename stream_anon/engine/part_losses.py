"""What smaller windows would have lost: parts of a window, closed as if each had been one.

Nothing of it is published. A part is drawn from the rows that were published, wherever they stand: neither the
order of arrival nor a suppressed record has a say. A window that closed earlier would have held neighbours in time,
so data with time in it is judged a little worse than it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.closing import Closer
from stream_anon.engine.partitioners import partitioners_by_draws
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.batch import Rejects
from stream_anon.microdata.columns import NO_VALUE
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
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
        For the engine and the parts; from the operating system's entropy wherever it matters.
    """

    def __init__(self, policy: Policy, draws: np.random.Generator) -> None:
        self._draws = draws
        self._partitioner = partitioners_by_draws(policy, draws)
        self._closer = Closer(policy)

    def of(self, window: SealedWindow, release: Release, least: int) -> tuple[WindowLoss, ...]:
        """Return published records and their loss of a half and a quarter of a window; see `part_sizes`.

        Takes about three quarters of the time of the window's own close. A part of which nothing would have been
        published is left out.

        Parameters
        ----------
        window
            It may be closed already, and stays as it is.
        release
            What became of it, row by row.
        """
        rows = np.flatnonzero(release.class_of_row >= 0)
        parts = (self._draws.choice(rows, size, replace=False) for size in part_sizes(len(rows), least))
        return tuple(loss for part in parts if (loss := self._loss(window, part)) is not None)

    def _loss(self, window: SealedWindow, rows: NDArray[np.int64]) -> WindowLoss | None:
        partitioner = self._partitioner(self._draws)
        part = _part(window, rows)
        partitioner.add(part.columns)
        return loss_of(self._closer.release(replace(part, partitioner=partitioner), self._draws))


def part_sizes(released: int, least: int) -> tuple[int, ...]:
    """Return the rows of each part of a window of so many published rows: those that have `least` or more."""
    return tuple(size for part in PARTS if (size := released // part) >= least)


def loss_of(release: Release) -> WindowLoss | None:
    """Return the published records of a release and their loss; None without any."""
    return WindowLoss.of_published(release.gcp, release.released, sum(release.suppressed.values()))


def _part(window: SealedWindow, chosen: NDArray[np.int64]) -> SealedWindow:
    """Return a window of the chosen rows, without what a loss does not depend on."""
    rows = window.columns.take(chosen)
    people, individuals = np.unique(rows.individuals, return_inverse=True)
    values = (np.bincount(numbers[numbers != NO_VALUE]) for numbers in rows.sensitive)
    return replace(
        window,
        columns=replace(rows, individuals=individuals.astype(np.int32)),
        payload=range(len(chosen)),
        rejects=Rejects.of([]),
        over_limit=0,
        returning=0,
        counted={},
        individuals=len(people),
        values=tuple(values),
    )
