"""The whole worker on a fake clock and a broker in memory."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from stream_anon import errors
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.errors import BrokerError
from stream_anon.microdata.release import Release
from stream_anon.ports import DeadClient, Lost, Polled
from stream_anon.privacy.certificate import certificate_digest, read_part
from stream_anon.service.closing import queue
from stream_anon.service.events import (
    Away,
    BrokerAway,
    BrokerBack,
    InputSkipped,
    Outcome,
    PartitionsRevoked,
    PartitionStopped,
    ReadinessChanged,
    RecordsConsumed,
    TakeoverDone,
    TransactionBroken,
    TransactionEnded,
    WindowAbandoned,
    WindowProgress,
    WindowPublished,
)
from tests.support.driver import Driver, after_release, people
from tests.support.memory import INPUT, MemoryBroker, MemorySource

VERBS = ["begin", "send", "send after", "settle", "add_offsets", "commit_offsets", "commit_offsets after", "commit"]


def check_ranges(broker: MemoryBroker) -> None:
    """Ranges of successive windows join without gap or overlap."""
    ends: dict[int, int] = {}
    for certificate in broker.certificates:
        for part in certificate["inputs"]:
            assert ends.get(part["partition"], 0) == part["start"]
            ends[part["partition"]] = part["end"]


def check_once(broker: MemoryBroker, sent: int) -> None:
    """Every record was released once; the offsets and the ledger say so too."""
    assert broker.serials == Counter(range(sent))
    check_ranges(broker)
    assert sum(broker.offsets.values()) == sent
    assert broker.ledger == broker.offsets
    assert not broker.astray


async def test_full_window_closes_at_once() -> None:
    async with Driver() as driver:
        driver.send(people(20))
        await driver.settle()
        check_once(driver.broker, 20)
        (window,) = driver.told(WindowPublished)
        assert window.outcome is Outcome.COMMITTED
        assert (window.records_in, window.released, window.achieved_k) == (20, 20, window.class_sizes.min())
        assert sum(count for _, count in window.arrivals) == 20
        assert len(window.readings.times) == 20
        assert driver.told(RecordsConsumed)[0].records == 20


async def test_window_on_an_idle_topic_closes_at_its_deadline() -> None:
    async with Driver() as driver:
        driver.send(people(7))
        await driver.advance(8.9)
        assert not driver.broker.records
        (progress,) = driver.told(WindowProgress)[-1:]
        assert (progress.records, progress.paused) == (7, False)
        await driver.advance(1.1)
        check_once(driver.broker, 7)
        assert 9 <= driver.told(WindowPublished)[0].at - driver.told(WindowPublished)[0].opened_at <= 10


async def test_published_record_has_no_key_one_header_and_a_time_in_whole_seconds() -> None:
    async with Driver() as driver:
        driver.send(people(20))
        await driver.settle()
        parcels = [p for p in driver.broker.committed if p.topic == "out"]
        assert {len(p.headers) for p in parcels} == {1}
        assert {p.keys for p in parcels} == {None}
        assert {p.time % 1000 for p in driver.broker.committed} == {0}
        assert {p.headers[0] for p in parcels} == {("batch", driver.told(WindowPublished)[0].batch.encode())}


async def test_certificates_follow_each_other() -> None:
    async with Driver() as driver:
        for turn in range(3):
            driver.send(people(20, 20 * turn))
            await driver.settle()
        first, second, third = driver.broker.certificates
        assert first["previous"] is None
        assert len({second["previous"], third["previous"], None}) == 3


async def test_certificate_names_only_one_that_was_committed() -> None:
    broker = MemoryBroker(1)
    async with Driver(broker) as driver:
        driver.send(people(20))
        await driver.settle()
        driver.sink.gate_at = "begin"
        driver.sink.gate.clear()
        driver.send(people(40, 20))  # one window waits to begin, the next one is written behind it
        await driver.settle()
        driver.source.asleep = True
        broker.members.pop("one")
        driver.sink.gate.set()
        await driver.settle()
        assert [event.reason for event in driver.told(WindowAbandoned)] == ["fenced", "fenced"]
        driver.source.wake()
        for _ in range(3):
            await driver.settle()
        check_once(broker, 60)
        parts = broker.certificate_parts
        named = [read_part(part).previous for part in parts]
        assert named == [None, *(certificate_digest([part]) for part in parts[:-1])]


async def test_reject_is_a_dead_letter_that_quotes_nothing() -> None:
    async with Driver() as driver:
        bad = [b"{broken", None, b'{"person": 77, "age": 1000, "city": "Bonn", "serial": 5}']
        driver.send(people(10) + bad)
        await driver.advance(10)
        assert driver.broker.serials == Counter(range(10))
        letters = [json.loads(value) for value in driver.broker.visible("out.dead-letters")]
        assert [(x["reason"], x["offset"], x["attribute"]) for x in letters] == [
            ("malformed", 10, None),
            ("empty", 11, None),
            ("out-of-range", 12, "age"),
        ]
        assert not [v for v in driver.broker.visible("out.dead-letters") if b"1000" in v or b"broken" in v]
        assert driver.told(WindowPublished)[0].rejected == {"malformed": 1, "empty": 1, "out-of-range": 1}
        assert driver.broker.offsets == {("people", 0): 13}


async def test_no_third_window_is_filled_while_one_closes_and_one_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "RECORDS_TOGETHER", 39)  # two of these windows are too much to wait together
    async with Driver() as driver:
        driver.sink.gate.clear()
        driver.send(people(200))
        await driver.settle()
        consumed = sum(event.records for event in driver.told(RecordsConsumed))
        assert 40 <= consumed < 60
        assert driver.told(WindowProgress)[-1].paused
        polls = driver.source.polls
        await driver.settle()
        assert driver.source.polls == polls
        driver.sink.gate.set()
        await driver.settle(60)
        check_once(driver.broker, 200)


async def test_a_window_is_partitioned_while_the_one_before_is_in_its_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue, "RECORDS_TOGETHER", 39)  # as above
    async with Driver() as driver:
        driver.sink.gate.clear()  # the first window hangs in its transaction
        released = []
        release = driver.worker._parts.closing_steps.closer.release

        def watched(window: SealedWindow, *others: Any) -> Release:
            found = release(window, *others)
            released.append(window)
            return found

        driver.worker._parts.closing_steps.closer.release = watched  # type: ignore[method-assign]
        driver.send(people(60))
        for _ in range(50):
            await driver.worker.turn()
            if len(released) == 2:
                break
        assert len(released) == 2
        assert not driver.told(WindowPublished)
        driver.sink.gate.set()
        await driver.settle(60)
        check_once(driver.broker, 60)


@pytest.mark.parametrize("seconds", [4.9, 5.1])
async def test_sigterm_closes_an_old_window_and_leaves_a_young_one(seconds: float) -> None:
    broker = MemoryBroker()
    async with Driver(broker) as driver:
        driver.send(people(9))
        await driver.advance(seconds)
        await driver.stop()
        abandoned = [event.reason for event in driver.told(WindowAbandoned)]
        if seconds > 5:
            check_once(broker, 9)
            assert not abandoned
        else:
            assert abandoned == ["stopping"]
            assert broker.offsets == {}
    async with Driver(broker, driver.clock, "two") as successor:
        successor.send(people(20, 9))
        await successor.advance(10)
        await successor.advance(10)
        check_once(broker, 29)


async def test_window_that_closes_at_sigterm_is_published() -> None:
    async with Driver() as driver:
        driver.sink.gate.clear()
        driver.send(people(25))
        await driver.settle()
        asyncio.get_running_loop().call_later(0.2, driver.sink.gate.set)
        await driver.stop()
        assert driver.broker.serials == Counter(range(20))
        assert driver.broker.offsets == {("people", 0): 20}


async def test_revoked_rows_leave_the_window_and_the_others_stay() -> None:
    broker = MemoryBroker()
    async with Driver(broker) as one:
        one.send(people(6), 0)
        one.send(people(6, 6), 1)
        await one.settle()
        async with Driver(broker, one.clock, "two") as two:
            await one.settle()
            taken = one.told(TakeoverDone)[-1]
            assert (taken.kept, taken.dropped, taken.read_again) == (1, 0, 0)
            (revoked,) = one.told(PartitionsRevoked)
            assert (revoked.places, revoked.dropped, revoked.owned) == ((("people", 1),), 6, 1)
            await two.settle()
            one.clock.advance(10)
            await two.settle()
            await one.settle()
            check_once(broker, 12)
            assert [w.records_in for d in (one, two) for w in d.told(WindowPublished)] == [6, 6]


@pytest.mark.parametrize("verb", VERBS)
async def test_broken_transaction_is_repeated_with_the_same_bytes(verb: str) -> None:
    async with Driver() as driver:
        driver.sink.break_at = [verb, verb]
        driver.send(people(20))
        await driver.settle()
        check_once(driver.broker, 20)
        assert [event.outcome for event in driver.told(TransactionEnded)] == [Outcome.REPEATED]
        assert len(driver.told(TransactionBroken)) == 2
        sent = {
            tuple((p.topic, p.partition, tuple(p.values), p.time, p.headers) for p in a)
            for a in driver.sink.attempts
        }
        assert len(sent) == 1, "a repeated attempt must send the same bytes"
        driver.send(people(20, 20))
        await driver.settle()
        check_once(driver.broker, 40)


async def test_window_too_large_for_its_transaction_is_repeated_with_a_hint() -> None:
    async with Driver() as driver:
        driver.sink.break_at = ["settle", "settle", "commit"]
        driver.sink.breaking = lambda: driver.clock.advance(3.5)
        driver.send(people(20))
        await driver.settle()
        check_once(driver.broker, 20)
        hints = ["kafka.transaction_timeout" in event.error for event in driver.told(TransactionBroken)]
        assert hints == [False, True, False]
        assert "kafka.transaction_timeout" in driver.told(BrokerAway)[0].error


async def test_commit_whose_answer_was_lost_is_not_sent_again() -> None:
    async with Driver() as driver:
        driver.sink.break_at = ["commit after"]
        driver.send(people(20))
        await driver.settle()
        check_once(driver.broker, 20)
        assert driver.told(WindowPublished)[0].outcome is Outcome.FOUND_COMMITTED
        assert len(driver.sink.attempts) == 1
        driver.send(people(20, 20))
        await driver.settle()
        check_once(driver.broker, 40)
        assert driver.broker.certificates[1]["previous"] is not None


async def test_zombie_does_not_publish_what_its_successor_published() -> None:
    broker = MemoryBroker(1)
    async with Driver(broker) as one:
        one.send(people(30))
        one.sink.gate_at = "begin"  # nothing of it is in the ledger yet, or its successor would wait for its end
        one.sink.gate.clear()
        await one.settle()
        one.source.asleep = True  # stopped, as far as the group knows
        broker.members.pop("one")
        async with Driver(broker, one.clock, "two") as two:
            await two.settle()
            await two.advance(10)
            check_once(broker, 30)
            one.sink.gate.set()
            await one.settle()
            check_once(broker, 30)
            assert one.told(TransactionEnded)[-1].outcome is Outcome.FENCED
            assert one.told(WindowAbandoned)[0].reason == "fenced"
            one.source.wake()
            for _ in range(3):
                await one.settle()
                await two.settle()
            one.send(people(20, 30))
            for _ in range(3):
                await one.advance(10)
                await two.settle()
            check_once(broker, 50)


async def test_zombie_does_not_take_its_successors_window_for_its_own() -> None:
    # Both cover the same records, so the offsets stand where the zombie's window ended. Its certificate is not out:
    # none may name it, and it must not count as released.
    broker = MemoryBroker(1)
    async with Driver(broker) as one:
        one.send(people(20))
        one.sink.gate_at = "commit"
        one.sink.gate.clear()
        async with asyncio.timeout(20):
            while "one" not in broker.open or not broker.open["one"].offsets:
                await one.worker.turn()
        one.source.asleep = True
        broker.members.pop("one")
        broker.expire()
        async with Driver(broker, one.clock, "two") as two:
            await two.settle()
            check_once(broker, 20)
            one.sink.gate.set()
            await one.settle()
            assert not one.told(WindowPublished)
            assert one.told(TransactionEnded)[-1].outcome is Outcome.LOST
        one.source.wake()
        one.send(people(40, 20))
        await one.advance(10)
        check_once(broker, 60)
        assert not broker.astray


async def test_offsets_that_fit_neither_end_lead_to_a_takeover() -> None:
    async with Driver() as driver:
        driver.sink.break_at = ["commit"]
        driver.sink.gate.clear()
        driver.send(people(20))
        await driver.settle()
        driver.broker.offsets["people", 0] = 7  # somebody went on
        driver.sink.gate.set()
        await driver.settle()
        assert driver.told(TransactionEnded)[0].outcome is Outcome.LOST
        await driver.advance(10)
        assert driver.broker.serials == Counter(range(7, 20))


async def test_deleted_offsets_release_nothing_again() -> None:
    broker = MemoryBroker()
    driver = await after_release(broker)
    broker.offsets.clear()
    async with Driver(broker, driver.clock) as driver:
        assert driver.told(TakeoverDone)[0].from_ledger == (("people", 0),)
        driver.send(people(20, 20))
        await driver.settle()
        check_once(broker, 40)


async def test_rewound_partition_stops_and_the_others_go_on() -> None:
    broker = MemoryBroker()
    driver = await after_release(broker)
    broker.offsets["people", 0] = 12
    async with Driver(broker, driver.clock) as driver:
        (stopped,) = driver.told(PartitionStopped)
        assert (stopped.place, stopped.reason) == (("people", 0), "rewound")
        driver.send(people(20, 20), 1)
        driver.send(people(20, 40), 0)
        await driver.advance(10)
        assert broker.serials == Counter(range(40))
        assert broker.offsets == {("people", 0): 12, ("people", 1): 20}


async def test_skip_beyond_the_ledger_is_allowed_and_told() -> None:
    broker = MemoryBroker()
    broker.ledger["people", 0] = 3
    broker.offsets["people", 0] = 8
    broker.send(people(20))
    async with Driver(broker) as driver:
        assert driver.told(TakeoverDone)[0].skipped == (("people", 0),)
        await driver.advance(10)
        assert driver.broker.serials == Counter(range(8, 20))


async def test_latest_start_stays_where_it_was_when_a_worker_is_lost() -> None:
    broker = MemoryBroker(1)
    broker.send(people(5))
    async with Driver(broker, kafka={"start": "latest"}) as driver:
        driver.send(people(6, 5))
        await driver.settle()
        await driver.kill()
    async with Driver(broker, driver.clock, "two", kafka={"start": "latest"}) as driver:
        await driver.advance(10)
        assert broker.serials == Counter(range(5, 11))


@pytest.mark.parametrize("choice", ["stop", "skip"])
async def test_lost_input_is_told_and_skipped_or_stopped_as_the_settings_say(choice: str) -> None:
    broker = MemoryBroker()
    async with Driver(broker, kafka={"lost_input": choice}) as driver:
        driver.send(people(5))
        await driver.settle()
        driver.send(people(15, 5))
        broker.lose(0, 12)
        await driver.settle()
        await driver.advance(10)
        if choice == "skip":
            assert driver.told(InputSkipped) == [InputSkipped(("people", 0), 5, 12)]
            assert broker.serials == Counter([*range(5), *range(12, 20)])
            assert broker.offsets == {("people", 0): 20}
        else:
            assert driver.told(PartitionStopped)[0].reason == "lost-input"
            assert broker.serials == Counter(range(5))
            assert broker.offsets == {("people", 0): 5}


async def test_a_loss_is_told_once_however_often_its_partition_is_taken_over_before_the_next_window() -> None:
    broker = MemoryBroker()
    async with Driver(broker, kafka={"lost_input": "skip"}) as driver:
        driver.send(people(5), 1)
        await driver.advance(10)
        driver.send(people(15, 5), 1)
        broker.lose(1, 20)
        await driver.settle()
        broker.rebalance()  # the partition stays
        await driver.settle()
        broker.members["other"] = MemorySource(broker, "other")
        broker.rebalance()  # it goes to somebody else, who publishes nothing
        await driver.settle()
        assert driver.source.assigned == {0}
        driver.send(people(10, 20), 1)
        broker.lose(1, 25)
        broker.leave("other")
        await driver.advance(10)
        assert driver.told(InputSkipped) == [InputSkipped((INPUT, 1), 5, 20), InputSkipped((INPUT, 1), 20, 25)]
        assert broker.serials == Counter([*range(5), *range(25, 30)])


async def test_records_that_come_with_the_loss_behind_them_are_told_as_lost_if_they_are_gone() -> None:
    """A Faust app's source gives both in one poll, and retention may have reached the records meanwhile."""
    broker = MemoryBroker(1)
    async with Driver(broker, kafka={"lost_input": "skip"}) as driver:
        poll, answers = driver.source.poll, [5]

        async def with_a_hole(wait: float, most: int) -> Polled:
            if not answers or not broker.input[0]:
                return await poll(wait, most)
            polled = await poll(wait, answers.pop())
            broker.first[0] = 10
            return Polled(polled.chunks, (Lost(0, 5),))

        driver.source.poll = with_a_hole  # type: ignore[method-assign]
        driver.send(people(20))
        await driver.settle()
        await driver.advance(10)
        (certificate,) = broker.certificates
        (whole,) = certificate["inputs"]
        assert (whole["start"], whole["end"], whole["lost"]) == (0, 20, [{"start": 0, "end": 10}])
        assert certificate["in"] == 10
        assert broker.serials == Counter(range(10, 20))


