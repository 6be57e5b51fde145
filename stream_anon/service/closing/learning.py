"""What the engine learns between windows: in a thread of its own, and in a small share of the time.

A study looks for a better order on the rows of a window that has closed. There is no end to it while the rows still
teach something, and on a busy topic the next window has always closed when one study ends: without a limit they
would take a third of a worker's processor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from stream_anon.ports import Clock
from stream_anon.service.threads import Abandonable

SHARE = 0.1  # of the time, at most, that may be spent on studies
_LONGEST_REST = 30.0  # seconds


class Studies:
    """Runs a study after another, at once while little time was spent on them, else later; nobody waits for it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rests_until = clock.monotonic()
        self._threads = Abandonable()
        self._one = threading.Lock()

    def __call__(self, work: Callable[[], None]) -> None:
        """Run `work` in a thread that ends with the process at the latest."""
        self._threads.submit(self._run, work)

    def _run(self, work: Callable[[], None]) -> None:
        with self._one:
            rest = self._rests_until - self._clock.monotonic()
            if rest > 0:
                threading.Event().wait(rest)
            begun = self._clock.monotonic()
            try:
                work()
            finally:
                now = self._clock.monotonic()
                self._rests_until = now + min((now - begun) * (1 / SHARE - 1), _LONGEST_REST)
