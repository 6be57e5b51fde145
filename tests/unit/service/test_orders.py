"""What pause, resume and drain do to a worker and to its open window."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from stream_anon.adapters.prometheus.metrics import Metrics
from stream_anon.service.events import ReadingOrdered, WindowAbandoned
from stream_anon.service.orders import Orders
from stream_anon.service.status.page import StatusBoard
from stream_anon.service.wiring.observing import into_metrics
from tests.support.driver import Driver, people
from tests.support.memory import MemoryBroker


def _ordered(driver: Driver) -> Orders:
    orders = Orders(driver.stopping)
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
        board, listen = StatusBoard(driver.clock.monotonic), into_metrics(Metrics(registry))
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


def test_another_process_is_told_the_last_order() -> None:
    here, there = Orders(asyncio.Event()), Orders(asyncio.Event())
    seen = []
    for order in (here.pause, here.resume, here.drain):
        order()
        there.heed(here.letter)
        seen.append((there.paused, there.draining))

    assert seen == [(True, False), (False, False), (False, True)]
