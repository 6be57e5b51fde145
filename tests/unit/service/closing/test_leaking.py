"""What windows leak is measured of published windows only, seldom, and of few people by the published alone."""

from __future__ import annotations

import asyncio
import itertools
import json
from random import Random
from typing import Any

import numpy as np
import pytest

from stream_anon.engine.closing import Closer
from stream_anon.microdata.columns import Columns
from stream_anon.service.closing import leaking
from stream_anon.service.closing.leaking import LEAST_SECONDS, PRIVATE_SECONDS, SHARE, LeakageSamples
from stream_anon.service.events import Outcome, TransactionEnded, WindowMeasured, WindowPublished
from tests.support.clock import FakeClock
from tests.support.driver import CITIES, Driver
from tests.support.lying import Told, sealed
from tests.support.memory import MemoryBroker
from tests.support.releases import ward_policy

ENOUGH = 1000  # people, for two quasi-identifiers
WINDOW = {"max_records": ENOUGH}


def _people(count: int, first: int = 0, persons: int | None = None) -> list[bytes]:
    """Return records: half are from Aachen, the rest from three other towns, ages evenly from 0 to 99."""
    return [
        json.dumps(
            {
                "person": first + n % (persons or count),
                "age": n % 100,
                "city": CITIES[max(0, n % 6 - 2)],
                "serial": n,
            }
        ).encode()
        for n in range(count)
    ]


async def _settled(driver: Driver) -> list[WindowMeasured]:
    await driver.settle()
    await asyncio.wait_for(driver.worker._parts.leakages.sampler.wait(), 20)
    return driver.told(WindowMeasured)


async def test_a_published_window_of_many_people_is_measured() -> None:
    async with Driver(window=WINDOW) as driver:
        driver.send(_people(ENOUGH))
        (found,) = await _settled(driver)
    shares = {name: (before, after) for name, before, after in found.shares}
    assert list(shares) == ["age", "city"]
    assert shares["age"][0] == pytest.approx(np.log2(100) / np.log2(ENOUGH), abs=0.2)
    assert shares["city"][0] == pytest.approx((0.5 + 0.5 * np.log2(6)) / np.log2(ENOUGH), abs=0.2)
    assert 0 < shares["city"][1] <= 0.5
    assert found.seconds >= 0


@pytest.mark.parametrize("persons", [1, 400])
async def test_of_few_people_only_what_is_published_is_measured_however_many_records_they_have(
    persons: int,
) -> None:
    async with Driver(window=WINDOW | {"max_records_per_individual": 1000}) as driver:
        driver.send(_people(ENOUGH, persons=persons))
        found = await _settled(driver)
        (window,) = driver.told(WindowPublished)
        assert len(found) == (window.released > 0)
        assert [before for event in found for _, before, _ in event.shares] == [None] * 2 * len(found)
        assert bool(found) == (persons > 1)


async def test_the_last_answer_stays_while_later_windows_have_too_few_people() -> None:
    async with Driver(window=WINDOW | {"max_records_per_individual": 1000}) as driver:
        driver.send(_people(ENOUGH))
        await _settled(driver)
        driver.clock.advance(PRIVATE_SECONDS)
        driver.send(_people(ENOUGH, ENOUGH, persons=400))
        first, second = await _settled(driver)
    assert [before for _, before, _ in second.shares] == [before for _, before, _ in first.shares] != [None, None]


async def test_of_few_published_records_the_original_ones_are_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else each small window would spend of what may be told of its people, and tell nothing."""
    monkeypatch.setattr(leaking, "shares_before", None)
    async with Driver(window={"max_records": 100}) as driver:
        driver.send(_people(100))
        (found,) = await _settled(driver)
    assert [(name, before) for name, before, _ in found.shares] == [("age", None), ("city", None)]
    assert all(after > 0 for *_, after in found.shares)


async def test_all_records_of_a_window_are_told_of_whatever_became_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is suppressed depends on the records of others."""
    seen: list[Columns] = []
    monkeypatch.setattr(leaking, "least_told", lambda *_: 1)
    monkeypatch.setattr(leaking, "shares_before", lambda columns, *_: seen.append(columns))
    policy = ward_policy()
    n, q = 9, len(policy.quasi_identifiers)
    values = np.zeros((len(policy.diverse), n), np.int32) + np.arange(n, dtype=np.int32) % 3
    rows = Columns(np.zeros((q, n), np.int32), np.arange(n, dtype=np.int32), values)
    window = sealed(policy, rows, Told([0] * 6 + [-1] * 3))
    release = Closer(policy).release(window, np.random.default_rng(0))
    assert release.released == 6
    samples = LeakageSamples(policy, FakeClock(), lambda _: None, Random(0).randrange)
    samples.take(window, release)
    await samples.sampler.wait()
    assert [len(columns) for columns in seen] == [n]


