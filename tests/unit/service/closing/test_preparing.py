from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import cast

import pytest

from stream_anon.engine.engine import Engine
from stream_anon.service.closing.preparing import Ahead
from tests.support.clock import FakeClock


class _Engine:
    """An engine with a list of things to prepare."""

    def __init__(self, *works: Callable[[], None]) -> None:
        self.works = list(works)

    def preparation(self, now: float) -> Callable[[], None] | None:
        assert now >= 0
        return self.works.pop(0) if self.works else None


def _ahead(engine: _Engine) -> Ahead:
    return Ahead(cast("Engine", engine), FakeClock())


async def test_preparing_does_not_hold_up_the_loop_and_runs_once_at_a_time() -> None:
    gate, begun, done = threading.Event(), threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        gate.wait(10)

    engine = _Engine(slow, done.set)
    ahead = _ahead(engine)
    ahead.look()
    await asyncio.to_thread(begun.wait, 10)
    for _ in range(5):
        ahead.look()
        await asyncio.sleep(0)
    assert not done.is_set()
    assert len(engine.works) == 1
    gate.set()
    async with asyncio.timeout(10):
        while not done.is_set():
            ahead.look()
            await asyncio.sleep(0.001)
    await ahead.stop()


async def test_a_bug_in_preparing_is_raised() -> None:
    def broken() -> None:
        raise ZeroDivisionError

    ahead = _ahead(_Engine(broken))

    async def until_told() -> None:
        while True:
            ahead.look()
            await asyncio.sleep(0.001)

    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(until_told(), 10)


async def test_a_stop_does_not_wait_for_preparing() -> None:
    gate = threading.Event()
    ahead = _ahead(_Engine(lambda: cast("None", gate.wait(10))))
    ahead.look()
    await asyncio.sleep(0.01)
    async with asyncio.timeout(5):
        await ahead.stop()
    gate.set()
