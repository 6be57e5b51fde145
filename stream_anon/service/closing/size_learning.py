"""Learn from published windows at how many records the next ones meet the target of loss.

::

    published: records, loss ──────────────┐
    a half, a quarter of them: loss ───────┴──▶ law ──▶ size of the windows that open from now on

Halves and quarters are closed in a thread, by an engine that publishes nothing, in a share of the time of their
own: they take nothing from the audits. A record that was not published has no part in any of it. Nothing of an open
window decides anything but its counts of records and people, and its age; it keeps the size that it opened with.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from stream_anon.engine.part_losses import PartLosses, loss_of, part_sizes
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.ports import Clock
from stream_anon.service.closing.sampling import Sampler
from stream_anon.service.events import Listener, SizesLearned, WindowStudied
from stream_anon.windowing.loss_law import WindowLoss
from stream_anon.windowing.target_size import TargetSize

SHARE = 0.01  # the most of the time that studies of halves and quarters may take
PAUSE = 30.0
"""Seconds between two of these studies, at the least."""
_SHORTEST = 1e-3  # seconds that a window is taken to have been open, if it was filled at once


class SizeLearning:
    """Listens to what was published, and tells which sizes follow.

    Parameters
    ----------
    size
        Learns; the engine asks it.
    draws
        Choose halves and quarters and close them; apart from those of what is published.
    """

    def __init__(
        self,
        policy: Policy,
        size: TargetSize,
        draws: np.random.Generator,
        clock: Clock,
        tell: Listener,
    ) -> None:
        self._max_delay = policy.window.max_delay
        self._size = size
        self._parts = PartLosses(policy, draws)
        self.sampler = Sampler(clock, SHARE, PAUSE)
        self._tell = tell
        self._by_delay = policy.window.max_records

    def begin(self, window: WindowLoss) -> None:
        """Begin with the window that was published last, before this worker ran."""
        self._size.published(window)

    def take(self, window: SealedWindow, release: Release) -> None:
        """Learn from a window that was published; study its parts, if it has any and it is time."""
        loss = loss_of(release)
        if loss is None:
            return
        age = max(window.closed_at - window.opened_at, _SHORTEST)
        self._by_delay = round(window.records / age * self._max_delay)
        before = self._size.in_use
        self._size.published(loss)
        self._tell_sizes(before)
        if part_sizes(loss.records, self._size.least):
            self.sampler.offer(partial(self._parts.of, window, release, self._size.least), self._studied)

    def _studied(self, parts: tuple[WindowLoss, ...] | None, seconds: float) -> None:
        self._tell(WindowStudied(seconds, broke_off=parts is None))
        before = self._size.in_use
        self._size.learn(parts or ())
        self._tell_sizes(before)

    def _tell_sizes(self, before: int) -> None:
        if self._size.needed is not None:
            self._tell(SizesLearned(self._size.needed, self._by_delay, self._size.in_use, before))