async def test_a_loss_that_begins_behind_a_marker_is_told_though_no_record_ends_there() -> None:
    """Transactions leave offsets without a record, and the client counts them as read."""
    broker = MemoryBroker(1)
    async with Driver(broker, kafka={"lost_input": "skip"}) as driver:
        driver.send(people(5))
        await driver.settle()
        poll, answers = driver.source.poll, [Polled((), (Lost(0, 6),))]

        async def behind_a_marker(wait: float, most: int) -> Polled:
            return answers.pop() if answers else await poll(wait, most)

        driver.source.poll = behind_a_marker  # type: ignore[method-assign]
        driver.send(people(15, 5))
        broker.lose(0, 12)
        await driver.settle()
        await driver.advance(10)
        (certificate,) = broker.certificates
        (whole,) = certificate["inputs"]
        assert (whole["start"], whole["end"], whole["lost"]) == (0, 20, [{"start": 6, "end": 12}])
        assert [event.lost for event in driver.told(WindowPublished)] == [((INPUT, 0, 6, 12),)]


async def test_the_certificate_of_the_next_window_names_what_was_lost_and_a_loss_alone_makes_a_window() -> None:
    broker = MemoryBroker()
    async with Driver(broker, kafka={"lost_input": "skip"}) as driver:
        driver.send(people(5), 1)
        await driver.settle()
        driver.send(people(15, 5), 1)
        broker.lose(1, 12)
        await driver.advance(10)
        driver.send(people(20, 20), 1)
        broker.lose(1, 40)
        await driver.settle()
        await driver.advance(10)
        ranges = [certificate["inputs"] for certificate in broker.certificates]
        assert [[(one["start"], one["end"], one.get("lost")) for one in each] for each in ranges] == [
            [(0, 20, [{"start": 5, "end": 12}])],
            [(20, 40, [{"start": 20, "end": 40}])],
        ]
        assert [certificate["in"] for certificate in broker.certificates] == [13, 0]
        assert broker.offsets == {(INPUT, 1): 40}
        lost = [event.lost for event in driver.told(WindowPublished)]
        assert lost == [((INPUT, 1, 5, 12),), ((INPUT, 1, 20, 40),)]


