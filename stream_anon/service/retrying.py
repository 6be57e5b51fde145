"""Wait for a broker or a registry with growing pauses; tell once when it goes and once when it is back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from stream_anon.errors import BrokerError, Cause, RegistryError
from stream_anon.service.events import Away, BrokerAway, BrokerBack, Listener, ReadinessChanged

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0
CAUSE_EVERY = 10.0  # seconds between two causes of the same absence that are told

_T = TypeVar("_T")


@dataclass
class _Absence:
    since: float
    error: str  # the cause that was told last
    told: float
    attempts: int = 0


class Reachability:
    """Tells once that the broker is away and once that it is back, for each activity.

    If the cause of an absence changes, it tells the new one: a broker that has returned may refuse.

    Parameters
    ----------
    monotonic
        Returns seconds.
    tell
        Hears of absences and of readiness. A worker is ready once it has joined and while no broker is away.
    """

    def __init__(self, monotonic: Callable[[], float], tell: Listener) -> None:
        self._monotonic = monotonic
        self._tell = tell
        self._absences: dict[Away, _Absence] = {}
        self._joined = False
        self._ready = False

    @property
    def ready(self) -> bool:
        """Return whether the worker has joined and nothing is away."""
        return self._ready

    def joined(self) -> None:
        """Note that the first takeover is done."""
        self._joined = True
        self._judge("")

    def failed(self, doing: Away, error: Exception) -> None:
        """Note that an activity failed with an error."""
        self.away(doing, describe(error), cause_of(error))

    def away(self, doing: Away, error: str, cause: Cause = Cause.BROKER) -> None:
        """Note in words that an activity failed."""
        absence, now = self._absences.get(doing), self._monotonic()
        if absence is None:
            absence = self._absences[doing] = _Absence(now, error, now)
            self._tell(BrokerAway(doing, error, cause))
        elif error != absence.error and now - absence.told >= CAUSE_EVERY:
            absence.error, absence.told = error, now
            self._tell(BrokerAway(doing, error, cause, again=True))
        absence.attempts += 1
        self._judge(doing.in_words)

    def back(self, doing: Away) -> None:
        """Note that an activity succeeded."""
        absence = self._absences.pop(doing, None)
        if absence is not None:
            self._tell(BrokerBack(doing, self._monotonic() - absence.since, absence.attempts))
        self._judge("starting")

    def _judge(self, reason: str) -> None:
        ready = self._joined and not self._absences
        if ready != self._ready:
            self._ready = ready
            self._tell(ReadinessChanged(ready, "" if ready else reason))


class Growth:
    """Seconds between two tries: they double, within the bounds that an error may set."""

    def __init__(self) -> None:
        self._next = FIRST_PAUSE

    def next(self, error: Exception | None = None) -> float:
        """Return how long to wait, twice as long as last time."""
        least, most = 0.0, LONGEST_PAUSE
        if isinstance(error, BrokerError):
            least, most = error.least_pause, error.longest_pause or LONGEST_PAUSE
        seconds = max(least, min(self._next, most))
        self._next = min(2 * self._next, most)
        return seconds

    def relax(self) -> None:
        """Begin with short pauses again."""
        self._next = FIRST_PAUSE


class Pauses:
    """Pauses that double; `stop` ends them early, and they are short after it.

    Parameters
    ----------
    stop
        The worker's wish to leave.
    """

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop
        self._growth = Growth()

    async def pause(self, error: Exception | None = None) -> None:
        """Wait, twice as long as last time; what failed may bound it."""
        seconds = self._growth.next(error)
        if self._stop.is_set():  # even then, nobody may retry without a pause
            await asyncio.sleep(FIRST_PAUSE)
            return
        try:
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        except TimeoutError:
            return

    def relax(self) -> None:
        """Begin with short pauses again."""
        self._growth.relax()


class Patience(Pauses):
    """Pauses, and work that a stop may end early.

    Parameters
    ----------
    reachability
        Hears what fails, and what works again.
    """

    def __init__(self, stop: asyncio.Event, reachability: Reachability) -> None:
        super().__init__(stop)
        self._reachability = reachability

    async def persist(self, doing: Away, step: Callable[[], Awaitable[object]], *, settles: bool = True) -> bool:
        """Try a step until it works; return False if the stop came first.

        Parameters
        ----------
        settles
            Whether its success ends the absence; if not, the caller finds out later.
        """
        failed = {doing}  # a step may ask brokers, and then the registry
        while not self._stop.is_set():
            try:
                done, _ = await self.unless_stopped(_call(step))
            except BrokerError as error:
                activity = Away.ASKING_REGISTRY if isinstance(error, RegistryError) else doing
                failed.add(activity)
                self._reachability.failed(activity, error)
                await self.pause(error)
                continue
            if done and settles:
                for activity in sorted(failed):
                    self._reachability.back(activity)
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


def cause_of(error: Exception) -> Cause:
    """Return what an error means; without words of ours it was the waiting that ended, or something else."""
    if isinstance(error, BrokerError):
        return error.cause
    return Cause.UNREACHABLE if isinstance(error, TimeoutError) else Cause.BROKER


def describe(error: Exception) -> str:
    """Return what may be said about an error: our own message, or else only its type."""
    return str(error) if isinstance(error, BrokerError) else type(error).__name__
