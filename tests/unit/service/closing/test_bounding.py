"""Windows of a worker that nobody has bounded by a number follow what time and memory allow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from stream_anon.engine.window import SealedWindow
from stream_anon.microdata.policy import LEAST_AUTO
from stream_anon.service.closing import bounding
from stream_anon.service.events import Durations, RecordsConsumed, WindowProgress, WindowPublished, WindowsBounded
from stream_anon.service.intake import input_reader
from tests.support.driver import Driver, people

AUTO = {"max_records": "auto", "max_delay": 10}


async def test_nothing_but_age_closes_a_window_that_is_small() -> None:
    async with Driver(window=AUTO) as driver:
        driver.send(people(300))
        await driver.settle()
        assert not driver.told(WindowPublished)
        await driver.advance(10.0)
        assert [event.records_in for event in driver.told(WindowPublished)] == [300]
        assert not driver.broker.astray


async def test_records_of_a_window_that_is_twice_too_slow_come_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounding, "LEAST_AUTO", 10)
    async with Driver(window=AUTO) as driver:
        driver.sink.break_at = ["settle", "settle"]
        driver.send(people(200))
        await driver.advance(10.0)
        await driver.settle(60)
        told = driver.told(WindowsBounded)
        assert [(event.records, event.reason, event.smaller) for event in told[:2]] == [
            (100_000, "begun", False),
            (100, "time", True),
        ]
        await driver.advance(10.0)
        await driver.settle(60)
        assert driver.broker.serials == dict.fromkeys(range(200), 1)
        assert [event.records_in for event in driver.told(WindowPublished)] == [100, 100]


async def test_a_window_of_a_chosen_size_is_tried_again_as_it_is() -> None:
    async with Driver(window={"max_records": 40, "max_delay": 10}) as driver:
        driver.sink.break_at = ["settle", "settle", "settle"]
        driver.send(people(40))
        await driver.settle(60)
        assert [event.records_in for event in driver.told(WindowPublished)] == [40]
        assert len(set(driver.sink.attempts)) == 1
        assert [event.reason for event in driver.told(WindowsBounded)] == ["begun"]


async def test_with_windows_bounded_by_memory_no_third_one_fills(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_reader, "MOST_POLLED", 20)  # records that come at once
    async with Driver(window=AUTO | {"max_memory": "4KB"}) as driver:
        driver.sink.gate.clear()
        driver.send(people(400))
        await driver.settle()
        taken = sum(event.records for event in driver.told(RecordsConsumed))
        assert driver.told(WindowProgress)[-1].paused
        polls = driver.source.polls
        await driver.settle()
        assert driver.source.polls == polls
        assert taken < 200
        driver.sink.gate.set()
        await driver.settle(200)
        await driver.advance(10.0)
        assert driver.broker.serials == dict.fromkeys(range(400), 1)
        sizes = [event.records_in for event in driver.told(WindowPublished)]
        assert len(sizes) > 4
        assert max(sizes) < 100, "what came at once is all that a window may hold beyond its bound"


async def test_where_memory_is_short_at_a_seal_the_next_windows_hold_less(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Driver(window=AUTO | {"max_memory": "1GiB"}) as driver:
        monkeypatch.setattr(SealedWindow, "held", property(lambda _: 2**28))
        monkeypatch.setattr(driver.worker._parts.bounding, "_free", lambda: 2**27)
        driver.send(people(20))
        await driver.advance(10.0)
        bound = driver.told(WindowsBounded)[-1]
        assert (bound.records, bound.memory, bound.reason, bound.smaller) == (100_000, 2**27, "memory", True)


@pytest.mark.parametrize(
    ("durations", "records"),
    [
        (
            Durations(1.2, 0.4, 0.3, 0.1),
            50_000,
        ),  # 1.8 of the 2.5 s that a delay of 10 s leaves
        (Durations(0.9, 0.3, 0.6, 0.1), 100_000),
        (Durations(0.3, 0.1, 0.3, 0.1), 200_000),
        (Durations(0.1, 0.1, 3.0, 2.9), 200_000),  # a commit takes no longer for more records
        (Durations(0.1, 0.1, 60.0, 0.1), 50_000),
    ],
)
async def test_windows_whose_closing_uses_up_the_delay_budget_become_smaller(
    durations: Durations, records: int
) -> None:
    async with Driver(window=AUTO) as driver:
        window = cast("SealedWindow", SimpleNamespace(records=100_000))
        driver.worker._parts.bounding.published(window, durations)
        assert driver.told(WindowsBounded)[-1].records == records


async def test_no_window_is_made_smaller_than_the_promise_for_want_of_delay() -> None:
    async with Driver(window=AUTO) as driver:
        for records in (100_000, 50_000, 12_000, 10_000, 3):
            window = cast("SealedWindow", SimpleNamespace(records=records))
            driver.worker._parts.bounding.published(window, Durations(60.0, 60.0, 60.0, 0.1))
        assert driver.told(WindowsBounded)[-1].records == LEAST_AUTO


async def test_a_number_of_records_is_not_bounded_by_memory_unless_asked() -> None:
    async with Driver() as driver:
        assert driver.told(WindowsBounded) == [WindowsBounded(20, None, "begun")]
