"""A service that runs publishes nothing after the last day of the release that its policy states."""

from __future__ import annotations

import datetime as dt

import pytest

from stream_anon.errors import Refused
from stream_anon.service.events import ReleaseExpired, TransactionBroken, WindowPublished
from tests.support.clock import FakeClock
from tests.support.driver import Driver, people
from tests.support.memory import MemoryBroker

LAST = "2027-03-31"
ENDS = dt.datetime(2027, 4, 1, tzinfo=dt.UTC).timestamp()


async def test_windows_go_out_until_the_last_day_is_over_and_then_the_run_ends() -> None:
    broker, clock = MemoryBroker(), FakeClock(wall=ENDS - 5)
    async with Driver(broker, clock, release={"valid_until": LAST, "owner": "dpo"}) as driver:
        driver.send(people(20))
        await driver.settle()
        assert len(driver.told(WindowPublished)) == 1
        clock.advance(5)
        driver.send(people(20, 20))
        with pytest.raises(Refused, match=r"release-expired: release\.valid_until: was 2027-03-31"):
            await driver.settle()
        assert driver.told(ReleaseExpired) == [ReleaseExpired(LAST)]
        assert len(driver.told(WindowPublished)) == 1
    assert sorted(broker.serials) == list(range(20))
    # What was withheld waits in the input. Whoever runs under a later day releases it.
    async with Driver(broker, clock, name="two", release={"valid_until": "2027-04-01"}) as driver:
        await driver.settle()
    assert sorted(broker.serials) == list(range(40))
    assert max(broker.serials.values()) == 1


async def test_a_window_that_was_sealed_in_time_is_not_published_late() -> None:
    broker, clock = MemoryBroker(), FakeClock(wall=ENDS - 5)
    async with Driver(broker, clock, release={"valid_until": LAST}) as driver:
        driver.send(people(10))
        await driver.settle()
        clock.advance(10)  # its deadline lies beyond the last day
        with pytest.raises(Refused):
            await driver.settle()
    assert (broker.records, broker.certificates, broker.offsets) == ([], [], {})


async def test_what_broke_in_time_is_not_sent_again_late() -> None:
    clock = FakeClock(wall=ENDS - 0.25)

    async def until_over(step: str) -> None:
        if step == "closing.7":
            clock.advance(1.0)
            raise ConnectionError("the broker is gone")

    broker = MemoryBroker()
    async with Driver(broker, clock, at=until_over, release={"valid_until": LAST}) as driver:
        driver.send(people(20))
        with pytest.raises(Refused):
            await driver.settle(turns=100)
        assert driver.told(TransactionBroken)
    assert (broker.records, broker.certificates, broker.offsets) == ([], [], {})


async def test_an_expiry_that_somebody_has_accepted_stops_nothing_and_every_certificate_names_it() -> None:
    broker = MemoryBroker()
    accepted = {"accept_risks": ["release-expired"]}
    async with Driver(broker, FakeClock(wall=ENDS + 5), kafka=accepted, release={"valid_until": LAST}) as driver:
        driver.send(people(20))
        await driver.settle()
        assert len(driver.told(WindowPublished)) == 1
        assert not driver.told(ReleaseExpired)
    assert [one["accepted"] for one in broker.certificates] == [["release-expired"]]
