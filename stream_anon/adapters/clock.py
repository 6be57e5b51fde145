"""The machine's clocks: the only module that reads time."""

from __future__ import annotations

import time
from collections.abc import Callable

SET_BACK = 5.0
"""Seconds. A wall clock that falls back by less is being corrected; one that falls back by more was set."""


class SystemClock:
    """Read the machine's clocks.

    `monotonic` never falls: durations, ages and deadlines are measured with it. `wall` dates what is published. It
    stands still while a correction of a few seconds is made up for. Where the machine's clock was set back by more
    than `SET_BACK`, `wall` follows: brokers refuse records whose time lies too far ahead of theirs.

    Parameters
    ----------
    wall
        Returns seconds since 1970-01-01 UTC, as the machine has them.
    """

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._read_wall = wall
        self._monotonic = time.monotonic()
        self._wall = wall()

    def monotonic(self) -> float:
        """Return seconds since some fixed moment, at or after every earlier reading."""
        self._monotonic = max(self._monotonic, time.monotonic())
        return self._monotonic

    def wall(self) -> float:
        """Return seconds since 1970-01-01 UTC, below an earlier reading only after the clock was set back."""
        now = self._read_wall()
        if now > self._wall or now < self._wall - SET_BACK:
            self._wall = now
        return self._wall
