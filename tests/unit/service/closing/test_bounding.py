"""Windows of a worker that nobody has bounded by a number follow what time and memory allow."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from stream_anon.adapters.kafka.ledger.no_ledger import NoLedger
from stream_anon.engine.window import SealedWindow
from stream_anon.microdata.policy import LEAST_AUTO
from stream_anon.ports import Membership, Parcel, Place, TopicIds
from stream_anon.service.closing import bounding
from stream_anon.service.events import (
    Durations,
    Outcome,
    RecordsConsumed,
    TransactionBroken,
    TransactionEnded,
    WindowProgress,
    WindowPublished,
    WindowsBounded,
)
from stream_anon.service.intake import input_reader
from stream_anon.service.wiring import building
from stream_anon.settings import model
from tests.support import driver as drivers
from tests.support.driver import Driver, people
from tests.support.memory import MemorySink

AUTO = {"max_records": "auto", "max_delay": 10}
LATE = 3.5  # seconds; a window is given 3.4


class PlainSink(MemorySink):
    """A producer without transactions: what was sent is visible, whatever follows."""

    delivery = "at-least-once"

    async def topic_ids(self, topics: Collection[str]) -> TopicIds:
        return TopicIds()

    async def send(self, parcels: Sequence[Parcel]) -> None:
        await super().send(parcels)
        self.broker.committed += parcels

    async def commit_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        self.broker.fence(membership)
        self.broker.offsets |= offsets

    async def commit(self) -> None:
        self.broker.open.pop(self.name)
        self._transaction = None


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
        driver.sink.breaking = lambda: driver.clock.advance(LATE)
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


@pytest.mark.parametrize(("number", "late"), [(60, LATE), (200, 0.0)], ids=["small", "broken at once"])
async def test_a_window_that_is_not_too_large_for_its_time_is_sent_again_as_it_is(
    monkeypatch: pytest.MonkeyPatch, number: int, late: float
) -> None:
    monkeypatch.setattr(bounding, "LEAST_AUTO", 60)
    async with Driver(window=AUTO) as driver:
        driver.sink.break_at = ["settle"] * 3
        driver.sink.breaking = lambda: driver.clock.advance(late)
        driver.send(people(number))
        await driver.advance(10.0)
        await driver.settle(60)
        assert [event.outcome for event in driver.told(TransactionEnded)] == [Outcome.REPEATED]
        assert len(set(driver.sink.attempts)) == 1
        assert [event.records for event in driver.told(WindowsBounded)] == [100_000]
        hints = ["kafka.transaction_timeout" in event.error for event in driver.told(TransactionBroken)]
        assert hints == [False, bool(late), bool(late)]


async def test_at_least_once_nobody_is_put_into_other_classes_since_a_window_was_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounding, "LEAST_AUTO", 10)
    monkeypatch.setattr(drivers, "MemorySink", PlainSink)
    monkeypatch.setattr(drivers, "MemoryLedger", lambda *_: NoLedger())
    async with Driver(window=AUTO) as driver:
        driver.sink.break_at = ["settle"] * 3
        driver.sink.breaking = lambda: driver.clock.advance(LATE)
        driver.send(people(300))
        await driver.advance(10.0)
        driver.send(people(200, 300))
        for _ in range(4):
            await driver.advance(10.0)
        shown: dict[int, set[tuple[object, str]]] = {}
        for parcel in driver.broker.committed:
            for value in parcel.values if parcel.topic == "out" else ():
                record = json.loads(value)
                shown.setdefault(record["serial"], set()).add((parcel.headers, json.dumps(record)))
        assert set(shown) == set(range(500))
        assert {len(forms) for forms in shown.values()} == {1}
        bounds = [(event.records, event.reason) for event in driver.told(WindowsBounded)]
        assert bounds[:2] == [(100_000, "begun"), (150, "time")], "later windows are smaller"
        assert max(event.records_in for event in driver.told(WindowPublished)[1:]) <= 150


@pytest.mark.parametrize("free", [0, 2**20])
async def test_a_worker_that_begins_with_memory_short_makes_windows_all_the_same(
    monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    monkeypatch.setattr(building, "free_memory", lambda: free)
    async with Driver(window=AUTO) as driver:
        assert [event.memory for event in driver.told(WindowsBounded)] == [16 * 2**20]
        for first in range(0, 60, 2):
            driver.send(people(2, first))
            await driver.settle(2)
        await driver.advance(10.0)
        assert [event.records_in for event in driver.told(WindowPublished)] == [60]
        assert driver.broker.serials == dict.fromkeys(range(60), 1)


@pytest.mark.parametrize("shortfall", [{}, {"shortfall": "hold", "least_people": 20}])
async def test_memory_closes_no_window_of_too_few_people(
    monkeypatch: pytest.MonkeyPatch, shortfall: dict[str, object]
) -> None:
    monkeypatch.setattr(model, "LEAST_MEMORY", 1)
    async with Driver(window=AUTO | {"max_memory": "1KB"} | shortfall) as driver:
        for first in range(120):
            driver.send(people(1, first))
            await driver.settle(1)
        await driver.advance(10.0)
        assert driver.broker.serials == dict.fromkeys(range(120), 1)
        sizes = [event.records_in for event in driver.told(WindowPublished)]
        assert set(sizes) == ({40} if shortfall else {2 * 3})


async def test_times_are_kept_of_no_more_records_than_are_worth_it() -> None:
    async with Driver(window=AUTO) as driver:
        assert driver.worker._reader._readings._most == input_reader.MOST_TIMES


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
    monkeypatch.setattr(model, "LEAST_MEMORY", 1)
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
