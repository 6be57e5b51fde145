"""Measure what published windows leak about people, attribute by attribute.

Only windows that were published are measured, at most one a minute of each worker. What is told of the released
records follows from these alone. What is told of the original ones is protected by noise, each time anew, and so it
is told once an hour only. Both are in `measures/window_leakage`, with what they promise.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.measures.boxes import boxes_of_classes
from stream_anon.measures.window_leakage.after import shares_after
from stream_anon.measures.window_leakage.before import least_told, shares_before
from stream_anon.measures.window_leakage.discrete_laplace import Below
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Classes, Release
from stream_anon.ports import Clock
from stream_anon.service.closing.sampling import Sampler
from stream_anon.service.events import Listener, WindowMeasured

SHARE = 0.02  # the most of the time that measurements may take
LEAST_SECONDS = 60.0  # between two measurements
PRIVATE_SECONDS = 3600.0  # between two that tell of original records

_Shares = NDArray[np.float64]


class LeakageSamples:
    """Measures published windows in a thread, and passes over windows while it rests.

    Parameters
    ----------
    below
        For the noise: `secrets.randbelow` wherever it matters.
    """

    def __init__(self, policy: Policy, clock: Clock, tell: Listener, below: Below) -> None:
        self._attributes = policy.quasi_identifiers
        self._most = policy.window.max_records
        self._needed = least_told(len(self._attributes), self._most)
        self._clock = clock
        self._tell = tell
        self._below = below
        self.sampler = Sampler(clock, SHARE, LEAST_SECONDS)
        self._private_until = -math.inf
        self._before: _Shares | None = None

    def take(self, window: SealedWindow, release: Release) -> None:
        """Measure a window that was published, unless nothing of it was released."""
        if release.released:
            measure = partial(self._measure, window.columns, release.classes, release.released)
            self.sampler.offer(measure, self._measured)

    def _measure(self, columns: Columns, classes: Classes, released: int) -> _Shares:
        # Only a published number and the time decide whether original records are looked at.
        now = self._clock.monotonic()
        if released >= self._needed and now >= self._private_until:
            self._private_until = now + PRIVATE_SECONDS
            found = shares_before(columns, self._most, self._below)
            self._before = self._before if found is None else found
        return shares_after(boxes_of_classes(self._attributes, classes))

    def _measured(self, after: _Shares | None, seconds: float) -> None:
        names = [attribute.name for attribute in self._attributes]
        before = [None] * len(names) if self._before is None else self._before.tolist()
        shares = () if after is None else zip(names, before, after.tolist(), strict=True)
        self._tell(WindowMeasured(tuple(shares), seconds))
