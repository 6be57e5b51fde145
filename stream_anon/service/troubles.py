"""Watch for outside causes of trouble: throttling, transactions left open on the ledger, clocks that are set."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from stream_anon.ports import Clock, ReleaseLedger
from stream_anon.service.events import ClockSet, LedgerHeld, Listener, Throttle, Throttled

LOOK_EVERY = 2.0  # seconds
THROTTLING_EVERY = 60.0  # seconds of throttling that one event adds up
HELD_AGAIN = 300.0  # seconds between two warnings of a ledger that is still held
STEP = 5.0  # seconds by which a clock is set; what is corrected within `LOOK_EVERY` is less, and not told
LONGEST = 3.0  # times the transaction's timeout: a working worker's transaction never stays open for as long


class Troubles:
    """Looks now and then, independently of what the worker does or waits for.

    Parameters
    ----------
    name
        The ledger's topic.
    throttled
        For each cause a function that returns its seconds so far.
    transaction_timeout
        Seconds that a worker's transaction may be open.
    """

    def __init__(
        self,
        ledger: ReleaseLedger,
        name: str,
        throttled: Mapping[Throttle, Callable[[], float]],
        transaction_timeout: float,
        clock: Clock,
        tell: Listener,
    ) -> None:
        self._ledger, self._name = ledger, name
        self._throttled = throttled
        self._warn_after = LONGEST * transaction_timeout
        self._clock, self._tell = clock, tell
        self._held = 0.0
        self._warned: float | None = None  # how long it had been held at the last warning
        self._since = clock.monotonic()
        self._drift = clock.wall() - self._since
        self._before = {cause: seconds() for cause, seconds in throttled.items()}

    async def watch(self, every: float = LOOK_EVERY) -> None:
        """Look until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(every)

    def look(self) -> None:
        """Tell what has changed since the last look."""
        self._look_at_ledger()
        self._look_at_clock()
        now = self._clock.monotonic()
        if now - self._since >= THROTTLING_EVERY:
            self._look_at_throttling(now - self._since)
            self._since = now

    def _look_at_ledger(self) -> None:
        before, self._held = self._held, self._ledger.held_seconds
        if self._held < before or not self._held:
            self._warned = None
        warns = self._held >= self._warn_after and (self._warned is None or self._held - self._warned >= HELD_AGAIN)
        if warns:
            self._warned = self._held
        if self._held or before:
            self._tell(LedgerHeld(self._name, self._held, warns))

    def _look_at_clock(self) -> None:
        before, self._drift = self._drift, self._clock.wall() - self._clock.monotonic()
        if abs(self._drift - before) > STEP:
            self._tell(ClockSet(self._drift - before))

    def _look_at_throttling(self, within: float) -> None:
        for cause, seconds in self._throttled.items():
            now = seconds()
            if now > self._before[cause]:
                self._tell(Throttled(cause, now - self._before[cause], within))
            self._before[cause] = now