async def test_a_loss_that_another_worker_meets_again_is_counted_once() -> None:
    broker = MemoryBroker()
    async with Driver(broker, kafka={"lost_input": "skip"}) as one:
        one.send(people(5), 0)
        await one.advance(10)
        one.send(people(15, 5), 0)
        broker.lose(0, 12)
        await one.settle()
        await one.kill()
        async with Driver(broker, one.clock, "two", kafka={"lost_input": "skip"}) as two:
            await two.advance(10)
            assert [driver.told(InputSkipped) for driver in (one, two)] == [[InputSkipped((INPUT, 0), 5, 12)]] * 2
            published = [event.lost for driver in (one, two) for event in driver.told(WindowPublished)]
            assert published == [(), ((INPUT, 0, 5, 12),)]


async def test_what_was_passed_over_is_committed_with_the_next_window_of_any_partition() -> None:
    broker = MemoryBroker()
    async with Driver(broker, kafka={"lost_input": "skip"}) as driver:
        driver.send(people(5), 1)
        await driver.advance(10)
        driver.send(people(15, 5), 1)
        broker.lose(1, 20)
        await driver.settle()
        driver.send(people(10, 20), 0)
        await driver.advance(10)
        assert broker.offsets == {(INPUT, 0): 10, (INPUT, 1): 20}


