"""A ledger that is new or empty although offsets are committed: nothing shows whether they were set back."""

from __future__ import annotations

import pytest

from stream_anon.service.events import LedgerCreated, TakeoverDone
from tests.support.driver import Driver, after_release, people
from tests.support.memory import MemoryBroker


@pytest.mark.parametrize("start", ["earliest", "latest"])
async def test_lost_ledger_is_made_anew_and_told(start: str) -> None:
    broker = MemoryBroker()
    before = await after_release(broker, kafka={"start": start})
    assert not [taken for taken in before.told(TakeoverDone) if taken.unprotected]
    broker.ledger.clear()
    broker.has_ledger = False
    async with Driver(broker, before.clock, kafka={"start": start}) as driver:
        assert driver.told(LedgerCreated) == [LedgerCreated("out.ledger")]
        expected = {("people", 0)} if start == "earliest" else {("people", 0), ("people", 1)}
        assert set(driver.told(TakeoverDone)[0].unprotected) <= expected
        assert ("people", 0) in driver.told(TakeoverDone)[0].unprotected


async def test_emptied_ledger_is_told_though_it_exists() -> None:
    broker = MemoryBroker()
    before = await after_release(broker)
    broker.ledger.clear()
    async with Driver(broker, before.clock) as driver:
        assert not driver.told(LedgerCreated)
        assert ("people", 0) in driver.told(TakeoverDone)[0].unprotected


@pytest.mark.parametrize("start", ["earliest", "latest"])
async def test_neither_a_first_run_nor_a_second_worker_raises_a_false_alarm(start: str) -> None:
    broker = MemoryBroker()
    async with Driver(broker, kafka={"start": start}) as one:
        one.send(people(6), 0)
        await one.settle()
        # Nothing is out yet: with `latest`, offsets are committed and the ledger is empty.
        async with Driver(broker, one.clock, "two", kafka={"start": start}) as two:
            await one.settle()
            told = one.told(TakeoverDone) + two.told(TakeoverDone)
            assert len(told) >= 3
            assert not [taken for taken in told if taken.unprotected]


async def test_broker_without_transactions_is_not_blamed_for_having_no_ledger() -> None:
    broker = MemoryBroker()
    before = await after_release(broker)
    broker.ledger.clear()
    driver = Driver(broker, before.clock)
    driver.sink.delivery = "at-least-once"
    async with driver:
        assert not driver.told(TakeoverDone)[0].unprotected
