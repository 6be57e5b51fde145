"""The time of day, and durations."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Reads time; neither reading ever falls below an earlier one. Durations are measured with `monotonic`."""

    def monotonic(self) -> float:
        """Return seconds since some fixed moment."""
        ...

    def wall(self) -> float:
        """Return seconds since 1970-01-01 UTC, to date what is published."""
        ...
