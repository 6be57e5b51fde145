"""Keep what producers can cause at will from flooding the log."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

MOST_LINES, WITHIN = 10, 60.0  # lines of one kind, in so many seconds


class FewLines:
    """Lets `MOST_LINES` lines through in a while, and counts the rest.

    Parameters
    ----------
    monotonic
        Returns seconds.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._written: deque[float] = deque(maxlen=MOST_LINES)
        self._untold = 0

    def untold(self) -> int | None:
        """Return how many lines were left out since the last one; None if another one must be left out."""
        now, written = self._monotonic(), self._written
        if len(written) == MOST_LINES and now - written[0] < WITHIN:
            self._untold += 1
            return None
        written.append(now)
        untold, self._untold = self._untold, 0
        return untold
