"""An event loop whose time jumps to the next timer as soon as nothing is left to do. No sockets, no threads."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from aiokafka import client, cluster, conn
from aiokafka.consumer import fetcher, subscription_state
from aiokafka.producer import message_accumulator

Connect = Callable[[Callable[[], asyncio.Protocol], int], Awaitable[tuple[asyncio.Transport, asyncio.Protocol]]]
_FIRST_MOMENT = 1000.0  # seconds: some libraries take 0 for "never"


class JumpingLoop(asyncio.base_events.BaseEventLoop):
    """A loop on a clock of its own.

    Parameters
    ----------
    connect
        What a connection to a port is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.connect: Connect | None = None
        self._now = _FIRST_MOMENT
        self._selector = self  # of events: there are none, so waiting for them means that time passes

    def time(self) -> float:
        """Return seconds on its own clock."""
        return self._now

    def select(self, timeout: float | None) -> list[Any]:
        """Let time pass."""
        if timeout is None:
            raise RuntimeError("all tasks wait, and for nothing that will ever happen")
        self._now += max(timeout, 0.0)
        return []

    def _process_events(self, events: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    async def create_connection(  # type: ignore[override] # what aiokafka passes, and no more
        self, factory: Callable[[], asyncio.Protocol], host: str, port: int, *, ssl: None = None
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """Connect to a port of the model."""
        assert self.connect is not None
        return await self.connect(factory, port)


@contextmanager
def jumping(seed: int) -> Iterator[asyncio.Runner]:
    """Yield a runner; what aiokafka asks of time and chance is the loop's and the seed's meanwhile."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        loop = runner.get_loop()
        loop.set_exception_handler(_hear)
        clock, chance = SimpleNamespace(monotonic=loop.time, time=loop.time), random.Random(seed)
        patches = [patch.object(m, "time", clock) for m in _TIMED]
        patches += [patch.object(m, "random", chance) for m in (client, conn, fetcher)]
        for each in patches:
            each.start()
        try:
            yield runner
        finally:
            for each in patches:
                each.stop()


def _hear(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Pass over what a producer that is thrown away leaves behind: errors that nobody asks for, a task or two."""
    if not any(what in context["message"] for what in ("never retrieved", "was destroyed")):
        loop.default_exception_handler(context)


_TIMED = (client, cluster, conn, fetcher, subscription_state, message_accumulator)