@pytest.mark.parametrize("choice", ["stop", "skip"])
async def test_an_unreadable_partition_stops_and_the_others_go_on(choice: str) -> None:
    broker = MemoryBroker(2)
    async with Driver(broker, kafka={"lost_input": choice}) as driver:
        driver.source.rotten.add(1)
        driver.send(people(10), partition=0)
        driver.send(people(10, 10), partition=1)
        await driver.advance(20)
        assert [(e.place[1], e.reason) for e in driver.told(PartitionStopped)] == [(1, "unreadable")]
        assert broker.serials == Counter(range(10))
        assert ("people", 1) not in broker.offsets


async def test_a_damaged_batch_is_skipped_counted_and_named_where_the_settings_say_so() -> None:
    broker = MemoryBroker(2)
    async with Driver(broker, kafka={"lost_input": "skip"}) as driver:
        driver.source.damaged = (1, 3, 7)
        driver.send(people(10), partition=0)
        driver.send(people(10, 10), partition=1)
        await driver.advance(20)
        assert [(e.place, e.start, e.end) for e in driver.told(InputSkipped)] == [((INPUT, 1), 3, 7)]
        assert not driver.told(PartitionStopped)
        assert broker.serials == Counter([*range(13), *range(17, 20)])
        assert broker.offsets == {(INPUT, 0): 10, (INPUT, 1): 10}


