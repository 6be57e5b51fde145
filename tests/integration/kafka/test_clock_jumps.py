"""A worker whose clock jumps by hours, on a real Kafka whose clock is right: it recovers without a restart."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from stream_anon.adapters.clock import SystemClock
from stream_anon.operations.starting.permission import permit_of
from stream_anon.service.events import (
    Away,
    BrokerAway,
    BrokerBack,
    ClockSet,
    Event,
    ReadinessChanged,
    WindowAbandoned,
)
from stream_anon.service.wiring.serving import work
from stream_anon.settings.loading import load_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.service import (
    AT_THE_LATEST,
    Stage,
    check_published,
    compile_once,
    make_records,
    produce,
    wait_until_accounted,
)

pytestmark = pytest.mark.kafka
HOURS = 7200.0


class Machine:
    """A worker in this process, on a machine whose clock a test sets."""

    def __init__(self) -> None:
        self.ahead, self.events = 0.0, list[Event]()
        self.clock = SystemClock(lambda: time.time() + self.ahead)

    @asynccontextmanager
    async def running(self, stage: Stage) -> AsyncIterator[None]:
        config = stage.config()
        compile_once(config)
        policy, stop = build_policy(load_settings(config), config), asyncio.Event()
        working = asyncio.create_task(
            work(load_settings(config), policy, self.clock, self.events.append, stop, permit_of)
        )
        try:
            await self.until(lambda: self.ready)
            yield
        except TimeoutError:
            raise AssertionError(f"last told: {self.events[-6:]}") from None
        finally:
            stop.set()
            await working

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(AT_THE_LATEST):
            while not holds():  # noqa: ASYNC110 - what is waited for are values in a list
                await asyncio.sleep(0.05)

    @property
    def ready(self) -> bool:
        told = [event.ready for event in self.events if isinstance(event, ReadinessChanged)]
        return bool(told) and told[-1]

    def steps(self) -> list[float]:
        return [event.seconds for event in self.events if isinstance(event, ClockSet)]

    def refusals(self) -> list[str]:
        return [
            event.error for event in self.events if isinstance(event, BrokerAway) and event.doing is Away.DATING
        ]


async def test_a_clock_that_was_two_hours_ahead_is_survived_and_named(stage: Stage) -> None:
    machine = Machine()
    async with machine.running(stage):
        await produce(stage, make_records(300, 1))
        await wait_until_accounted(stage, 300)
        machine.ahead = HOURS
        await produce(stage, make_records(300, 2, first=300))
        await machine.until(lambda: bool(machine.refusals()) and len(machine.steps()) == 1)
        assert not machine.ready
        machine.ahead = 0.0
        check_published(await wait_until_accounted(stage, 600), 600)
        await machine.until(lambda: machine.ready)
        assert [event.doing for event in machine.events if isinstance(event, BrokerBack)][-1] is Away.DATING
        assert not any(isinstance(event, WindowAbandoned) for event in machine.events), "put into other classes"
        await machine.until(lambda: [round(step / HOURS) for step in machine.steps()] == [1, -1])
    assert {"clock" in text and "transaction_timeout" not in text for text in machine.refusals()} == {True}


async def test_a_clock_that_is_set_back_by_two_hours_disturbs_nothing(stage: Stage) -> None:
    machine = Machine()
    async with machine.running(stage):
        await produce(stage, make_records(300, 1))
        await wait_until_accounted(stage, 300)
        machine.ahead = -HOURS
        await produce(stage, make_records(300, 2, first=300))
        published = await wait_until_accounted(stage, 600)
        check_published(published, 600)
        assert not any(isinstance(event, BrokerAway) for event in machine.events)
    assert all(certificate["opened"] <= certificate["closed"] for certificate in published.certificates)