async def test_original_records_are_told_of_once_an_hour_and_released_ones_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = itertools.count()
    monkeypatch.setattr(leaking, "shares_before", lambda *_: np.full(2, next(answers) / 10))
    async with Driver(window=WINDOW) as driver:
        told = []
        for number, pause in enumerate((LEAST_SECONDS, PRIVATE_SECONDS - LEAST_SECONDS - 1, 1 + LEAST_SECONDS, 0)):
            driver.send(_people(ENOUGH, number * ENOUGH))
            told.append((await _settled(driver))[-1].shares)
            driver.clock.advance(pause)
    assert len(driver.told(WindowMeasured)) == 4
    assert [[before for _, before, _ in shares] for shares in told] == [[0.0, 0.0]] * 3 + [[0.1, 0.1]]


async def test_nothing_is_measured_of_an_open_window() -> None:
    async with Driver(window={"max_records": ENOUGH + 1}) as driver:
        driver.send(_people(ENOUGH))
        assert await _settled(driver) == []
        assert driver.worker._engine.open_window.records == ENOUGH


async def test_nothing_is_measured_of_a_window_of_which_nothing_was_released() -> None:
    async with Driver(window={"max_records": ENOUGH + 1}, privacy={"k": ENOUGH + 1}) as driver:
        driver.send(_people(ENOUGH))
        await driver.advance(11)
        assert await _settled(driver) == []
        (window,) = driver.told(WindowPublished)
        assert (window.released, sum(window.suppressed.values())) == (0, ENOUGH)


async def test_nothing_is_measured_of_a_window_that_was_not_published() -> None:
    broker = MemoryBroker(1)
    async with Driver(broker, window=WINDOW) as driver:
        driver.sink.gate_at = "begin"
        driver.sink.gate.clear()
        driver.send(_people(ENOUGH))
        await driver.settle()
        broker.members.pop("one")
        driver.source.asleep = True
        driver.sink.gate.set()
        assert await _settled(driver) == []
        assert [event.outcome for event in driver.told(TransactionEnded)] == [Outcome.FENCED]
        driver.source.wake()
        assert len(await _settled(driver)) == 1, "the same records, now published"


async def test_measurements_take_no_more_than_their_share_and_come_once_a_minute_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Driver(window=WINDOW) as driver:
        begun = driver.clock.monotonic()
        measure = leaking.shares_after

        def slow(*given: Any) -> Any:
            driver.clock.advance(2.0)
            return measure(*given)

        monkeypatch.setattr(leaking, "shares_after", slow)
        for number in range(30):
            driver.send(_people(ENOUGH, number * ENOUGH))
            found = await _settled(driver)
            driver.clock.advance(10)
        assert len(driver.told(WindowPublished)) == 30
        elapsed = driver.clock.monotonic() - begun
        spent = sum(event.seconds for event in found)
        assert spent == 2.0 * len(found)
        assert spent <= SHARE * (elapsed + 2.0 / SHARE)
        assert len(found) == 3, "in 300 seconds, each followed by a rest of 98"
        monkeypatch.setattr(leaking, "shares_after", measure)
        driver.clock.advance(200)
        for number in range(30, 39):
            driver.send(_people(ENOUGH, number * ENOUGH))
            found = await _settled(driver)
            driver.clock.advance(LEAST_SECONDS / 4)
        assert len(found) == 3 + 3, "of nine windows, 15 seconds apart"


async def test_a_measurement_that_breaks_off_is_told_without_its_text_and_the_worker_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def breaks(*_: object) -> None:
        raise ValueError("jane")

    monkeypatch.setattr(leaking, "shares_after", breaks)
    async with Driver(window=WINDOW) as driver:
        driver.send(_people(2 * ENOUGH))
        assert [event.shares for event in await _settled(driver)] == [()]
        assert len(driver.told(WindowPublished)) == 2
