"""Orders of an operator to a running service: pause, resume, drain."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from stream_anon.ports import Clock
from stream_anon.service.events import Event, Listener, ReadingOrdered
from stream_anon.service.events.partitions import end_in_words

LOOK_EVERY = 0.2  # seconds


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause of the reading, with its end on both clocks, in seconds; infinite until it is resumed."""

    ends: float = math.inf  # as `Clock.monotonic`, which all processes of a machine share
    until: float = math.inf  # as `Clock.wall`, for people


def _tell_nobody(_: Event) -> None:
    pass


class Orders:
    """The present orders; the worker looks at them in each turn of its loop.

    Parameters
    ----------
    stop
        A drain sets it: it ends the worker like any stop, but the open window is published.
    tell
        Hears of each pause and of its end.
    paused
        Whether the service starts paused, at each of its starts.
    outlived
        Whether another process keeps the orders beyond this one's end, as that of a fleet does.
    """

    def __init__(
        self,
        stop: asyncio.Event,
        clock: Clock,
        tell: Listener = _tell_nobody,
        *,
        paused: bool = False,
        outlived: bool = False,
    ) -> None:
        self._stop, self._clock, self._tell = stop, clock, tell
        self._pause, self._starts_paused = Pause() if paused else None, paused
        self._outlived = outlived
        self._told: Pause | None = None
        self._reading = False
        self._draining = False

    @property
    def in_force(self) -> Pause | None:
        """Return the pause that is in force now; one that has lasted its time is forgotten."""
        if self._pause is not None and self._clock.monotonic() >= self._pause.ends:
            self._pause = None
        return self._pause

    @property
    def forgets(self) -> bool:
        """Return whether the pause in force ends with this process."""
        return self.in_force is not None and not self._starts_paused and not self._outlived

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Tell no pause as long as the context lasts: what is being read is still read when one is ordered."""
        self._reading = True
        try:
            yield
        finally:
            self._reading = False

    def look(self) -> Pause | None:
        """Tell what has changed since the last look; return the pause that was told last and is in force."""
        if self._reading:
            return self._told
        told, self._told = self._told, self.in_force
        if self._told is not None and self._told != told:
            self._tell(ReadingOrdered(True, self._told.until))
        elif told is not None and self._told is None:
            self._tell(ReadingOrdered(False, expired=self._clock.monotonic() >= told.ends))
        return self._told

    async def watch(self, every: float = LOOK_EVERY) -> None:
        """Look until cancelled: a worker that waits for a broker does not."""
        while True:
            self.look()
            await asyncio.sleep(every)

    @property
    def draining(self) -> bool:
        """Return whether the open window is to be published before the worker leaves."""
        return self._draining

    def pause(self, seconds: float = math.inf) -> str:
        """Order to read no more records for so many seconds; return what happens now, in words."""
        pause = self._pause = Pause(self._clock.monotonic() + seconds, self._clock.wall() + seconds)
        self.look()
        return (
            f"paused until {end_in_words(pause.until)}: nothing more is read, and the open window is "
            f"published at its deadline; the next start {'is paused too' if self._starts_paused else 'reads'}"
        )

    def resume(self) -> str:
        """Order to read on; return what happens now, in words."""
        self._pause = None
        self.look()
        return "resumed"

    def drain(self) -> str:
        """Order to publish the open window and end; return what happens now, in words."""
        self._draining = True
        self._stop.set()
        return "draining: the open window is published, then the service ends"

    @property
    def line(self) -> bytes:
        """Return the present order as a line, to send to a worker process."""
        if self._draining:
            return b"drain\n"
        pause = self.in_force
        return b"resume\n" if pause is None else f"pause {pause.ends} {pause.until}\n".encode()

    def heed(self, line: bytes) -> None:
        """Follow the order that a line from another process of this machine stands for."""
        name, *end = line.split()
        if name == b"drain":
            self.drain()
        else:
            self._pause = Pause(*map(float, end)) if name == b"pause" else None
            self.look()

    @property
    def by_name(self) -> Mapping[str, Callable[[float], str]]:
        """Return each order by its name; its argument is how many seconds a pause lasts."""
        return {"pause": self.pause, "resume": lambda _: self.resume(), "drain": lambda _: self.drain()}