async def test_group_that_moves_while_lost_input_is_answered_does_not_end_the_worker() -> None:
    broker = MemoryBroker()
    async with Driver(broker, kafka={"lost_input": "skip"}) as driver:
        driver.send(people(5), 1)
        await driver.settle()
        driver.send(people(15, 5), 1)
        broker.lose(1, 12)
        ask, left = driver.source.bounds, 1

        async def bounds(sources: Collection[int], start: str) -> Mapping[int, int]:
            nonlocal left
            if left:
                left -= 1
                # Another member takes partition 1 while its bounds are asked.
                broker.members["other"] = MemorySource(broker, "other")
                broker.rebalance()
            return await ask(sources, start)

        driver.source.bounds = bounds  # type: ignore[method-assign]
        await driver.settle()
        assert not left
        assert driver.source.assigned == {0}
        assert not driver.told(InputSkipped)
        broker.leave("other")
        await driver.advance(10)
        assert broker.serials == Counter(range(12, 20))


async def test_dead_consumer_is_replaced() -> None:
    async with Driver() as driver:
        driver.send(people(10))
        await driver.settle()
        driver.source.dead = True
        await driver.settle()
        driver.send(people(10, 10))
        await driver.advance(10)
        check_once(driver.broker, 20)
        assert BrokerAway(Away.CONSUMING, "a task of the consumer has ended") in driver.told(BrokerAway)


