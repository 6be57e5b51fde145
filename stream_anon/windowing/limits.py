"""When a window closes: arithmetic on counts and times.

::

    oldest record                    0.9 d      1.0 d
    |----------------------------------|==========|
    opened                             due somewhere here, drawn anew for each window

A fixed age would tell when a lone record arrived: publication minus max_delay. So the limit is drawn. A window that
was held beyond it waits as much longer, counted from when it had enough people: else it would be published at the
moment at which the last of k people came.

A number of records needs no draw: a window that closes by it tells when its last record came, no matter whose it
is. That holds for `max_records`, and for a size that `target_loss` chose: it was fixed when the window opened.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.windowing.bounds import WindowBound

LEAST_AGE = 0.9
LEAST_REJECTS = 100_000  # and as many as four windows that somebody has chosen; a dead letter of each is written
MOST_LOSSES = 1_000  # a certificate names each
MOST_IGNORED = 2_000_000  # 15 bytes each; a table that is emptied sends two for each of its rows


@dataclass(frozen=True, slots=True)
class WindowTimer:
    """Counts and times of one window.

    Parameters
    ----------
    limits
        The policy's limits.
    age_limit
        Seconds after the arrival of its oldest record at which the window is due.
    bound
        What it holds at the most.
    size
        Records at which it closes, if these are fewer than its bound allows; None for no other bound.
    """

    limits: WindowLimits
    age_limit: float
    bound: WindowBound
    size: int | None = None

    @classmethod
    def draw(
        cls, limits: WindowLimits, draws: np.random.Generator, bound: WindowBound | None = None
    ) -> WindowTimer:
        """Return the timer of a new window, its age limit between 0.9 and 1 times max_delay.

        Without a `bound` the limits alone say what it holds.
        """
        bound = WindowBound(limits.max_records) if bound is None else bound
        return cls(limits, limits.max_delay * draws.uniform(LEAST_AGE, 1.0), bound)

    def sized(self, size: int | None) -> WindowTimer:
        """Return the timer with another size."""
        return replace(self, size=size)

    def room(self, admitted: int, held: int = 0) -> int:
        """Return how many more records the window admits; `held` are the bytes that it holds."""
        room = self.bound.room(admitted, held)
        return room if self.size is None else min(room, max(0, self.size - admitted))

    def expected(self, admitted: int, oldest: float, now: float, held: int = 0) -> int | None:
        """Return how many records the window will have admitted at its end, if they go on arriving as they did.

        None where its age says no end: it is held beyond its limit.
        """
        age = now - oldest
        if age >= self.age_limit:
            return None
        full = self.bound.expected(admitted, held)
        if self.size is not None:
            full = min(full, self.size)
        return full if age <= 0 else min(full, math.ceil(admitted * self.age_limit / age))

    def due_at(self, oldest: float, enough_since: float | None = None) -> float:
        """Return the time at which a window is due, given that its oldest record arrived at `oldest`.

        Parameters
        ----------
        enough_since
            When a window that may be held first had enough people; None if it may not be held.
        """
        due = oldest + self.age_limit
        if enough_since is None or enough_since <= due:
            return due
        return enough_since + self.age_limit - LEAST_AGE * self.limits.max_delay


def time_to_close(max_delay: float) -> float:
    """Return the seconds beyond `max_delay` in which a window is published in time."""
    return max(1.0, max_delay / 4)


def is_mature(oldest: float, now: float, limits: WindowLimits) -> bool:
    """Return whether a window is worth closing at shutdown: past half of its longest age.

    A younger one is abandoned and read again by the next owner, so that restarts cannot starve the output.
    """
    return now - oldest >= limits.max_delay / 2


def takes_more(limits: WindowLimits, rejected: int, ignored: int, losses: int) -> bool:
    """Return False while so many dead letters, ignored records or losses wait that no more may be read."""
    many = LEAST_REJECTS if limits.auto else max(LEAST_REJECTS, 4 * limits.max_records)
    return rejected < many and ignored < max(MOST_IGNORED, many) and losses < MOST_LOSSES
