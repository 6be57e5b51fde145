"""An event loop whose time is made up: nothing waits, and hours of a test take as long as its work."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Any


class SkippingLoop(asyncio.SelectorEventLoop):
    """Moves its time on where another loop would wait; threads are not started, their work is done at once."""

    def __init__(self) -> None:
        self._now = 1000.0
        super().__init__(_Skipping(self._skip))

    def time(self) -> float:
        return self._now

    def _skip(self, seconds: float) -> None:
        self._now += seconds

    def run_in_executor(self, _: Any, work: Callable[..., Any], *given: Any) -> asyncio.Future[Any]:
        done = self.create_future()
        done.set_result(work(*given))
        return done


class _Skipping(selectors.DefaultSelector):
    def __init__(self, skip: Callable[[float], None]) -> None:
        super().__init__()
        self._skip = skip

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("everything waits, and for nothing that time brings")
        self._skip(max(timeout, 0.0))
        return super().select(0)
