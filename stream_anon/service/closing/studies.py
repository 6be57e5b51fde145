"""Learning between windows, in a thread of its own and a small share of the time.

A study looks for a better order on the rows of a closed window. It goes on while the rows still teach something,
and on a busy topic the next window is closed before a study ends. Without a limit, studies would take a third of a
worker's processor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from stream_anon.ports import Clock
from stream_anon.service.closing.sampling import Ration
from stream_anon.service.threads import Abandonable

SHARE = 0.1  # the most of the time that studies may take
_LONGEST_REST = 30.0  # seconds


class Studies:
    """Runs one study at a time, with rests after long ones; nobody waits for it."""

    def __init__(self, clock: Clock) -> None:
        self._ration = Ration(clock, SHARE, longest=_LONGEST_REST)
        self._threads = Abandonable()
        self._one = threading.Lock()

    def __call__(self, work: Callable[[], None]) -> None:
        """Run `work` in a thread that ends with the process at the latest."""
        self._threads.submit(self._run, work)

    def _run(self, work: Callable[[], None]) -> None:
        with self._one:
            rest = self._ration.rest
            if rest > 0:
                threading.Event().wait(rest)
            begun = self._ration.begin()
            try:
                work()
            finally:
                self._ration.end(begun)
