"""What pause, resume and drain do to a worker and to its open window."""

from __future__ import annotations

import asyncio
import math

import pytest
from prometheus_client import CollectorRegistry

from stream_anon.ports import Polled
from stream_anon.service.events import (
    Event,
    ReadingOrdered,
    RecordsConsumed,
    TakeoverDone,
    WindowAbandoned,
    WorkerStopping,
)
from stream_anon.service.orders import Orders, Pause
from stream_anon.service.status.status_board import StatusBoard
from stream_anon.service.wiring.observing import into_metrics
from tests.support.clock import FakeClock
from tests.support.driver import Driver, people
from tests.support.memory import MemoryBroker


def _ordered(driver: Driver) -> Orders:
    orders = Orders(driver.stopping, driver.clock, driver.events.append)
    driver.worker.obey(orders)
    return orders


async def test_a_paused_worker_reads_nothing_and_stays_a_member() -> None:
    async with Driver() as driver:
        orders = _ordered(driver)
        orders.pause()
        await driver.settle()
        driver.send(people(40))
        polls = driver.source.polls
        await driver.advance(30)

        assert driver.broker.accounted == 0
        assert driver.source.polls > polls, "polls keep the membership"
        assert driver.broker.members.keys() == {"one"}

        orders.resume()
        await driver.settle()
        assert driver.broker.accounted == 40


async def test_a_pause_that_is_ordered_while_records_come_in_is_told_once_they_are_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Driver() as driver:
        orders = _ordered(driver)
        driver.send(people(40))
        poll = driver.source.poll

        async def ordered_meanwhile(wait: float, most: int) -> Polled:
            polled = await poll(wait, most)
            orders.pause()
            orders.look()  # as the task beside the worker does
            return polled

        monkeypatch.setattr(driver.source, "poll", ordered_meanwhile)
        await driver.settle()

        kinds = [type(event) for event in driver.events]
        assert kinds.count(ReadingOrdered) == 1
        assert RecordsConsumed in kinds
        assert RecordsConsumed not in kinds[kinds.index(ReadingOrdered) :]


async def test_the_open_window_of_a_paused_worker_is_published_at_its_deadline() -> None:
    async with Driver() as driver:
        driver.send(people(10))
        await driver.settle()
        _ordered(driver).pause()
        await driver.settle()
        assert driver.broker.accounted == 0

        await driver.advance(10)

        assert driver.broker.accounted == 10


async def test_a_pause_outlives_a_rebalance() -> None:
    broker = MemoryBroker()
    async with Driver(broker) as driver:
        _ordered(driver).pause()
        await driver.settle()
        broker.rebalance()
        driver.send(people(40))
        await driver.advance(30)

        assert broker.accounted == 0


async def test_a_pause_shows_and_leaves_the_worker_ready() -> None:
    registry = CollectorRegistry()
    async with Driver() as driver:
        orders = _ordered(driver)
        board, listen = StatusBoard(driver.clock.monotonic), into_metrics(registry)
        shown = []
        for order in (orders.pause, orders.pause, orders.resume):
            order()
            await driver.settle()
            for event in driver.events:
                board(event)
                listen(event)
            paused = registry.get_sample_value("stream_anon_paused")
            warned = [w for w in board.status()["warnings"] if w.startswith("PAUSED")]  # type: ignore[attr-defined]
            shown.append((paused, len(warned), board.readiness()[0]))

        assert shown == [(1, 1, True), (1, 1, True), (0, 0, True)]
        assert driver.told(ReadingOrdered) == [ReadingOrdered(True), ReadingOrdered(False)]


@pytest.mark.parametrize(("drained", "published"), [(True, 10), (False, 0)])
async def test_a_drain_publishes_a_young_window_whole_and_a_stop_leaves_it(drained: bool, published: int) -> None:
    async with Driver() as driver:
        orders = _ordered(driver)
        driver.send(people(10))
        await driver.settle()
        if drained:
            orders.drain()
        await driver.stop()

        assert driver.broker.accounted == published
        assert len(driver.told(WindowAbandoned)) == (0 if drained else 1)


