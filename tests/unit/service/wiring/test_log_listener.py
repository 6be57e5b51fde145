"""What each line of the log tells, and at which level. Scripts of operators read these fields."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest

from stream_anon.adapters.logs import open_log
from stream_anon.ports.log_lines import LogLine
from stream_anon.service import events as e
from stream_anon.service.wiring.log_listener import into_log
from tests.support.told_events import EVERY_KIND, PUBLISHED, STARTED

WINDOW = "batch records_in released suppressed rejected classes achieved_k loss age close_seconds publish_seconds"
FIELDS = {
    "started": "software policy revision group input output delivery engine k max_delay max_records",
    "at-least-once": "",
    "shadow": "",
    "certificate-ends": "key days",
    "clock-set-ahead": "seconds",
    "clock-set-back": "seconds",
    "throttled": "by seconds within explanation",
    "ledger-held": "topic seconds explanation",
    "compiling": "",
    "compiled": "seconds",
    "slow-reading": "attributes",
    "ready": "",
    "not-ready": "reason",
    "broker-away": "doing error",
    "broker-back": "doing seconds attempts",
    "schema-unknown": "schemas others unasked",
    "schema-changed": "schema readable lacking vanished retyped",
    "ledger-created": "topic",
    "counts-begun": "topic",
    "counts-passed-over": "topic entries",
    "people-scattered": "people",
    "order-adopted": "version gain drifted",
    "standing-by": "",
    "packed": "members carriers",
    "spread": "",
    "group-shared": "",
    "group-unwatched": "",
    "superseded": "by own partitions",
    "paused": "until",
    "resumed": "by",
    "revoked": "partitions places dropped owned",
    "assigned": "partitions places",
    "taken-over": "partitions starts generation kept dropped read_again from_ledger owned attempts seconds",
    "offset-skipped": "partitions places",
    "ledger-entry-missing": "partitions places explanation",
    "partition-stopped": "topic partition reason explanation",
    "input-lost": "topic partition start end",
    "reading-fault": "topic partition start",
    "window-published": WINDOW,
    "suppressed-too-many": "batch suppressed",
    "gate-violation": "batch classes",
    "audit-failed": "batch violations",
    "leakage-unmeasured": "",
    "windows-bounded": "records reason",
    "windows-smaller": "records memory reason",
    "size-learned": "records before needed by_delay",
    "size-unstudied": "",
    "window-abandoned": "records reason",
    "window-withheld": "records attributes",
    "release-expired": "valid_until",
    "commit-uncertain": "step error windows",
    "commit-settled": "outcome",
    "commit-fenced": "",
    "stopping": "reason",
    "pause-forgotten": "",
    "stopped": "seconds",
}
OTHERS = {"serving", "left-late", "failed", "fleet-refused", "library", "attribute-vanished", "attribute-back"} | {
    f"worker-{end}" for end in ("ended", "not-started", "silent")
}
RARE: tuple[e.Event, ...] = (
    replace(STARTED, delivery="shadow"),
    e.ClockSet(5.1),
    e.ReadinessChanged(False, "starting"),
    e.GroupSeen({}, shared=False, unwatched=True),
    e.GroupPacked(0, 0),
    e.ReadingOrdered(False),
    e.TakeoverDone((("people", 0, 5),), 3, 1, 2, 4, (), (), 1, 1, 0.25, (("people", 0),)),
    replace(PUBLISHED, above_max_suppressed=True, gate_violations=1),
    e.WindowMeasured((), 0.01),
    e.WindowsBounded(20, None, "begun"),
    e.WindowStudied(0.01, broke_off=True),
    e.WindowAbandoned(12, "fenced"),
    e.TransactionEnded(e.Outcome.REPEATED),
    e.WorkerStopping("SIGTERM", forgets_pause=True),
)


class Written:
    """Lines that are written of events."""

    def __init__(self) -> None:
        self._stream = io.StringIO()
        self.tell = into_log(open_log(lambda: 0.0, "json", "debug", self._stream), lambda: 0.0)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]


@pytest.fixture
def written() -> Written:
    return Written()


def test_each_line_tells_its_fields_in_order_at_one_of_its_levels(written: Written) -> None:
    for event in (*EVERY_KIND, *RARE):
        written.tell(event)
    for line in written.lines:
        own = [name for name in line if name not in ("event", "level", "timestamp")]
        assert own == FIELDS[line["event"]].split(), line["event"]
        assert line["level"] in LogLine(line["event"]).levels.split(", "), line["event"]
    assert {line["event"] for line in written.lines} == FIELDS.keys()
    assert FIELDS.keys() | OTHERS == set(LogLine)


def test_a_window_dropped_at_a_stop_is_no_warning(written: Written) -> None:
    for reason in ("stopping", "fenced"):
        written.tell(e.WindowAbandoned(12, reason))
    assert [line["level"] for line in written.lines] == ["info", "warning"]


def test_numbers_have_at_most_four_decimals(written: Written) -> None:
    written.tell(e.OrderAdopted(2, 0.0123456789, drifted=True))
    assert written.lines[0]["gain"] == 0.0123


def test_what_is_wrong_with_the_group_is_said_once_until_it_is_gone(written: Written) -> None:
    shared, unwatched = e.GroupSeen({}, shared=True), e.GroupSeen({}, shared=False, unwatched=True)
    for seen in (shared, replace(shared, unwatched=True), unwatched, shared):
        written.tell(seen)
    assert [line["event"] for line in written.lines] == ["group-shared", "group-unwatched", "group-shared"]
