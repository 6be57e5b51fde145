"""A stop takes at most ten seconds, whatever hangs, and asks no broker too often."""

from __future__ import annotations

import asyncio

import pytest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.ledger.tail import Tail
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.ports.input_topics import InputTopics
from stream_anon.service import worker
from stream_anon.service.closing import queue
from stream_anon.service.events import WindowAbandoned
from tests.support.driver import Driver, people


async def for_ever(*_: object) -> None:
    """Hang, and do not mind being cancelled once."""
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(5)


async def seconds_of(work: asyncio.Task[None]) -> float:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    async with asyncio.timeout(15):
        await work
    return loop.time() - begun


@pytest.mark.parametrize("part", ["source.stop", "sink.discard", "worker._parts.ledger.discard"])
async def test_part_that_hangs_is_not_waited_for(part: str) -> None:
    driver = Driver()
    await driver.worker.connect()
    await driver.settle()
    owner, _, verb = part.rpartition(".")
    target: object = driver
    for name in owner.split("."):
        target = getattr(target, name)
    setattr(target, verb, for_ever)
    driver.stopping.set()
    assert await seconds_of(asyncio.create_task(driver.stop())) < 4
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


async def test_closing_that_does_not_end_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "FINISH_WITHIN", 0.1)
    driver = Driver()
    await driver.worker.connect()
    driver.sink.gate.clear()
    driver.sink.settle = for_ever  # type: ignore[method-assign]
    driver.send(people(20))
    await driver.settle(3)
    assert driver.worker._queue.busy
    assert await seconds_of(asyncio.create_task(driver.stop())) < 2
    assert [event.reason for event in driver.told(WindowAbandoned)] == ["stopping"]
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


async def test_stop_asks_an_absent_broker_at_a_bounded_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "FINISH_WITHIN", 1.0)
    async with Driver() as driver:
        driver.sink.gate.clear()
        driver.send(people(20))
        await driver.settle()
        driver.broker.away = True
        driver.sink.gate.set()
        asked, ask = 0, driver.broker.ask

        def count() -> None:
            nonlocal asked
            asked += 1
            ask()

        driver.broker.ask = count  # type: ignore[method-assign]
        await driver.stop()
        assert 1 <= asked < 30


async def test_window_can_be_let_go_before_the_consumer_exists() -> None:
    source = KafkaSource(Connection("127.0.0.1:9", "g"), InputTopics(("people",)))
    source.pause(source.assigned)


async def test_clients_of_the_ledger_are_stopped_at_once() -> None:
    ledger = KafkaLedger(Connection("127.0.0.1:9", "g"), "out.ledger")

    class Hanging:
        def __init__(self) -> None:
            self._client = self

        async def stop(self) -> None:
            await asyncio.sleep(60)

        async def close(self) -> None:
            pass

    tail = Tail(ledger._connection)
    ledger._consumer, tail._consumer, ledger._tail = Hanging(), Hanging(), tail
    assert await seconds_of(asyncio.create_task(ledger.discard())) < 1.5


def test_the_deadlines_of_a_stop_sum_to_less_than_ten_seconds() -> None:
    assert worker.FINISH_WITHIN + queue.CANCEL_WITHIN + worker.LEAVE_WITHIN <= 9
