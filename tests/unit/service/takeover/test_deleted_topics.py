"""Topics of the service that are deleted while it runs: each is named, and only the ledger is created again."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from stream_anon.service.events import BrokerAway, LedgerCreated, TakeoverDone
from stream_anon.service.status.status_board import StatusBoard
from stream_anon.service.wiring.observing import into_metrics
from tests.support.driver import Driver, people
from tests.support.memory import INPUT

P = (INPUT, 0)
GONE = "the ledger out.ledger does not exist"


async def test_a_deleted_ledger_is_named_and_made_anew_while_nothing_is_read() -> None:
    async with Driver() as driver:
        driver.send(people(20))
        await driver.settle()
        driver.broker.delete_ledger()
        board = StatusBoard(driver.clock.monotonic)
        await driver.settle()
        for event in driver.events:
            board(event)
        assert GONE in [event.error for event in driver.told(BrokerAway)]
        assert board.readiness() == (True, "")
        assert len(driver.told(LedgerCreated)) == 2
        assert driver.told(TakeoverDone)[-1].unprotected == (P,), "what it does not hold is said"
        driver.send(people(20, 20))
        await driver.settle()
        assert driver.broker.ledger[P] == 40
        assert driver.broker.accounted == 40
        assert max(driver.broker.serials.values()) == 1


async def test_a_window_whose_ledger_is_deleted_gets_out_once_into_a_new_one() -> None:
    async with Driver() as driver:
        driver.sink.gate.clear()
        driver.send(people(20))
        await driver.settle()
        driver.broker.delete_ledger()
        driver.sink.gate.set()
        for _ in range(4):
            await driver.settle()
        assert driver.broker.accounted == 20
        assert max(driver.broker.serials.values()) == 1
        assert driver.broker.ledger[P] == 20
        assert GONE in [event.error for event in driver.told(BrokerAway)]


@pytest.mark.parametrize("offsets", [{}, {P: 5}], ids=["no offset", "set back"])
async def test_what_a_worker_saw_in_a_deleted_ledger_still_protects(offsets: dict[tuple[str, int], int]) -> None:
    async with Driver() as driver:
        driver.send(people(20))
        await driver.settle()
        driver.broker.delete_ledger()
        driver.broker.offsets.clear()
        driver.broker.offsets |= offsets
        driver.send(people(20, 20))
        await driver.advance(20)
        assert max(driver.broker.serials.values()) == 1
        assert driver.broker.accounted == (20 if offsets else 40), "set back it stops, without an offset it goes on"


async def test_a_ledger_that_cannot_be_made_is_named_and_nothing_is_released_without_it() -> None:
    async with Driver() as driver:
        driver.send(people(20))
        await driver.settle()
        driver.broker.delete_ledger()
        driver.worker._parts.keeper.prepare = refuse
        driver.send(people(20, 20))
        await driver.settle(3)
        await driver.settle(3)
        assert driver.broker.accounted == 20
        board = StatusBoard(driver.clock.monotonic)
        for event in driver.events:
            board(event)
        ready, reason = board.readiness()
        assert not ready
        assert GONE in reason
        driver.worker._parts.keeper.prepare = driver._prepare
        await driver.settle()
        assert driver.broker.accounted == 40


async def refuse() -> str | None:
    from stream_anon.errors import TopicError

    raise TopicError("out.ledger: cannot be created (TopicAuthorizationFailedError)")


@pytest.mark.parametrize("topic", ["out", "out.certificates", "out.dead-letters"])
async def test_an_output_that_is_deleted_is_named_before_a_window_needs_it(topic: str) -> None:
    async with Driver() as driver:
        driver.broker.missing.add(topic)
        driver.clock.advance(2.1)
        await driver.settle()
        await driver.settle()
        board = StatusBoard(driver.clock.monotonic)
        for event in driver.events:
            board(event)
        ready, reason = board.readiness()
        assert not ready
        assert f"{topic}: does not exist; create it" in reason
        registry = CollectorRegistry()
        count = into_metrics(registry)
        for event in driver.events:
            count(event)
        assert registry.get_sample_value("stream_anon_not_ready", {"reason": "topic"}) == 1
        driver.broker.missing.clear()
        driver.clock.advance(2.1)
        await driver.settle()
        await driver.settle()
        driver.send(people(20))
        await driver.settle()
        assert driver.broker.accounted == 20
