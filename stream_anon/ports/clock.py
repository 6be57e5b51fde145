"""The time of day, and durations."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Reads time. Durations, ages and deadlines are measured with `monotonic`, for somebody may set `wall` back."""

    def monotonic(self) -> float:
        """Return seconds since some fixed moment, at or after every earlier reading."""
        ...

    def wall(self) -> float:
        """Return seconds since 1970-01-01 UTC, to date what is published."""
        ...