@pytest.mark.parametrize("refusal", [BrokerError("refused"), DeadClient("dead")], ids=str)
async def test_a_refusal_while_the_group_reassigns_is_told_and_waited_for(refusal: BrokerError) -> None:
    async with Driver() as driver:
        driver.send(people(10))
        await driver.settle()
        driver.source.asleep = True
        driver.source._generation, driver.source._marks = -1, driver.source._marks + 1
        driver.source.refusals.append(refusal)
        await driver.settle()
        assert [event.error for event in driver.told(BrokerAway)] == [str(refusal)]
        driver.source.asleep = False
        driver.broker.rebalance()
        driver.send(people(10, 10))
        await driver.advance(10)
        check_once(driver.broker, 20)
        assert driver.told(ReadinessChanged)[-1].ready


async def test_a_held_window_is_not_published_when_the_worker_stops() -> None:
    broker = MemoryBroker()
    window = {"shortfall": "hold", "max_delay": 10}
    async with Driver(broker, window=window) as driver:
        driver.send(people(2))
        await driver.advance(60)
        await driver.stop()
        assert broker.certificates == []
    async with Driver(broker, driver.clock, "two", window=window) as driver:
        driver.send(people(3, 2))
        await driver.advance(30)
        check_once(broker, 5)


async def test_absent_broker_is_told_once_and_waited_for() -> None:
    async with Driver() as driver:
        assert driver.told(ReadinessChanged) == [ReadinessChanged(True)]
        driver.send(people(20))
        driver.sink.gate.clear()
        await driver.settle()
        driver.broker.away = True
        driver.sink.gate.set()
        for _ in range(20):
            driver.clock.advance(2.1)
            await driver.worker.turn()
            await asyncio.sleep(0.01)
        away = Counter(event.doing for event in driver.told(BrokerAway))
        assert away == {Away.CONSUMING: 1, Away.PUBLISHING: 1}
        assert not driver.told(ReadinessChanged)[-1].ready
        driver.broker.away = False
        while len(driver.told(BrokerBack)) < 2:
            driver.clock.advance(2.1)
            await driver.worker.turn()
            await asyncio.sleep(0.01)
        assert driver.told(ReadinessChanged)[-1].ready
        check_once(driver.broker, 20)


