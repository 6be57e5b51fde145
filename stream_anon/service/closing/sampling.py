"""Work beside the windows that may take only a share of the time, such as audits of what was published."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import TypeVar

from stream_anon.ports import Clock

_T = TypeVar("_T")


class Ration:
    """Says how long to rest after each piece of work, so that all of it takes at most a share of the time.

    Parameters
    ----------
    share
        The most of the time that work may take.
    shortest, longest
        Bounds on a rest in seconds; a longest rest breaks the share if a piece takes very long.
    """

    def __init__(self, clock: Clock, share: float, shortest: float = 0.0, longest: float = math.inf) -> None:
        self._clock = clock
        self._share, self._shortest, self._longest = share, shortest, longest
        self._until = clock.monotonic()

    @property
    def rest(self) -> float:
        """Return the seconds until work may begin; 0 if it may begin now."""
        return max(0.0, self._until - self._clock.monotonic())

    def begin(self) -> float:
        """Return the time at which a piece of work begins, for `end`."""
        return self._clock.monotonic()

    def end(self, begun: float) -> float:
        """Begin the rest after a piece of work; return how many seconds it took."""
        now = self._clock.monotonic()
        rest = (now - begun) * (1 / self._share - 1)
        self._until = now + min(max(rest, self._shortest), self._longest)
        return now - begun


class Sampler:
    """Does one piece of work at a time in a thread, and turns work away while it has used up its share of the time.

    So every window of a quiet topic is looked at, and a sample of those of a busy one.

    Parameters
    ----------
    share
        The most of the time that work may take: it holds the interpreter's lock.
    shortest
        Seconds between two pieces of work, at the least.
    """

    def __init__(self, clock: Clock, share: float, shortest: float = 0.0) -> None:
        self._ration = Ration(clock, share, shortest)
        self._task: asyncio.Task[None] | None = None

    def offer(self, work: Callable[[], _T], done: Callable[[_T | None, float], None]) -> bool:
        """Begin a piece of work, or return False if it is not its time.

        Parameters
        ----------
        done
            Is told the result, None if the work broke off, and how many seconds it took. It is called in the event
            loop.
        """
        if self._task is not None or self._ration.rest > 0:
            return False
        self._task = asyncio.create_task(self._do(work, done))
        return True

    async def _do(self, work: Callable[[], _T], done: Callable[[_T | None, float], None]) -> None:
        begun = self._ration.begin()
        result: _T | None
        try:
            result = await asyncio.to_thread(work)
        except Exception:  # noqa: BLE001 - a bug here must not stop what works, and its text may quote a record
            result = None
        self._task = None
        done(result, self._ration.end(begun))

    def stop(self) -> None:
        """Stop without waiting; a thread that still computes ends with the process at the latest."""
        if self._task is not None:
            self._task.cancel()

    async def wait(self) -> None:
        """Return when no work is going on."""
        if self._task is not None:
            await asyncio.wait([self._task])