async def test_a_drain_ends_a_paused_worker_too() -> None:
    async with Driver() as driver:
        orders = _ordered(driver)
        driver.send(people(10))
        await driver.settle()
        orders.pause()
        await driver.settle()
        orders.drain()

        assert driver.stopping.is_set()
        await driver.stop()
        assert driver.broker.accounted == 10


async def test_a_pause_that_is_given_a_time_ends_by_itself_and_says_when() -> None:
    async with Driver() as driver:
        orders = _ordered(driver)
        assert "until 2023-11-14 22:13:50 UTC" in orders.pause(30)
        driver.send(people(40))
        await driver.advance(29)
        assert driver.broker.accounted == 0
        await driver.advance(1)
        await driver.settle()

        assert driver.broker.accounted == 40
        assert driver.told(ReadingOrdered) == [
            ReadingOrdered(True, 1_700_000_030.25),
            ReadingOrdered(False, expired=True),
        ]


async def test_the_last_pause_says_when_it_ends() -> None:
    async with Driver() as driver:
        orders = _ordered(driver)
        for seconds in (10, 60, math.inf):
            orders.pause(seconds)
            await driver.settle()
        await driver.advance(100)

        assert orders.in_force == Pause()
        assert [event.until for event in driver.told(ReadingOrdered)] == [
            1_700_000_010.25,
            1_700_000_060.25,
            math.inf,
        ]


@pytest.mark.parametrize("kept", [True, False])
async def test_a_paused_worker_says_so_before_it_connects_and_says_at_its_end_what_it_forgets(kept: bool) -> None:
    driver = Driver()
    driver.broker.away = True
    orders = Orders(driver.stopping, driver.clock, driver.events.append, paused=kept)
    if not kept:
        orders.pause()
    driver.worker.obey(orders)
    running = asyncio.create_task(driver.worker.run())
    await asyncio.sleep(0)
    assert driver.told(ReadingOrdered) == [ReadingOrdered(True)]

    driver.stopping.set()
    await running
    assert driver.told(WorkerStopping) == [WorkerStopping("asked to", forgets_pause=not kept)]


async def test_orders_to_a_worker_that_cannot_connect_are_told_at_once_and_kept() -> None:
    driver = Driver()
    driver.broker.away = True
    orders = _ordered(driver)
    running = asyncio.create_task(driver.worker.run())
    await asyncio.sleep(0)
    orders.pause()
    orders.resume()
    orders.pause()
    assert driver.told(ReadingOrdered) == [ReadingOrdered(True), ReadingOrdered(False), ReadingOrdered(True)]

    board = StatusBoard(driver.clock.monotonic)
    for event in driver.events:
        board(event)
    ready, reason = board.readiness()
    assert not ready
    assert "; PAUSED" in reason

    driver.send(people(40))
    driver.broker.away = False
    async with asyncio.timeout(10):
        while not driver.told(TakeoverDone):  # noqa: ASYNC110 - it tries again after pauses
            await asyncio.sleep(0.02)
    polls = driver.source.polls
    while driver.source.polls < polls + 3:  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.02)
    assert not driver.told(RecordsConsumed)
    driver.stopping.set()
    await running


async def test_the_end_of_a_pause_is_told_while_nobody_else_looks() -> None:
    clock, told = FakeClock(), list[Event]()
    orders = Orders(asyncio.Event(), clock, told.append)
    watching = asyncio.create_task(orders.watch(every=0.001))
    orders.pause(30)
    clock.advance(30)
    async with asyncio.timeout(5):
        while len(told) < 2:  # noqa: ASYNC110 - the other task looks
            await asyncio.sleep(0.001)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert told[1] == ReadingOrdered(False, expired=True)


def test_a_process_whose_orders_outlive_it_forgets_none() -> None:
    orders = Orders(asyncio.Event(), FakeClock(), outlived=True)
    orders.pause()
    assert not orders.forgets


def test_another_process_is_told_the_last_order() -> None:
    clock = FakeClock()
    here, there = (Orders(asyncio.Event(), clock) for _ in range(2))
    seen = []
    for order in (here.pause, lambda: here.pause(30), here.resume, here.drain):
        order()
        there.heed(here.line)
        seen.append((there.in_force, there.draining))

    timed = Pause(clock.monotonic() + 30, clock.wall() + 30)
    assert seen == [(Pause(), False), (timed, False), (None, False), (None, True)]
