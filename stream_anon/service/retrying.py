"""Wait for a broker: growing pauses, and one word when it goes and one when it is back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from stream_anon.errors import BrokerError
from stream_anon.service.events import Away, BrokerAway, BrokerBack, Listener, ReadinessChanged

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0
CAUSE_EVERY = 10.0  # seconds: how often at most another cause of the same absence is told

_T = TypeVar("_T")


@dataclass
class _Absence:
    since: float
    error: str  # the cause that was told last
    told: float
    attempts: int = 0


class Reachability:
    """Says once that the broker is away and once that it is back, for each thing that was tried.

    While something stays undone for another cause than was told, it says so again: a broker that has returned may
    refuse.

    Parameters
    ----------
    monotonic
        Returns seconds.
    tell
        Hears of it, and of readiness: ready is who has joined and misses nothing.
    """

    def __init__(self, monotonic: Callable[[], float], tell: Listener) -> None:
        self._monotonic = monotonic
        self._tell = tell
        self._absences: dict[Away, _Absence] = {}
        self._joined = False
        self._ready = False

    def joined(self) -> None:
        """Take note that the first takeover is done."""
        self._joined = True
        self._judge("")

    def away(self, doing: Away, error: str) -> None:
        """Take note that something could not be done."""
        absence, now = self._absences.get(doing), self._monotonic()
        if absence is None:
            absence = self._absences[doing] = _Absence(now, error, now)
            self._tell(BrokerAway(doing, error))
        elif error != absence.error and now - absence.told >= CAUSE_EVERY:
            absence.error, absence.told = error, now
            self._tell(BrokerAway(doing, error, again=True))
        absence.attempts += 1
        self._judge(f"broker away while {doing.value}")

    def back(self, doing: Away) -> None:
        """Take note that it could be done."""
        absence = self._absences.pop(doing, None)
        if absence is not None:
            self._tell(BrokerBack(doing, self._monotonic() - absence.since, absence.attempts))
        self._judge("starting")

    def _judge(self, reason: str) -> None:
        ready = self._joined and not self._absences
        if ready != self._ready:
            self._ready = ready
            self._tell(ReadinessChanged(ready, "" if ready else reason))


class Pauses:
    """Pauses that double, ended early by `stop`; short ones after it.

    Parameters
    ----------
    stop
        The worker's wish to leave.
    """

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop
        self._next = FIRST_PAUSE

    async def pause(self) -> None:
        """Wait, longer every time."""
        seconds, self._next = self._next, min(2 * self._next, LONGEST_PAUSE)
        if self._stop.is_set():  # whoever still tries then must not do it without a pause
            await asyncio.sleep(FIRST_PAUSE)
            return
        try:
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        except TimeoutError:
            return

    def relax(self) -> None:
        """Begin with short pauses again."""
        self._next = FIRST_PAUSE


class Patience(Pauses):
    """Pauses, and work that a stop may cut short.

    Parameters
    ----------
    reachability
        Hears of what fails and of what works again.
    """

    def __init__(self, stop: asyncio.Event, reachability: Reachability) -> None:
        super().__init__(stop)
        self._reachability = reachability

    async def persist(self, doing: Away, step: Callable[[], Awaitable[object]], *, settles: bool = True) -> bool:
        """Try until it works; return False if the stop came first.

        Parameters
        ----------
        settles
            Whether it is back then; else somebody else will see.
        """
        while not self._stop.is_set():
            try:
                done, _ = await self.unless_stopped(_call(step))
            except BrokerError as error:
                self._reachability.away(doing, describe(error))
                await self.pause()
                continue
            if done and settles:
                self._reachability.back(doing)
                self.relax()
            return done
        return False

    async def unless_stopped(self, work: Coroutine[Any, Any, _T]) -> tuple[bool, _T | None]:
        """Await work, or cancel it when the stop comes; return whether it was done, and its result."""
        return await unless_stopped(self._stop, work)


async def unless_stopped(stop: asyncio.Event, work: Coroutine[Any, Any, _T]) -> tuple[bool, _T | None]:
    """Await work, or cancel it when `stop` comes; return whether it was done, and its result."""
    task, stopped = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([task, stopped], return_when=asyncio.FIRST_COMPLETED)
        return (True, task.result()) if task.done() else (False, None)
    finally:
        for each in (task, stopped):
            each.cancel()
        await asyncio.gather(task, stopped, return_exceptions=True)


async def _call(step: Callable[[], Awaitable[_T]]) -> _T:
    return await step()


def describe(error: Exception) -> str:
    """Return what may be said of an error: our own words, of any other its type."""
    return str(error) if isinstance(error, BrokerError) else type(error).__name__
