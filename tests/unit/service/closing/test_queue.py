"""Small windows of a backlog go out together, as a whole or not at all; large ones one by one."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime

import pytest

from stream_anon import errors
from stream_anon.audit.audit import Audit
from stream_anon.audit.verdict import Verdict
from stream_anon.errors import TimeRefused
from stream_anon.privacy.certificate import certificate_digest, read_part
from stream_anon.service import retrying
from stream_anon.service.closing import queue
from stream_anon.service.events import (
    Outcome,
    RecordsConsumed,
    TransactionBroken,
    TransactionEnded,
    WindowAbandoned,
    WindowPublished,
)
from tests.support.clock import FakeClock
from tests.support.driver import Driver, people
from tests.support.memory import INPUT, MemoryBroker

HELD = 60  # records behind the window whose transaction hangs: three windows


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TimeRefused, "least_pause", 0.001)
    for pause in ("FIRST_PAUSE", "LONGEST_PAUSE"):
        monkeypatch.setattr(retrying, pause, 0.001)


async def until(driver: Driver, holds: Callable[[], object]) -> None:
    """Let the worker turn until something holds."""
    async with asyncio.timeout(30):
        while not holds():
            await driver.worker.turn()


async def hang(driver: Driver) -> None:
    """Let a window hang in its transaction."""
    driver.sink.gate.clear()
    driver.send(people(20))
    await until(driver, lambda: driver.sink.attempts)


async def held(driver: Driver, records: int = HELD) -> None:
    """Let a window hang in its transaction while others are closed behind it."""
    await hang(driver)
    driver.send(people(records, 20))
    await closed_behind(driver)


async def closed_behind(driver: Driver, least: int = 1) -> None:
    waiting = driver.worker._queue
    await until(driver, lambda: len(waiting._waiting) >= least and not waiting._unclosed)


async def ended(driver: Driver) -> None:
    """Let the transaction that hangs end, without a turn of the worker."""
    driver.sink.gate.set()
    publishing = driver.worker._queue._publishing
    assert publishing is not None
    await asyncio.wait([publishing], timeout=30)


async def finish(driver: Driver) -> None:
    driver.sink.gate.set()
    for _ in range(4):
        await driver.settle()


def windows_of(driver: Driver) -> list[int]:
    """Return how many windows each attempt has sent."""
    return [len({p.headers[0] for p in attempt if p.topic == "out"}) for attempt in driver.sink.attempts]


def check_once(broker: MemoryBroker, sent: int) -> None:
    assert broker.serials == Counter(range(sent))
    assert broker.offsets == broker.ledger
    parts = broker.certificate_parts
    named = [read_part(part).previous for part in parts]
    assert named == [None, *(certificate_digest([part]) for part in parts[:-1])], "certificates name each other"


def audited(driver: Driver) -> Verdict:
    """Return what the audit says of all that is visible."""
    audit = Audit(driver.worker._parts.policy)
    for parcel in driver.broker.committed:
        batch = dict(parcel.headers).get("batch", b"").decode() or None
        for value in parcel.values:
            if parcel.topic == "out.certificates":
                audit.add_part(value, batch)
            elif parcel.topic == "out":
                audit.add_record(batch, json.loads(value or b""), parcel.time)
    return audit.finish()


async def test_windows_that_are_closed_during_a_transaction_go_out_in_the_next_one() -> None:
    async with Driver(MemoryBroker(1)) as driver:
        await held(driver)
        await finish(driver)
        assert windows_of(driver) == [1, 3]
        assert [event.outcome for event in driver.told(TransactionEnded)] == [Outcome.COMMITTED] * 2
        published = driver.told(WindowPublished)
        assert [window.ranges for window in published] == [((INPUT, 0, 20 * n, 20 * n + 20),) for n in range(4)]
        assert len({window.batch for window in published}) == 4
        (entry,) = [p for p in driver.sink.attempts[1] if p.topic == "ledger"]
        assert len(entry.values) == 1, "the entry of the last window stands for all"
        assert driver.broker.released_by == {(INPUT, 0): published[-1].batch}
        check_once(driver.broker, 80)


async def test_the_time_of_a_transaction_is_counted_once() -> None:
    async with Driver(MemoryBroker(1)) as driver:
        await held(driver)
        driver.clock.advance(6.0)
        await finish(driver)
        first, *together = driver.told(WindowPublished)
        assert first.durations.publish == pytest.approx(6.0)
        assert sum(window.durations.publish for window in together) == pytest.approx(0.0)


@pytest.mark.parametrize("verb", ["begin", "send after", "settle", "commit_offsets after", "commit"])
async def test_a_bundle_that_broke_leaves_nothing_and_its_windows_go_out_one_by_one(verb: str) -> None:
    async with Driver(MemoryBroker(1)) as driver:
        await held(driver)
        await ended(driver)
        driver.sink.break_at.append(verb)
        await finish(driver)
        assert windows_of(driver)[-3:] == [1, 1, 1]
        assert not driver.told(WindowAbandoned)
        assert [event.outcome for event in driver.told(TransactionEnded)][1] is Outcome.REPEATED
        assert [event.windows for event in driver.told(TransactionBroken)] == [3]
        check_once(driver.broker, 80)
        driver.send(people(60, 80))
        await finish(driver)
        assert windows_of(driver)[-3:] == [1, 1, 1], "what broke a bundle may break the next one"
        check_once(driver.broker, 140)


async def test_a_bundle_whose_commit_was_not_answered_is_found_and_not_sent_again() -> None:
    async with Driver(MemoryBroker(1)) as driver:
        await held(driver)
        await ended(driver)
        driver.sink.break_at.append("commit after")
        await finish(driver)
        assert windows_of(driver) == [1, 3]
        assert [window.outcome for window in driver.told(WindowPublished)][1:] == [Outcome.FOUND_COMMITTED] * 3
        check_once(driver.broker, 80)


async def test_a_bundle_of_an_old_generation_is_turned_away_whole() -> None:
    async with Driver(MemoryBroker(1)) as driver:
        await held(driver)
        driver.source.asleep = True
        await ended(driver)
        driver.broker.members.pop("one")
        await driver.settle()
        assert [event.reason for event in driver.told(WindowAbandoned)] == ["fenced"] * 3
        assert driver.broker.serials == Counter(range(20))
        driver.source.wake()
        await finish(driver)
        check_once(driver.broker, 80)


async def test_a_bundle_whose_records_another_group_has_released_is_lost_whole() -> None:
    broker = MemoryBroker(1)
    async with Driver(broker) as first:
        await held(first)
        await ended(first)
        async with Driver(broker.other_group(), first.clock, "two") as second:
            await finish(second)
            assert broker.serials == Counter(range(80))
            await finish(first)
            assert windows_of(first) == [1, 3]
            assert [event.outcome for event in first.told(TransactionEnded)][1:] == [Outcome.LOST]
            assert [event.reason for event in first.told(WindowAbandoned)] == ["lost"] * 3
            assert [event.windows for event in first.told(TransactionBroken)] == [3]
            assert broker.serials == Counter(range(80))
            verdict = audited(second)
            assert (verdict.clean, verdict.counts.windows, verdict.counts.records) == (True, 4, 80)


@pytest.mark.parametrize("verb", [None, "commit", "commit after"])
async def test_the_audit_of_an_output_with_bundles_finds_nothing(verb: str | None) -> None:
    async with Driver(MemoryBroker(1)) as driver:
        await held(driver)
        await ended(driver)
        driver.sink.break_at += [verb] if verb else []
        await finish(driver)
        assert max(windows_of(driver)) == 3
        verdict = audited(driver)
        assert (verdict.clean, verdict.counts.windows, verdict.counts.records) == (True, 4, 80)
        (one,) = [p for p in driver.broker.committed if p.topic == "out.certificates"][-1:]
        driver.broker.committed.remove(one)
        assert not audited(driver).clean, "it would find a window without its certificate"


async def test_a_bundle_whose_times_are_refused_is_dated_anew_in_the_same_classes() -> None:
    broker, clock = MemoryBroker(1), FakeClock()
    right = clock.wall() - clock.monotonic()
    broker.wall = lambda: right + clock.monotonic()
    async with Driver(broker, clock) as driver:
        await hang(driver)
        clock.set_wall(7200.0)
        driver.send(people(HELD, 20))
        await closed_behind(driver)
        driver.sink.gate.set()
        for _ in range(15):
            await driver.worker.turn()
            await driver.worker._queue.wait(0.01)
        assert windows_of(driver)[1] == 3
        clock.set_wall(-7200.0)
        await until(driver, lambda: broker.accounted >= 80)
        assert not driver.told(WindowAbandoned), "read again, they would be put into other classes"
        check_once(broker, 80)
        closed = [datetime.fromisoformat(certificate["closed"]).timestamp() for certificate in broker.certificates]
        assert max(closed) <= broker.wall() + 1


async def test_a_record_that_the_output_refuses_turns_no_window_before_it_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(errors, "LEAST_LIMIT", 100)
    notes = {"note": {"role": "insensitive", "accept_linkable": True}}
    async with Driver(MemoryBroker(1), attributes=notes) as driver:
        driver.sink.takes["out"] = 400
        await held(driver, 40)
        large = b'{"person": 999, "age": 9, "city": "Bonn", "serial": 60, "note": "%s"}' % (b"x" * 500)
        driver.send([large, *people(19, 61)])
        await closed_behind(driver, 3)
        await finish(driver)
        await driver.advance(10)
        assert windows_of(driver)[:5] == [1, 3, 1, 1, 1]
        assert [event.reason for event in driver.told(WindowAbandoned)] == ["refused"]
        assert {serial for serial in range(60) if driver.broker.serials[serial] == 1} == set(range(60))
        assert max(driver.broker.serials.values()) == 1
        assert sum(len(driver.broker.visible(topic)) for topic in ("out", "out.dead-letters")) == 80
        assert not driver.broker.astray


@pytest.mark.parametrize("delivery", ["at-least-once", "shadow"])
async def test_without_transactions_each_window_goes_out_alone_and_none_gathers(delivery: str) -> None:
    """A bundle that broke would be visible, and those of its windows that are read again get other classes."""
    async with Driver(MemoryBroker(1)) as driver:
        driver.sink.delivery = delivery
        await hang(driver)
        driver.send(people(HELD, 20))
        waiting = driver.worker._queue
        await driver.settle()
        assert len(waiting._waiting) == 1
        assert waiting.full
        assert not waiting.room
        await ended(driver)
        waiting.collect()
        assert not waiting.gathers
        await finish(driver)
        assert windows_of(driver) == [1, 1, 1, 1]
        assert [event.outcome for event in driver.told(TransactionEnded)] == [Outcome.COMMITTED] * 4
        check_once(driver.broker, 80)


@pytest.mark.parametrize(
    ("most", "value"), [("RECORDS_TOGETHER", 39), ("BYTES_TOGETHER", 1000), ("WINDOWS_TOGETHER", 1)]
)
async def test_no_third_window_waits_where_two_would_be_too_much(
    monkeypatch: pytest.MonkeyPatch, most: str, value: int
) -> None:
    monkeypatch.setattr(queue, most, value)
    async with Driver(MemoryBroker(1)) as driver:
        await held(driver, 200)
        read = sum(event.records for event in driver.told(RecordsConsumed))
        assert read < 40 + 4 * 20  # one is published, one waits, and a poll may fill four
        polls = driver.source.polls
        await driver.settle()
        assert driver.source.polls == polls
        await finish(driver)
        await driver.settle(60)
        assert max(windows_of(driver)) == 1 or most != "MOST_RECORDS"
        check_once(driver.broker, 220)


async def test_windows_of_a_worker_that_is_not_behind_go_out_at_once() -> None:
    async with Driver(MemoryBroker(1)) as driver:
        for first in (0, 20, 40):
            driver.send(people(20, first))
            await driver.settle()
        assert windows_of(driver) == [1, 1, 1]
