"""Learn from published windows at how many records the next ones meet the target of loss.

::

    published: records, loss ──────────────┐
    a half, a quarter of it: loss ─────────┴──▶ law ──▶ size of the windows that open from now on

Halves and quarters are closed in a thread, by an engine that publishes nothing, in the audits' share of the time.
Of the open window nothing is looked at: it keeps the size that it opened with.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from stream_anon.engine.part_losses import PartLosses
from stream_anon.engine.window import SealedWindow
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.ports import Clock
from stream_anon.service.closing.sampling import Sampler
from stream_anon.service.events import Listener, SizesLearned, WindowStudied
from stream_anon.windowing.loss_law import WindowLoss
from stream_anon.windowing.target_size import TargetSize

PAUSE = 30.0
"""Seconds between two studies of halves and quarters, at the least: most of the share is the audits'."""
_SHORTEST = 1e-3  # seconds that a window is taken to have been open, if it was filled at once


class SizeLearning:
    """Listens to what was published, and tells which sizes follow.

    Parameters
    ----------
    size
        Learns; the engine asks it.
    draws
        Choose halves and quarters and close them; apart from those of what is published.
    sampler
        Gives time for it, together with the audits.
    """

    def __init__(
        self,
        policy: Policy,
        size: TargetSize,
        draws: np.random.Generator,
        sampler: Sampler,
        clock: Clock,
        tell: Listener,
    ) -> None:
        self._max_delay = policy.window.max_delay
        self._size = size
        self._parts = PartLosses(policy, draws)
        self._sampler = sampler
        self._clock = clock
        self._tell = tell
        self._again = clock.monotonic()
        self._by_delay = policy.window.max_records

    def begin(self, window: WindowLoss) -> None:
        """Begin with the window that was published last, before this worker ran."""
        self._size.published(window)

    def take(self, window: SealedWindow, release: Release) -> None:
        """Learn from a window that was published; study its parts, if it is time."""
        if release.gcp is None or not window.records:
            return
        age = max(window.closed_at - window.opened_at, _SHORTEST)
        self._by_delay = round(window.records / age * self._max_delay)
        before = self._size.in_use
        self._size.published(WindowLoss(window.records, release.gcp))
        self._tell_sizes(before)
        if self._clock.monotonic() < self._again:
            return
        if self._sampler.offer(partial(self._parts.of, window, self._size.least), self._studied):
            self._again = self._clock.monotonic() + PAUSE

    def _studied(self, parts: tuple[WindowLoss, ...] | None, seconds: float) -> None:
        self._tell(WindowStudied(seconds, broke_off=parts is None))
        before = self._size.in_use
        self._size.learn(parts or ())
        self._tell_sizes(before)

    def _tell_sizes(self, before: int) -> None:
        if self._size.needed is not None:
            self._tell(SizesLearned(self._size.needed, self._by_delay, self._size.in_use, before))
