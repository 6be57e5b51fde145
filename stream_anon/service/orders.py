"""What an operator orders of a running service: pause, resume, drain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping


class Orders:
    """Keeps what was ordered; the worker looks at it in each turn of its loop.

    Parameters
    ----------
    stop
        Is set to drain: what ends the worker is the same, what becomes of the open window is not.
    """

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop
        self._paused = self._draining = False

    @property
    def paused(self) -> bool:
        """Return whether no further record is to be read."""
        return self._paused

    @property
    def draining(self) -> bool:
        """Return whether the open window is to be published before the worker leaves."""
        return self._draining

    def pause(self) -> str:
        """Read no further record; return what happens now, in words."""
        self._paused = True
        return "paused: nothing more is read; the open window is published at its deadline"

    def resume(self) -> str:
        """Read on; return what happens now, in words."""
        self._paused = False
        return "resumed"

    def drain(self) -> str:
        """Publish the open window and end; return what happens now, in words."""
        self._draining = True
        self._stop.set()
        return "draining: the open window is published, then the service ends"

    @property
    def letter(self) -> bytes:
        """Return the present order as a letter, for a worker process."""
        return b"d" if self._draining else b"p" if self._paused else b"r"

    def heed(self, letter: bytes) -> None:
        """Take an order that `letter` of another process tells."""
        {b"d": self.drain, b"p": self.pause, b"r": self.resume}[letter]()

    @property
    def by_name(self) -> Mapping[str, Callable[[], str]]:
        """Return what can be ordered."""
        return {"pause": self.pause, "resume": self.resume, "drain": self.drain}
