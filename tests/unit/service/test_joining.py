"""When the worker joins its group anew, and when it only pauses."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from stream_anon.errors import BrokerError
from stream_anon.ports import DeadClient
from stream_anon.service.events import Away, BrokerAway, Event
from stream_anon.service.joining import POLLS_THAT_MAY_FAIL, Joining
from stream_anon.service.retrying import Patience, Reachability
from tests.support.clock import FakeClock


class _Stage:
    """A source of which only starts and stops count, and no pause that takes time."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.told: list[Event] = []
        self.group: BrokerError | None = None
        source: Any = SimpleNamespace(start=self._start, stop=self._stop, moved=self._moved)
        reachability = Reachability(FakeClock().monotonic, self.told.append)
        patience = Patience(asyncio.Event(), reachability)
        patience.pause = self._pause  # type: ignore[method-assign]
        self.joining = Joining(source, reachability, patience)

    async def _start(self) -> None:
        self.done.append("start")

    async def _stop(self, within: float) -> None:
        self.done.append("stop")

    async def _moved(self, marks: int, within: float) -> None:
        if self.group is not None:
            raise self.group

    async def _pause(self, error: Exception | None = None) -> None:
        self.done.append("pause")


async def test_polls_that_keep_failing_make_it_join_anew_and_then_count_from_0() -> None:
    stage = _Stage()
    for _ in range(2):
        for _ in range(POLLS_THAT_MAY_FAIL + 1):
            await stage.joining.poll_failed(BrokerError("refused"))
    assert stage.done == ([*["pause"] * POLLS_THAT_MAY_FAIL, "stop", "start"] * 2)


async def test_records_that_come_begin_the_count_again() -> None:
    stage = _Stage()
    for _ in range(3):
        for _ in range(POLLS_THAT_MAY_FAIL):
            await stage.joining.poll_failed(BrokerError("refused"))
        stage.joining.polled()
    assert "start" not in stage.done


async def test_a_dead_client_is_started_again_at_once_whoever_meets_it() -> None:
    stage = _Stage()
    await stage.joining.poll_failed(DeadClient("dead"))
    stage.group = DeadClient("dead")
    await stage.joining.wait(0, 0.1)
    assert stage.done == ["stop", "start"] * 2


async def test_a_group_that_refuses_is_told_as_an_absence_of_the_takeover() -> None:
    stage = _Stage()
    stage.group = BrokerError("refused")
    await stage.joining.wait(0, 0.1)
    assert stage.done == ["pause"]
    assert [event.doing for event in stage.told if isinstance(event, BrokerAway)] == [Away.TAKING_OVER]
