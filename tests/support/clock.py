"""Clocks that stand still until a test moves them, or that every look moves."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from stream_anon.adapters.clock import SystemClock


class FakeClock(SystemClock):
    """Time as a test says; `monotonic` and the machine's time of day move together, unless that is set."""

    def __init__(self, start: float = 1000.0, wall: float = 1_700_000_000.25) -> None:
        self._now = start
        self._offset = wall - start
        super().__init__(lambda: self._now + self._offset)

    def monotonic(self) -> float:
        return self._now

    def set_wall(self, seconds: float) -> None:
        """Set the time of day ahead, or back."""
        self._offset += seconds

    def advance(self, seconds: float) -> None:
        assert seconds >= 0, "time never runs backwards"
        self._now += seconds


def ticking(step: float) -> Callable[[], float]:
    """Return a clock on which so many seconds pass from one look to the next."""
    return count(0.0, step).__next__
