"""Clocks that jump in the world of `test_workers`: a worker recovers by itself; no record is lost or doubled."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest

from stream_anon.errors import TimeRefused
from stream_anon.service import retrying, worker
from stream_anon.service.closing.writer import HOUR
from stream_anon.service.events import (
    Away,
    BrokerAway,
    BrokerBack,
    Outcome,
    ReadinessChanged,
    TransactionEnded,
    WindowAbandoned,
)
from tests.simulation.test_workers import STEPS, Storm
from tests.support.clock import FakeClock
from tests.support.driver import Driver, people
from tests.support.memory import MemoryBroker

HOURS = 7200.0


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "POLL_SECONDS", 0.002)
    monkeypatch.setattr(worker, "FINISH_WITHIN", 0.05)
    monkeypatch.setattr(TimeRefused, "least_pause", 0.001)
    for pause in ("FIRST_PAUSE", "LONGEST_PAUSE"):
        monkeypatch.setattr(retrying, pause, 0.001)


def _world() -> tuple[MemoryBroker, FakeClock]:
    """Return a broker with a sound clock, and the clock of the workers' machine, which agrees with it so far."""
    broker, clock = MemoryBroker(3), FakeClock()
    right = clock.wall() - clock.monotonic()
    broker.wall = lambda: right + clock.monotonic()
    return broker, clock


def _check(broker: MemoryBroker, sent: int) -> None:
    assert broker.accounted == sent
    assert set(broker.serials.values()) == {1}
    assert not broker.astray, "a certificate names another one than that before it"
    for certificate in broker.certificates:
        opened, closed = (datetime.fromisoformat(certificate[key]).timestamp() for key in ("opened", "closed"))
        assert opened <= closed <= broker.wall() + 1, "a window of the future, or one that closed before it opened"


async def test_a_clock_that_was_two_hours_ahead_stops_the_worker_no_longer_than_it_was() -> None:
    broker, clock = _world()
    async with asyncio.timeout(60), Driver(broker, clock) as driver:
        driver.send(people(20))
        await driver.settle()
        clock.set_wall(HOURS)
        abandoned = len(driver.told(WindowAbandoned))
        driver.send(people(40, 20))  # one window is refused, and the next one waits behind it
        for _ in range(15):
            await _turn(driver)
        (away,) = driver.told(BrokerAway)
        assert (away.doing, driver.told(ReadinessChanged)[-1].ready) == (Away.DATING, False)
        assert "clock" in away.error
        assert "transaction_timeout" not in away.error
        clock.set_wall(-HOURS)
        for _ in range(20):
            await _turn(driver)
        assert [back.doing for back in driver.told(BrokerBack)] == [Away.DATING]
        assert driver.told(ReadinessChanged)[-1].ready
        assert {event.outcome for event in driver.told(TransactionEnded)} == {Outcome.COMMITTED, Outcome.REPEATED}
        assert len(driver.told(WindowAbandoned)) == abandoned, "read again, they would be put into other classes"
    _check(broker, 60)


async def test_a_window_that_brings_the_policy_document_brings_it_also_if_its_times_are_refused() -> None:
    broker, clock = _world()
    right = broker.wall
    async with Driver(broker, clock) as driver:
        driver.send(people(20))
        await driver.settle()
        clock.advance(HOUR)
        broker.wall = lambda: right() - HOURS
        driver.send(people(20, 20))
        for _ in range(5):
            await _turn(driver)
        assert not driver.told(ReadinessChanged)[-1].ready
        broker.wall = right
        for _ in range(5):
            await _turn(driver)
    _check(broker, 40)
    documents = [parcel for parcel in broker.committed if "policy" in dict(parcel.headers)]
    assert len(documents) == 2, "one with the first window of each hour"


async def _turn(driver: Driver) -> None:
    driver.clock.advance(1)
    await driver.worker.turn()
    await asyncio.sleep(0.01)


async def test_a_clock_that_is_set_back_by_two_hours_disturbs_nothing() -> None:
    broker, clock = _world()
    clock.set_wall(HOURS / 4)  # the machine was wrong, as far as the broker takes it
    async with Driver(broker, clock) as driver:
        driver.send(people(30))
        await driver.settle()
        clock.set_wall(-HOURS)
        await driver.advance(10)
        assert broker.accounted == 30
        assert not driver.told(BrokerAway)
    assert [c["opened"] <= c["closed"] for c in broker.certificates] == [True] * len(broker.certificates)


async def test_a_worker_that_lost_its_partitions_no_longer_says_that_its_clock_is_wrong() -> None:
    broker, clock = _world()
    async with Driver(broker, clock) as driver, Driver(broker, clock, "two"), Driver(broker, clock, "three"):
        await driver.settle()
        async with Driver(broker, clock, "four"):
            clock.set_wall(HOURS)
            driver.send(people(20), 0)
            await driver.settle()
            assert not driver.told(ReadinessChanged)[-1].ready
            broker.members["one"] = broker.members.pop("one")  # it joined last
            broker.rebalance()
            await driver.settle()
            assert driver.told(BrokerBack)[-1].doing is Away.DATING
            assert driver.told(ReadinessChanged)[-1].ready


class JumpingStorm(Storm):
    """A storm in which the clock of all workers also jumps by two hours, and is set right 15 seconds later."""

    def __init__(self, seed: int, groups: int = 1) -> None:
        super().__init__(seed, groups)
        self.jumped, self.jumps, self._right_at = 0.0, 0, 0.0
        right = self.clock.wall() - self.clock.monotonic()
        for group in self.groups:
            group.wall = lambda: right + self.clock.monotonic()

    async def step(self) -> None:
        if self.jumped and self.clock.monotonic() >= self._right_at:
            self.set_right()
        elif not self.jumped and self.draws.random() < 0.05:
            self.jumped = HOURS if self.draws.random() < 0.7 else -HOURS
            self.clock.set_wall(self.jumped)
            self.jumps += 1
            self._right_at = self.clock.monotonic() + 15
        await super().step()

    def set_right(self) -> None:
        self.clock.set_wall(-self.jumped)
        self.jumped = 0.0

    async def calm(self) -> None:
        self.set_right()
        await super().calm()


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(3, 20))])
async def test_every_record_is_released_once_in_a_storm_of_clocks(seed: int) -> None:
    storm = JumpingStorm(seed, groups=1 + seed % 2)
    for _ in storm.groups:
        await storm.add_worker()
    for _ in range(STEPS):
        await storm.step()
    await storm.calm()
    for driver in storm.workers:
        driver.stopping.set()
        await driver.worker.disconnect()
    assert storm.jumps
    _check(storm.broker, storm.sent)
