"""A service that is given a target of loss learns sizes from published windows alone, and says which."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_anon.engine.part_losses import PartLosses
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.errors import SettingsError
from stream_anon.microdata.release import Release
from stream_anon.service.closing.size_learning import PAUSE
from stream_anon.service.events import SizesLearned, WindowAudited, WindowPublished, WindowStudied
from stream_anon.windowing.loss_law import WindowLoss
from tests.support.driver import CITIES, Driver
from tests.support.memory import MemoryBroker

WINDOW = {"max_records": 2_000, "max_delay": 10, "target_loss": 0.1}


def make_people(count: int, first: int = 0) -> list[bytes]:
    draws = np.random.default_rng(first)
    ages, cities = draws.integers(0, 100, count).tolist(), draws.integers(0, 4, count).tolist()
    return [
        json.dumps({"person": first + n, "age": ages[n], "city": CITIES[cities[n]], "serial": first + n}).encode()
        for n in range(count)
    ]


async def studied(driver: Driver) -> None:
    await driver.settle()
    parts = driver.worker._parts
    await asyncio.wait_for(parts.rechecks.sampler.wait(), 60)
    if parts.sizes is not None:
        await asyncio.wait_for(parts.sizes.sampler.wait(), 60)
    await driver.settle()


def _sizes(driver: Driver) -> list[int]:
    return [window.admitted for window in driver.told(WindowPublished)]


async def test_windows_become_as_small_as_the_target_allows_and_their_loss_stays_at_it() -> None:
    async with Driver(window=WINDOW | {"target_loss": 0.15}, privacy={"k": 10}) as driver:
        for number in range(32):
            driver.send(make_people(250, 250 * number))
            await studied(driver)
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
        driver.send(make_people(250))
        await studied(driver)
        assert driver.worker._parts.sizes is None
        assert driver.told(SizesLearned) == driver.told(WindowStudied) == []
        assert _sizes(driver) == [100, 100]


async def test_every_window_is_audited_however_often_its_parts_are_studied() -> None:
    async with Driver(window=WINDOW | {"max_records": 400, "target_loss": 0.01}, privacy={"k": 10}) as driver:
        for number in range(4):
            driver.send(make_people(400, 400 * number))
            await studied(driver)
            driver.clock.advance(2 * PAUSE)
        assert [event.result for event in driver.told(WindowAudited)] == ["passed"] * 4
        assert len(driver.told(WindowStudied)) == 4


async def test_studies_come_seldom() -> None:
    async with Driver(window=WINDOW | {"max_records": 400}, privacy={"k": 10}) as driver:
        begun = driver.clock.monotonic()
        for number in range(9):
            driver.send(make_people(400, 400 * number))
            await studied(driver)
            driver.clock.advance(PAUSE / 4)
        elapsed = driver.clock.monotonic() - begun
        studies = driver.told(WindowStudied)
    assert 1 <= len(studies) <= 1 + elapsed / PAUSE


async def test_windows_without_parts_to_study_leave_the_time_to_the_next_one() -> None:
    async with Driver(window=WINDOW | {"max_delay": 1}, privacy={"k": 10}) as driver:
        driver.send(make_people(150))
        await driver.advance(1)
        await studied(driver)
        assert not driver.told(WindowStudied)
        driver.send(make_people(800, 150))
        await driver.advance(1)
        await studied(driver)
        assert len(driver.told(WindowStudied)) == 1


def _some_too_far() -> list[bytes]:
    """Return records of people most of whom are young, a few old and alone, and one of whom has too many."""
    ages = np.random.default_rng(5).integers(0, 30, 300).tolist()
    ages[10:13] = 70, 80, 90
    persons = [*range(300), *([7] * 50)]
    return [
        json.dumps({"person": n, "age": age, "city": CITIES[0]}).encode()
        for n, age in zip(persons, [*ages, *([5] * 50)], strict=True)
    ]


SPARSE: dict[str, Any] = {
    "window": WINDOW | {"max_records_per_individual": 5},
    "privacy": {"k": 10},
    "attributes": {"age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}, "max_level": 3}},
}


async def test_nothing_is_learned_but_the_number_and_the_loss_of_published_records() -> None:
    async with Driver(**SPARSE) as driver:
        driver.send(_some_too_far())
        await driver.advance(10)
        await studied(driver)
        (window,) = driver.told(WindowPublished)
        assert {"max-level", "over-limit"} <= window.suppressed.keys()
        assert driver.worker._parts.sizes is not None
        (learned, _), *parts = driver.worker._parts.sizes._size._seen
        classes = driver.broker.certificates[0]["classes"]
    records = sum(one["records"] for one in classes)
    assert learned.records == records == window.released
    assert learned.loss == pytest.approx(sum(one["records"] * one["ncp"] for one in classes) / records)
    assert {part.records for part, _ in parts} <= {records // 2, records // 4}


async def test_a_window_of_which_nothing_was_published_teaches_nothing() -> None:
    async with Driver(window=WINDOW, privacy={"k": 10}) as driver:
        driver.send(make_people(9))
        await driver.advance(10)
        await studied(driver)
        assert [window.released for window in driver.told(WindowPublished)] == [0]
        assert driver.told(SizesLearned) == driver.told(WindowStudied) == []


async def test_parts_are_of_published_records_also_where_a_key_turns_the_window(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a key of 32 bytes, kept secretly")
    taken: list[tuple[SealedWindow, Release]] = []
    async with Driver(**SPARSE, engine={"draws_key_file": str(tmp_path / "key")}) as driver:
        assert driver.worker._parts.sizes is not None
        driver.worker._parts.sizes.take = lambda *given: taken.append(given)  # type: ignore[method-assign]
        driver.send(_some_too_far())
        await driver.advance(10)
    ((window, release),) = taken
    rows = np.flatnonzero(release.class_of_row >= 0)
    codes, classes = window.columns.codes[:, rows], release.class_of_row[rows]
    assert 0 < len(rows) < window.records
    assert (release.classes.low[:, classes] <= codes).all()
    assert (codes <= release.classes.high[:, classes]).all()


async def test_a_window_that_was_not_published_teaches_nothing() -> None:
    broker = MemoryBroker(1)
    async with Driver(broker, window=WINDOW) as driver:
        driver.sink.gate_at = "begin"
        driver.sink.gate.clear()
        driver.send(make_people(2_000))
        await driver.settle()
        broker.members.pop("one")
        driver.source.asleep = True
        driver.sink.gate.set()
        await studied(driver)
        assert driver.told(WindowPublished) == driver.told(SizesLearned) == driver.told(WindowStudied) == []


async def test_of_the_open_window_nothing_but_its_age_and_counts_of_records_and_people_decides() -> None:
    """Two streams with equal windows and another open one close it at the same record."""
    ends = []
    for same in (True, False):
        async with Driver(window=WINDOW) as driver:
            driver.worker.learn_from(WindowLoss(100, 0.1))
            driver.send(
                make_people(100) if same else [json.dumps({"person": n, "age": 7}).encode() for n in range(100)]
            )
            await studied(driver)
            ends.append(_sizes(driver))
    assert ends[0] == ends[1] == [100]


async def test_a_restart_begins_with_the_window_that_was_published_last() -> None:
    async with Driver(window=WINDOW) as driver:
        driver.worker.learn_from(WindowLoss(500, 0.1))
        driver.send(make_people(2_000))
        await studied(driver)
        assert _sizes(driver)[0] == 502


async def test_a_study_that_breaks_off_is_told_without_its_text_and_windows_are_learned_from_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def breaks(*_: object) -> Any:
        raise ValueError("jane")

    monkeypatch.setattr(PartLosses, "of", breaks)
    async with Driver(window=WINDOW) as driver:
        driver.send(make_people(2_000))
        await studied(driver)
        (study,) = driver.told(WindowStudied)
        assert study.broke_off
        assert "jane" not in repr(driver.events)
        assert driver.told(SizesLearned)[-1].in_use < 2_000


async def test_a_target_out_of_reach_is_said() -> None:
    async with Driver(window=WINDOW | {"target_loss": 0.01}) as driver:
        driver.send(make_people(300))
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
