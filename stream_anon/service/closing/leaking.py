"""Measure what published windows leak about people, attribute by attribute.

Only windows that were published are measured, at most one a minute of each worker: more figures would tell an
operator no more, and each one tells a little of the window's people. What may be told, and of which windows, is
decided in `measures/window_leakage.py`.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from stream_anon.engine.window import SealedWindow
from stream_anon.measures.window_leakage import WindowLeakage, is_told, window_leakage
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.ports import Clock
from stream_anon.service.closing.sampling import Sampler
from stream_anon.service.events import Listener, WindowMeasured

SHARE = 0.02  # the most of the time that measurements may take
LEAST_SECONDS = 60.0  # between two measurements


class LeakageSamples:
    """Measures published windows in a thread, and passes over windows while it rests.

    Parameters
    ----------
    draws
        For the noise; from the operating system's entropy wherever it matters.
    """

    def __init__(self, policy: Policy, clock: Clock, tell: Listener, draws: np.random.Generator) -> None:
        self._attributes = policy.quasi_identifiers
        self._tell = tell
        self._draws = draws
        self._sampler = Sampler(clock, SHARE, LEAST_SECONDS)

    def take(self, window: SealedWindow, release: Release) -> None:
        """Measure a window that was published, unless nothing of it was released or it has too few people."""
        if release.released and is_told(len(self._attributes), window.individuals):
            unpublished = window.records - release.released
            measure = partial(
                window_leakage, self._attributes, window.columns, release.classes, unpublished, self._draws
            )
            self._sampler.offer(measure, self._measured)

    def _measured(self, found: WindowLeakage | None, seconds: float) -> None:
        names = [attribute.name for attribute in self._attributes]
        shares = () if found is None else zip(names, found.before.tolist(), found.after.tolist(), strict=True)
        self._tell(WindowMeasured(tuple(shares), seconds))

    def stop(self) -> None:
        """Stop without waiting; a thread that still computes ends with the process at the latest."""
        self._sampler.stop()
