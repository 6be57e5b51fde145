"""Let windows become as large as memory and time allow, and tell when that changes."""

from __future__ import annotations

import math
from collections.abc import Callable

from stream_anon.engine.engine import Engine
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.choices.window_limits import LEAST_AUTO
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.criteria import Criteria
from stream_anon.service.events import Durations, Listener, WindowsBounded
from stream_anon.windowing.bounds import LEAST_MEMORY, LearnedBound, WindowBound
from stream_anon.windowing.limits import time_to_close

CROWDS = 10  # windows are not made smaller than so many times the people of a class
FEW = 2  # memory closes no window that has fewer records than so many times the people it needs


class Bounding:
    """Keeps the engine's bound on windows; see `windowing.bounds`.

    Parameters
    ----------
    memory
        Bytes that what a window holds may take.
    within
        Seconds in which the broker must take a window.
    free
        Returns the bytes that this process may still use.
    """

    def __init__(
        self,
        engine: Engine,
        policy: Policy,
        memory: float,
        within: float,
        free: Callable[[], int],
        tell: Listener,
    ) -> None:
        self._engine, self._tell, self._within, self._free = engine, tell, within, free
        limits = policy.window
        self._to_close = time_to_close(limits.max_delay)
        people = Criteria.of(policy).least_people
        least = max(LEAST_AUTO, limits.least_people, CROWDS * people)
        most = WindowBound(limits.max_records, memory, FEW * max(limits.least_people, people))
        self._learned = LearnedBound(most, least, fixed=not limits.auto)
        self._follow("begun")

    @property
    def memory(self) -> float:
        """Return the bytes that what a window holds may take."""
        return self._learned.now.memory

    def sealed(self, window: SealedWindow) -> None:
        """Look whether there is memory to close a window."""
        if window.held > LEAST_MEMORY:
            self._learned.sealed(window.held, self._free())
            self._follow("memory")

    def published(self, window: SealedWindow, durations: Durations) -> None:
        """Note how long a window took that the broker took at once, and alone.

        The commit takes no longer for more records. So it has no say, but for what is left to it of either time.
        """
        sent = durations.publish - durations.commit
        closed = durations.release + durations.encode + sent
        self._learned.published(window.records, max(sent / self._within, closed / self._to_close))
        self._follow("time")

    def too_slow(self, window: SealedWindow) -> bool:
        """Note that a window was too large for its time; return whether its records would come in smaller ones."""
        fewer = self._learned.too_slow(window.records)
        self._follow("time")
        return fewer

    def _follow(self, reason: str) -> None:
        bound, before = self._learned.now, self._engine.bound
        if bound != before or reason == "begun":
            self._engine.bound = bound
            smaller = bound.records < before.records or bound.memory < before.memory
            memory = None if bound.memory == math.inf else int(bound.memory)
            self._tell(WindowsBounded(bound.records, memory, reason, smaller and reason != "begun"))
