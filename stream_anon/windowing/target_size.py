"""How many records a window needs to meet a target of loss, learned from windows that were published.

The size follows from the published records alone, from their number and their loss: what is suppressed has no part
in it. It is rounded up to steps of an eighth, and it falls by two steps or more at a time: so it does not go to and
fro, and one record of a published window hardly ever moves it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.windowing.loss_law import LossLaw, WindowLoss

LEAST_CROWDS = 10
"""A window is no smaller than so many times the people of a class, however little it would lose."""
_STEPS = 20  # sizes in a decade: each is 12 % above the one before
_STEADY = 1.5  # steps by which the size in use must be too large before it falls
_MOST_NEEDED = 10**9
_FORGETTING = 0.7  # weight of a window when the next one is published: a drift is followed within five
_KEPT = 64


class TargetSize:
    """Says after how many records a window closes.

    Parameters
    ----------
    target
        The most loss of published records, above 0 and below 1.
    least, most
        Bounds on the size in use, the lower one no higher than the other. Before any window was published the
        size is `most`.
    """

    def __init__(self, target: float, least: int, most: int) -> None:
        self._target = target
        self.least, self._most = min(least, most), most
        self._seen: deque[tuple[WindowLoss, int]] = deque(maxlen=_KEPT)  # with the windows published before it
        self._published = 0
        self.in_use = most
        self.needed: int | None = None  # for the target, whatever the bounds; None before any window was published

    @classmethod
    def of(cls, limits: WindowLimits, people: int) -> TargetSize | None:
        """Return the size of a service's windows; None where there is no target.

        Parameters
        ----------
        people
            Individuals of whom there is a class, at the least.
        """
        if limits.target_loss is None:
            return None
        return cls(limits.target_loss, max(LEAST_CROWDS * people, limits.least_people), limits.max_records)

    def published(self, window: WindowLoss) -> None:
        """Learn from a window that was published; those before it count for less from now on."""
        self._published += 1
        self.learn([window])

    def learn(self, windows: Iterable[WindowLoss]) -> None:
        """Learn from parts of the window that was published last, closed as if each were a window."""
        self._seen.extend((window, self._published) for window in windows if window.records > 0)
        if self._seen:
            self._settle()

    def _settle(self) -> None:
        weights = [_FORGETTING ** (self._published - number) for _, number in self._seen]
        law = LossLaw.fit([window for window, _ in self._seen], weights)
        self.needed = _rounded_up(law.records(self._target))
        # A law is trusted down to a tenth of what was seen: the next window then shows more.
        trusted = _rounded_up(min(window.records for window, _ in self._seen) / 10)
        asked = min(max(self.needed, trusted, self.least), self._most)
        if asked > self.in_use or asked * 10 ** (_STEADY / _STEPS) <= self.in_use:
            self.in_use = asked


def _rounded_up(records: float) -> int:
    """Return the next of the sizes that are steps apart."""
    step = math.ceil(_STEPS * math.log10(max(records, 1.0)) - 1e-9)
    return min(math.ceil(10 ** (step / _STEPS) - 1e-9), _MOST_NEEDED)
