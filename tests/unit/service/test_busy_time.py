"""For how long a worker was busy."""

from __future__ import annotations

import asyncio

import pytest

from stream_anon.adapters.kafka.assigning.measuring import Measured
from stream_anon.adapters.kafka.assigning.packed import OVERLOADED, KnownMember, packed
from stream_anon.service import worker
from stream_anon.service.busy_time import BusyTime
from stream_anon.service.events import Away, WindowProgress
from tests.support.clock import FakeClock
from tests.support.driver import Driver, people

LARGE = {"max_records": 6000, "max_delay": 3600}
WAITING = {("people", 0): 990, ("people", 1): 990}


def test_what_is_done_at_once_counts_once_and_what_goes_on_counts_so_far() -> None:
    clock = FakeClock()
    busy = BusyTime(clock)
    clock.advance(5.0)
    assert busy.seconds == 0.0
    with busy.working():
        clock.advance(1.0)
        with busy.working():
            clock.advance(2.0)
        clock.advance(0.5)
        assert busy.seconds == 3.5
    clock.advance(7.0)
    with busy.working():
        clock.advance(0.25)
    assert busy.seconds == 3.75


async def fill_up(driver: Driver) -> None:
    """Let one window be published for ever and another one wait for it, so that nothing may be read."""
    driver.sink.gate.clear()
    driver.send(people(2 * LARGE["max_records"]))
    for _ in range(500):
        await driver.worker.turn()
        if driver.worker._queue.full and driver.worker._queue._unclosed == 0:
            break
    await driver.worker.turn()
    assert driver.told(WindowProgress)[-1].paused


async def measured_while(driver: Driver) -> Measured:
    """Let a minute pass, two seconds a turn; return what a worker has measured that took 10 of 1,000 records."""
    measured, begun = Measured(), driver.clock.monotonic()
    for number in range(31):
        busy = driver.worker._parts.busy.seconds
        measured.note(driver.clock.monotonic() - begun, busy, {("people", n): number for n in (0, 1)}, WAITING)
        turn = asyncio.create_task(driver.worker.turn())
        await asyncio.sleep(0.003)  # it waits by now
        driver.clock.advance(2.0)
        await turn
    return measured


async def test_a_worker_that_waits_for_its_broker_with_a_full_queue_is_overloaded_and_wakes_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "POLL_SECONDS", 0.01)
    async with Driver(window=LARGE) as driver:
        await fill_up(driver)
        measured = await measured_while(driver)
        driver.sink.gate.set()
    assert measured.busy == pytest.approx(1.0, abs=0.05)
    assert (measured.load or 0.0) > OVERLOADED
    topic, holds = frozenset({"people"}), frozenset(measured.loads)
    members = {
        "carrier": KnownMember(topic, holds, 1, measured.busy, measured.loads, 1),
        "standby": KnownMember(topic, generation=1, carriers=1),
    }
    given = packed(members, holds, may_change=True).given
    assert {name: len(places) for name, places in given.items()} == {"carrier": 1, "standby": 1}


async def test_a_worker_that_waits_for_records_or_for_a_broker_that_is_away_is_not_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "POLL_SECONDS", 0.01)
    async with Driver(window=LARGE) as driver:
        assert (await measured_while(driver)).busy == pytest.approx(0.0, abs=0.05)
        await fill_up(driver)
        driver.worker._parts.reachability.away(Away.PUBLISHING, "no answer")
        assert (await measured_while(driver)).busy == pytest.approx(0.0, abs=0.05)
        driver.sink.gate.set()