@pytest.mark.parametrize("topic", ["people", "out", "out.certificates", "out.dead-letters"])
async def test_missing_topic_is_named_and_waited_for(topic: str) -> None:
    driver = Driver()
    driver.broker.missing.add(topic)
    connecting = asyncio.create_task(driver.worker.connect())
    await asyncio.sleep(0.15)
    assert [event.error for event in driver.told(BrokerAway)] == [f"{topic}: does not exist"]
    driver.broker.missing.clear()
    assert await connecting
    driver.stopping.set()
    await driver.worker.disconnect()


async def test_worker_without_partitions_is_ready() -> None:
    broker = MemoryBroker(1)
    async with Driver(broker) as one, Driver(broker, one.clock, "two") as idle:
        await one.settle()
        assert idle.told(TakeoverDone)[-1].owned == 0
        assert idle.told(ReadinessChanged) == [ReadinessChanged(True)]
        one.send(people(20))
        await one.settle()
        check_once(broker, 20)
        await one.kill()
        await idle.settle()
        idle.send(people(20, 20))
        await idle.settle()
        check_once(broker, 40)


async def test_window_of_an_old_generation_is_fenced() -> None:
    broker = MemoryBroker()
    async with Driver(broker) as one:
        one.send(people(10), 0)
        one.send(people(10, 10), 1)
        one.sink.gate_at = "begin"
        one.sink.gate.clear()
        await one.settle()  # a window of both partitions is about to be sent
        async with Driver(broker, one.clock, "two") as two:
            await two.advance(10)
            assert broker.serials == Counter(range(10, 20))
            one.sink.gate.set()
            await one.advance(10)
            await one.advance(10)
            check_once(broker, 20)
            assert one.told(TransactionEnded)[0].outcome is Outcome.FENCED


