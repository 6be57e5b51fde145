"""A service that is given a target of loss learns sizes from published windows alone, and says which."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
import pytest

from stream_anon.engine.part_losses import PartLosses
from stream_anon.errors import SettingsError
from stream_anon.service.closing.size_learning import PAUSE
from stream_anon.service.events import SizesLearned, WindowAudited, WindowPublished, WindowStudied
from stream_anon.windowing.loss_law import WindowLoss
from tests.support.driver import CITIES, Driver
from tests.support.memory import MemoryBroker

WINDOW = {"max_records": 2_000, "max_delay": 10, "target_loss": 0.1}


def _people(count: int, first: int = 0) -> list[bytes]:
    draws = np.random.default_rng(first)
    ages, cities = draws.integers(0, 100, count).tolist(), draws.integers(0, 4, count).tolist()
    return [
        json.dumps({"person": first + n, "age": ages[n], "city": CITIES[cities[n]], "serial": first + n}).encode()
        for n in range(count)
    ]


async def _studied(driver: Driver) -> None:
    await driver.settle()
    await asyncio.wait_for(driver.worker._parts.rechecks._sampler.wait(), 60)
    await driver.settle()


def _sizes(driver: Driver) -> list[int]:
    return [window.admitted for window in driver.told(WindowPublished)]


async def test_windows_become_as_small_as_the_target_allows_and_their_loss_stays_at_it() -> None:
    async with Driver(window=WINDOW | {"target_loss": 0.15}, privacy={"k": 10}) as driver:
        for number in range(32):
            driver.send(_people(250, 250 * number))
            await _studied(driver)
            driver.clock.advance(0.1)
        sizes, windows = _sizes(driver), driver.told(WindowPublished)
        learned = driver.told(SizesLearned)
    assert sizes[0] == 2_000
    assert max(sizes[5:]) < 1_000
    assert np.mean([window.gcp for window in windows[5:]]) == pytest.approx(0.15, rel=0.2)
    assert learned[0].before == 2_000
    assert learned[-1].needed < learned[-1].by_delay
    assert driver.broker.accounted >= sum(sizes)


async def test_without_a_target_nothing_is_studied() -> None:
    async with Driver(window={"max_records": 100}) as driver:
        driver.send(_people(250))
        await _studied(driver)
        assert driver.worker._parts.sizes is None
        assert driver.told(SizesLearned) == driver.told(WindowStudied) == []
        assert _sizes(driver) == [100, 100]


async def test_studies_come_seldom_and_leave_the_time_between_them_to_audits() -> None:
    async with Driver(window=WINDOW | {"max_records": 400}, privacy={"k": 10}) as driver:
        begun = driver.clock.monotonic()
        for number in range(9):
            driver.send(_people(400, 400 * number))
            await _studied(driver)
            driver.clock.advance(PAUSE / 4)
        elapsed = driver.clock.monotonic() - begun
        studies = driver.told(WindowStudied)
        passed = sum(event.result == "passed" for event in driver.told(WindowAudited))
    assert 1 <= len(studies) <= 1 + elapsed / PAUSE
    assert passed >= 9 - len(studies)


async def test_a_window_that_was_not_published_teaches_nothing() -> None:
    broker = MemoryBroker(1)
    async with Driver(broker, window=WINDOW) as driver:
        driver.sink.gate_at = "begin"
        driver.sink.gate.clear()
        driver.send(_people(2_000))
        await driver.settle()
        broker.members.pop("one")
        driver.source.asleep = True
        driver.sink.gate.set()
        await _studied(driver)
        assert driver.told(WindowPublished) == driver.told(SizesLearned) == driver.told(WindowStudied) == []


async def test_of_the_open_window_nothing_but_count_and_age_decides() -> None:
    """Two streams with equal windows and another open one close it at the same record."""
    ends = []
    for same in (True, False):
        async with Driver(window=WINDOW) as driver:
            driver.worker.learn_from(WindowLoss(100, 0.1))
            driver.send(
                _people(100) if same else [json.dumps({"person": n, "age": 7}).encode() for n in range(100)]
            )
            await _studied(driver)
            ends.append(_sizes(driver))
    assert ends[0] == ends[1] == [100]


async def test_a_restart_begins_with_the_window_that_was_published_last() -> None:
    async with Driver(window=WINDOW) as driver:
        driver.worker.learn_from(WindowLoss(500, 0.1))
        driver.send(_people(2_000))
        await _studied(driver)
        assert _sizes(driver)[0] == 502


async def test_a_study_that_breaks_off_is_told_without_its_text_and_windows_are_learned_from_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def breaks(*_: object) -> Any:
        raise ValueError("jane")

    monkeypatch.setattr(PartLosses, "of", breaks)
    async with Driver(window=WINDOW) as driver:
        driver.send(_people(2_000))
        await _studied(driver)
        (study,) = driver.told(WindowStudied)
        assert study.broke_off
        assert "jane" not in repr(driver.events)
        assert driver.told(SizesLearned)[-1].in_use < 2_000


async def test_a_target_out_of_reach_is_said() -> None:
    async with Driver(window=WINDOW | {"target_loss": 0.01}) as driver:
        driver.send(_people(300))
        await driver.advance(10)
        (learned, *_) = driver.told(SizesLearned)
    assert learned.out_of_reach
    assert learned.by_delay == pytest.approx(300, rel=0.12)
    assert learned.in_use == 2_000


@pytest.mark.parametrize("asked", [{"t_closeness": {"t": 0.3}}, {"delta_disclosure": 1.0}, {"beta_likeness": 1.0}])
def test_a_target_is_refused_where_criteria_compare_classes_with_their_window(asked: dict[str, Any]) -> None:
    sensitive = {"ill": {"role": "sensitive"}}
    with pytest.raises(SettingsError, match=r"window\.target_loss"):
        Driver(window=WINDOW, privacy={"sensitive": {"ill": asked}}, attributes=sensitive)
