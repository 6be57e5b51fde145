"""One word when the broker goes, one when it is back; growing pauses that a stop ends."""

from __future__ import annotations

import asyncio

import pytest

from stream_anon.errors import BatchRefused, BrokerError, Cause, RegistryError, TimeRefused, TopicError
from stream_anon.service import retrying
from stream_anon.service.events import Away, BrokerAway, BrokerBack, Event, ReadinessChanged
from stream_anon.service.fault_points import fault_at, nowhere
from stream_anon.service.retrying import Patience, Pauses, Reachability, describe
from tests.support.clock import FakeClock


def test_one_line_is_told_for_an_outage_and_one_for_its_end() -> None:
    clock, told = FakeClock(), list[Event]()
    reachability = Reachability(clock.monotonic, told.append)
    for _ in range(5):
        reachability.away(Away.STARTING, "x")
        clock.advance(1)
    reachability.back(Away.STARTING)
    reachability.back(Away.STARTING)
    reachability.joined()
    assert told == [BrokerAway(Away.STARTING, "x"), BrokerBack(Away.STARTING, 5, 5), ReadinessChanged(True)]


def test_another_cause_after_the_first_is_told() -> None:
    clock, told = FakeClock(), list[Event]()
    reachability = Reachability(clock.monotonic, told.append)
    for second in range(40):
        reachability.away(Away.STARTING, "no broker" if second < 3 else "no such topic")
        clock.advance(1)
    assert told == [BrokerAway(Away.STARTING, "no broker"), BrokerAway(Away.STARTING, "no such topic", again=True)]


def test_causes_that_take_turns_do_not_fill_the_log() -> None:
    clock, told = FakeClock(), list[Event]()
    reachability = Reachability(clock.monotonic, told.append)
    for second in range(100):
        reachability.away(Away.STARTING, "xy"[second % 2])
        clock.advance(1)
    assert 2 <= len(told) <= 10


def test_ready_only_when_nothing_is_away() -> None:
    told = list[Event]()
    reachability = Reachability(FakeClock().monotonic, told.append)
    reachability.joined()
    reachability.away(Away.CONSUMING, "x")
    reachability.away(Away.PUBLISHING, "y")
    reachability.back(Away.CONSUMING)
    ready = [event.ready for event in told if isinstance(event, ReadinessChanged)]
    assert ready == [True, False]
    reachability.back(Away.PUBLISHING)
    assert told[-1] == ReadinessChanged(True)


def test_refused_times_are_a_reason_of_their_own_and_tried_again_after_seconds() -> None:
    told = list[Event]()
    reachability, growth = Reachability(FakeClock().monotonic, told.append), retrying.Growth()
    reachability.joined()
    reachability.away(Away.DATING, "the clock")
    assert told[-1] == ReadinessChanged(False, "broker refuses the times of records")
    assert [growth.next(TimeRefused("out")) for _ in range(3)] == [5.0] * 3


async def test_a_start_that_waits_for_the_registry_says_so_and_not_that_the_broker_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retrying, "FIRST_PAUSE", 0.001)
    told, errors = list[Event](), [BrokerError("no broker"), RegistryError("no registry")]
    reachability = Reachability(FakeClock().monotonic, told.append)
    reachability.joined()

    async def step() -> None:
        if errors:
            raise errors.pop(0)

    assert await Patience(asyncio.Event(), reachability).persist(Away.STARTING, step)
    asking = Away.ASKING_REGISTRY
    assert [(event.doing, event.error) for event in told if isinstance(event, BrokerAway)] == [
        (Away.STARTING, "no broker"),
        (asking, "no registry"),
    ]
    assert {event.doing for event in told if isinstance(event, BrokerBack)} == {Away.STARTING, asking}
    assert told[-1] == ReadinessChanged(True)


def test_readiness_names_the_registry_where_it_is_the_registry() -> None:
    told = list[Event]()
    reachability = Reachability(FakeClock().monotonic, told.append)
    reachability.joined()
    reachability.away(Away.ASKING_REGISTRY, "x")
    assert told[-1] == ReadinessChanged(False, "schema registry away while asking-registry")


async def test_pauses_grow_and_end_with_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(retrying, "LONGEST_PAUSE", 60.0)
    stop = asyncio.Event()
    pauses, loop = Pauses(stop), asyncio.get_running_loop()
    taken = []
    for _ in range(4):
        begun = loop.time()
        await pauses.pause()
        taken.append(loop.time() - begun)
    assert [least <= t for least, t in zip((0.009, 0.019, 0.039, 0.079), taken, strict=True)] == [True] * 4
    while pauses._growth.next() < 60.0:
        pass
    stop.set()
    async with asyncio.timeout(10):
        await pauses.pause()


def test_words_of_a_library_are_not_passed_on() -> None:
    assert describe(BrokerError("ours")) == "ours"
    assert describe(ValueError("theirs: Alice")) == "ValueError"


async def test_fault_breaks_once_at_its_place() -> None:
    at = fault_at("closing.5:fail@2")
    await at("closing.5")
    await at("closing.4")
    with pytest.raises(BrokerError):
        await at("closing.5")
    await at("closing.5")
    assert fault_at("") is nowhere
    with pytest.raises(ValueError, match="place"):
        fault_at("closing:kill")


def test_an_absence_tells_its_cause() -> None:
    told = list[Event]()
    reachability = Reachability(FakeClock().monotonic, told.append)
    errors = [
        BrokerError("x", Cause.PERMISSION),
        TopicError("gone"),
        BatchRefused("out", 1, 20_000),
        RegistryError("registry: away"),
        TimeRefused("out"),
        TimeoutError(),
        ValueError("of a library"),
    ]
    for doing, error in zip((*Away, Away.STARTING), errors, strict=True):
        reachability.back(doing)
        reachability.failed(doing, error)
    causes = [event.cause for event in told if isinstance(event, BrokerAway)]
    assert causes == ["permission", "topic", "too-large", "registry", "clock", "unreachable", "broker"]
