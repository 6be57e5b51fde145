"""Which topics are the input: those that are named, or all that fit a pattern, later ones included."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InputTopics:
    r"""The topics that a service reads.

    Parameters
    ----------
    names
        Topics that must exist.
    pattern
        A regular expression that fits whole names, instead of `names`.

    Examples
    --------
    >>> InputTopics(pattern=r"people\..*").among(["people.a", "old.people.a", "other"])
    ('people.a',)
    """

    names: tuple[str, ...] = ()
    pattern: str | None = None

    def holds(self, topic: str) -> bool:
        """Return whether a topic is an input."""
        return topic in self.names if self.pattern is None else re.fullmatch(self.pattern, topic) is not None

    def among(self, topics: Iterable[str]) -> tuple[str, ...]:
        """Return the inputs to read, in order: those named, or those of `topics` that fit the pattern."""
        if self.pattern is None:
            return self.names
        return tuple(sorted(topic for topic in topics if self.holds(topic)))

    def __str__(self) -> str:
        return ", ".join(self.names) if self.pattern is None else f"/{self.pattern}/"
