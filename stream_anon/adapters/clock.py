"""The machine's clocks: the only module that reads time."""

from __future__ import annotations

import time


class SystemClock:
    """Read the machine's clocks; neither reading ever falls below an earlier one.

    A wall clock that is set back stands still until it has caught up, so that no window closes before it opened.
    Durations are measured with `monotonic`; `wall` dates what is published.
    """

    def __init__(self) -> None:
        self._monotonic = time.monotonic()
        self._wall = time.time()

    def monotonic(self) -> float:
        """Return seconds since some fixed moment, at or after every earlier reading."""
        self._monotonic = max(self._monotonic, time.monotonic())
        return self._monotonic

    def wall(self) -> float:
        """Return seconds since 1970-01-01 UTC, at or after every earlier reading."""
        self._wall = max(self._wall, time.time())
        return self._wall
