"""Orders of an operator to a running service: pause, resume, drain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping


class Orders:
    """The present orders; the worker looks at them in each turn of its loop.

    Parameters
    ----------
    stop
        A drain sets it: it ends the worker like any stop, but the open window is published.
    """

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop
        self._paused = self._draining = False

    @property
    def paused(self) -> bool:
        """Return whether reading is paused."""
        return self._paused

    @property
    def draining(self) -> bool:
        """Return whether the open window is to be published before the worker leaves."""
        return self._draining

    def pause(self) -> str:
        """Order to read no more records; return what happens now, in words."""
        self._paused = True
        return "paused: nothing more is read; the open window is published at its deadline"

    def resume(self) -> str:
        """Order to read on; return what happens now, in words."""
        self._paused = False
        return "resumed"

    def drain(self) -> str:
        """Order to publish the open window and end; return what happens now, in words."""
        self._draining = True
        self._stop.set()
        return "draining: the open window is published, then the service ends"

    @property
    def letter(self) -> bytes:
        """Return the present order as a letter, to send to a worker process."""
        return b"d" if self._draining else b"p" if self._paused else b"r"

    def heed(self, letter: bytes) -> None:
        """Follow the order that a letter from another process stands for."""
        {b"d": self.drain, b"p": self.pause, b"r": self.resume}[letter]()

    @property
    def by_name(self) -> Mapping[str, Callable[[], str]]:
        """Return each order by its name."""
        return {"pause": self.pause, "resume": self.resume, "drain": self.drain}
