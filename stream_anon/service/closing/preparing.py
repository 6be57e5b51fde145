"""Preparation: a thread does work while records arrive that makes closing the open window cheaper."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stream_anon.engine.engine import Engine
from stream_anon.ports import Clock


class Ahead:
    """Does one piece of preparation at a time; nobody waits for it.

    A window that is closed meanwhile uses the preparation that is done by then.
    """

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Begin the preparation that is due, unless one is going on."""
        if self._task is not None:
            if not self._task.done():
                return
            task, self._task = self._task, None
            task.result()  # an error here is a bug
        work = self._engine.preparation(self._clock.monotonic())
        if work is not None:
            self._task = asyncio.create_task(self._do(work))

    async def _do(self, work: Callable[[], None]) -> None:
        await asyncio.to_thread(work)

    async def stop(self) -> None:
        """Stop looking; a thread that still works is left to itself."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
