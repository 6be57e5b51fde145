"""Throttling is summed up by the minute; a ledger that is held is reported at once, and warned of in time."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace
from typing import Any, cast

from prometheus_client import CollectorRegistry

from stream_anon.adapters.logs import open_log
from stream_anon.ports import ReleaseLedger
from stream_anon.service.events import ClockSet, Event, LedgerHeld, Throttle, Throttled
from stream_anon.service.status.status_board import StatusBoard
from stream_anon.service.troubles import HELD_AGAIN, Troubles
from stream_anon.service.wiring.log_listener import into_log
from stream_anon.service.wiring.observing import into_metrics
from tests.support.clock import FakeClock


class Watched:
    """The watched clients and ledger, and the reported events."""

    def __init__(self) -> None:
        self.ledger = SimpleNamespace(held_seconds=0.0)
        self.seconds = dict.fromkeys(Throttle, 100.0)  # of before this worker began
        self.clock, self.told = FakeClock(), list[Event]()
        causes = {cause: (lambda cause=cause: self.seconds[cause]) for cause in Throttle}
        self.troubles = Troubles(
            cast("ReleaseLedger", self.ledger), "out.ledger", causes, 10.0, self.clock, self.told.append
        )

    def look(self, held: float = 0.0) -> list[Event]:
        self.ledger.held_seconds = held
        before = len(self.told)
        self.troubles.look()
        return self.told[before:]


def test_throttling_is_told_once_a_minute_with_what_came_since() -> None:
    watched = Watched()
    for second in range(1, 121):
        watched.clock.advance(1)
        watched.seconds[Throttle.BROKER] += 0.5
        watched.seconds[Throttle.PROCESSOR] += 0.25 if second > 60 else 0
        watched.look()
    assert watched.told == [
        Throttled(Throttle.BROKER, 30.0, 60.0),
        Throttled(Throttle.BROKER, 30.0, 60.0),
        Throttled(Throttle.PROCESSOR, 15.0, 60.0),
    ]


def test_a_clock_that_is_set_is_told_once_each_time() -> None:
    watched = Watched()
    for step in (0, 7200, 0, 0, -7200, 0, 3, -4, 0):
        watched.clock.set_wall(step)
        watched.clock.advance(2)
        watched.look()
    assert watched.told == [ClockSet(7200), ClockSet(-7200)]


def test_a_worker_that_stood_still_does_not_take_it_for_a_clock_that_was_set() -> None:
    watched = Watched()
    watched.clock.advance(3600)
    assert watched.look() == []


def test_a_ledger_held_for_longer_than_a_worker_would_is_warned_of_now_and_then() -> None:
    watched = Watched()
    assert watched.look(0.0) == []
    assert watched.look(29.0) == [LedgerHeld("out.ledger", 29.0, warns=False)]
    assert watched.look(30.0) == [LedgerHeld("out.ledger", 30.0, warns=True)]
    assert watched.look(32.0) == [LedgerHeld("out.ledger", 32.0, warns=False)]
    assert watched.look(30.0 + HELD_AGAIN) == [LedgerHeld("out.ledger", 30.0 + HELD_AGAIN, warns=True)]
    assert watched.look(5.0) == [LedgerHeld("out.ledger", 5.0, warns=False)], "it stands at another one"
    assert watched.look(40.0) == [LedgerHeld("out.ledger", 40.0, warns=True)]
    assert watched.look(0.0) == [LedgerHeld("out.ledger", 0.0, warns=False)], "that it has ended is told too"
    assert watched.look(0.0) == []


def test_log_metrics_and_status_page_name_throttling_and_a_held_ledger() -> None:
    registry, stream, clock = CollectorRegistry(), io.StringIO(), FakeClock()
    board = StatusBoard(clock.monotonic)
    listeners = (
        into_metrics(registry),
        into_log(open_log(clock.wall, "json", stream=stream), clock.monotonic),
        board,
    )

    def tell(event: Event) -> None:
        for listener in listeners:
            listener(event)

    tell(Throttled(Throttle.BROKER, 12.5, 60.0))
    tell(Throttled(Throttle.PROCESSOR, 0.4, 60.0))
    tell(LedgerHeld("out.ledger", 12.0, warns=False))
    warnings = cast("list[str]", board.status()["warnings"])
    assert warnings == ["the brokers' quotas hold this client back: 12.5 s of the last 60 s"]
    tell(LedgerHeld("out.ledger", 31.0, warns=True))
    tell(LedgerHeld("out.ledger", 33.0, warns=False))
    clock.advance(130)
    (held,) = cast("list[str]", board.status()["warnings"])
    assert held.startswith("the ledger out.ledger has stood at somebody's open transaction for 33 s")
    lines: list[dict[str, Any]] = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["event"], line["level"]) for line in lines] == [
        ("throttled", "warning"),
        ("ledger-held", "error"),
    ]
    assert (lines[0]["by"], lines[0]["seconds"]) == ("broker", 12.5)
    assert (lines[1]["topic"], lines[1]["seconds"]) == ("out.ledger", 31.0)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"stream_anon_{name}", labels)

    assert value("throttled_seconds_total", by="broker") == 12.5
    assert value("throttled_seconds_total", by="processor") == 0.4
    assert value("ledger_held_seconds") == 33.0
    tell(LedgerHeld("out.ledger", 0.0, warns=False))
    assert value("ledger_held_seconds") == 0.0
    assert board.status()["warnings"] == []