@pytest.mark.parametrize("step", [5, 6, 7])
async def test_takeover_that_fails_late_counts_what_left_as_dropped(step: int) -> None:
    broker = MemoryBroker(1)
    failing = False

    async def fail_once(where: str) -> None:
        nonlocal failing
        if failing and where == f"takeover.{step}":
            failing = False
            raise BrokerError("broken on purpose")

    async with Driver(broker, at=fail_once) as driver:
        driver.send(people(9))
        await driver.settle()
        broker.offsets["people", 0] = 3  # somebody went on: the open window began at 0
        failing = True
        broker.rebalance()
        await driver.settle()
        assert not failing
        taken = driver.told(TakeoverDone)[-1]
        assert (taken.kept, taken.dropped, taken.read_again, taken.attempts) == (0, 9, 6, 2)
        await driver.advance(10)
        (window,) = driver.told(WindowPublished)
        assert (window.records_in, len(window.readings.times)) == (6, 6)


@pytest.mark.parametrize("step", range(1, 8))
async def test_takeover_survives_a_group_that_moves_on_during_it(step: int) -> None:
    broker = MemoryBroker()
    left = 3

    async def move(where: str) -> None:
        nonlocal left
        if where == f"takeover.{step}" and left:
            left -= 1
            broker.rebalance()

    async with Driver(broker, at=move) as one:
        assert left < 3, "the group did not move"
        one.send(people(20), 0)
        one.send(people(20, 20), 1)
        await one.settle(30)
        check_once(broker, 40)
        assert one.told(TakeoverDone)[-1].generation == broker.generation


LONG = [0, 7, 13]


def with_long_serials() -> list[bytes]:
    """Return twenty records, three of which are published with 300 digits."""
    records = [json.loads(value) for value in people(20)]
    for n in LONG:
        records[n]["serial"] = 10**299
    return [json.dumps(record).encode() for record in records]


def check_dead_letters_too_large(broker: MemoryBroker) -> None:
    """The three long records are dead letters, and everything else is out."""
    letters = [json.loads(value) for value in broker.visible("out.dead-letters")]
    assert sorted(letter["offset"] for letter in letters) == LONG
    assert {(letter["reason"], letter["attribute"]) for letter in letters} == {("too-large", None)}
    (certificate,) = broker.certificates
    assert certificate["rejected_by_reason"] == {"too-large": 3}
    assert certificate["in"] == 20 == certificate["released"] + certificate["suppressed"] + certificate["rejected"]
    assert sum(each["records"] for each in certificate["classes"]) == certificate["released"] == len(broker.records)
    assert min(each["individuals"] for each in certificate["classes"]) >= 3
    assert set(broker.serials) <= set(range(20)) - set(LONG)


async def test_a_record_that_the_output_would_not_take_is_a_dead_letter_before_anything_is_sent() -> None:
    broker = MemoryBroker()
    broker.largest["out"] = 400
    async with Driver(broker) as driver:
        driver.send(with_long_serials())
        await driver.settle()
        check_dead_letters_too_large(broker)
        assert not driver.told(TransactionBroken)
        (window,) = driver.told(WindowPublished)
        assert sum(count for _, count in window.arrivals) == 17


async def test_a_record_that_the_output_refuses_becomes_a_dead_letter_when_it_is_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(errors, "LEAST_LIMIT", 100)
    async with Driver() as driver:
        driver.sink.takes["out"] = 200
        driver.send(with_long_serials())
        await driver.settle()  # until it is refused a second time
        await driver.settle()
        check_dead_letters_too_large(driver.broker)
        assert [event.outcome for event in driver.told(TransactionEnded)] == [Outcome.REFUSED, Outcome.COMMITTED]
        assert driver.told(WindowAbandoned)[0].reason == "refused"
        driver.send(people(20, first=20))
        await driver.advance(10)
        assert len(driver.broker.certificates) == 2


async def test_a_certificate_is_cut_into_parts_that_its_topic_takes() -> None:
    broker = MemoryBroker()
    broker.largest["out.certificates"] = 2000
    async with Driver(broker, window={"max_records": 200}) as driver:
        driver.send(people(200))
        await driver.settle()
        parts = broker.visible("out.certificates")
        assert len(parts) > 1
        assert max(map(len, parts)) <= 2000 - 100
        check_once(broker, 200)
