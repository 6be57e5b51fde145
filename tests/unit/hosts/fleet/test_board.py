"""The page of a fleet: it adds up, names workers that are not ready, and keeps the counts of ended ones."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from stream_anon.adapters.prometheus.exposition import exposition
from stream_anon.adapters.prometheus.fleet_metrics import FleetMetrics
from stream_anon.hosts.fleet.board import SILENT, FleetBoard
from stream_anon.hosts.fleet.reports import WorkerReport, next_report
from stream_anon.service import events as e
from stream_anon.service.status.status_board import REMARKS, StatusBoard
from stream_anon.service.wiring.observing import into_metrics, tell_all
from tests.support.told_events import PUBLISHED, STARTED


class Worker:
    def __init__(self, partition: int) -> None:
        self.board = StatusBoard(lambda: 1030.0)
        self.registry = CollectorRegistry()
        self.tell = tell_all(into_metrics(self.registry), self.board)
        self.tell(STARTED)
        self.tell(e.TakeoverDone((("people", partition, 0),), 1, 0, 0, 0, (), (), 1, 1, 0.1))
        self.tell(e.ReadinessChanged(True))
        self.tell(e.WindowProgress(10, 1029.0, 1030.0, False, False, 7))

    @property
    def report(self) -> WorkerReport:
        return WorkerReport(True, self.board.status(), exposition(self.registry).decode())


class Fleet:
    def __init__(self, workers: int) -> None:
        self.now = 0.0
        self.registry = CollectorRegistry()
        FleetMetrics(self.registry, workers)
        self.board = FleetBoard(workers, lambda: self.now, self.registry)

    @property
    def page(self) -> dict[str, Any]:
        page: dict[str, Any] = json.loads(json.dumps(self.board.status()))
        return page

    def value(self, series: str) -> float:
        return sum(s.value for metric in self.board.collect() for s in metric.samples if s.name == series)


def test_a_fleet_is_ready_only_when_every_worker_is() -> None:
    fleet, workers = Fleet(2), [Worker(0), Worker(1)]
    assert fleet.board.readiness() == (False, "worker 0: starting")
    fleet.board.take(0, workers[0].report)
    assert fleet.board.readiness() == (False, "worker 1: starting")
    assert fleet.value("stream_anon_ready") == 0
    fleet.board.take(1, workers[1].report)
    assert fleet.board.readiness() == (True, "")
    assert fleet.value("stream_anon_ready") == 1
    workers[1].tell(e.ReadinessChanged(False, "broker away while consuming"))
    fleet.board.take(1, workers[1].report)
    assert fleet.board.readiness() == (False, "worker 1: broker away while consuming")
    fleet.board.ended(1)
    assert fleet.board.readiness() == (False, "worker 1: starting")
    fleet.now = SILENT + 1
    assert fleet.board.readiness() == (False, "worker 0: silent")
    fleet.board.stop()
    assert fleet.board.readiness() == (False, "stopping")


def test_the_flow_of_a_fleet_is_that_of_all_its_workers() -> None:
    fleet, workers = Fleet(2), [Worker(0), Worker(1)]
    assert fleet.page["flow"]["read"] == [0] * 60
    for number, worker in enumerate(workers):
        worker.tell(e.RecordsConsumed(10 + number))
        worker.board._monotonic = lambda: 1031.0
        fleet.board.take(number, worker.report)
    assert fleet.page["flow"]["read"] == [0] * 59 + [21]
    fleet.board.ended(0)
    assert fleet.page["flow"]["read"] == [0] * 59 + [11]


def test_the_page_of_a_fleet_has_the_sections_of_a_worker_and_adds_up() -> None:
    fleet, workers = Fleet(2), [Worker(0), Worker(1)]
    workers[0].tell(e.RecordsConsumed(90))
    workers[0].tell(PUBLISHED)
    workers[1].tell(replace(PUBLISHED, batch="newer", wall=PUBLISHED.wall + 60, lost=(("people", 1, 10, 25),)))
    workers[0].tell(e.WindowMeasured((("city", 0.3, 0.12),), 0.1))
    workers[1].tell(e.WindowMeasured((("city", None, 0.15),), 0.1))
    for number, worker in enumerate(workers):
        fleet.board.take(number, worker.report)
    page, one = fleet.page, workers[0].board.status()
    assert page.keys() - one.keys() == {"workers"}
    for section in ("service", "partitions", "open_window", "records", "audits"):
        assert page[section].keys() == one[section].keys(), section
    assert page["partitions"]["places"] == ["people-0", "people-1"]
    assert page["open_window"]["records"] == 20
    assert page["records"]["released"] == 2 * PUBLISHED.released
    assert page["records"]["suppressed"] == {key: 2 * count for key, count in PUBLISHED.suppressed.items()}
    assert page["records"]["not_read_yet"] == 14
    assert [window["batch"] for window in page["last_windows"]] == ["newer", PUBLISHED.batch]
    assert page["last_release"]["batch"] == "newer"
    assert page["leakage"] == {"city": {"before": 0.3, "after": 0.15}}
    after = [
        sample.value
        for metric in fleet.board.collect()
        for sample in metric.samples
        if metric.name == "stream_anon_information_leakage_ratio" and sample.labels["stage"] == "after"
    ]
    assert after == [0.15]
    assert page["warnings"] == [
        REMARKS["at-least-once"],
        "worker 1: the broker deleted 15 records before they were read",
    ]
    assert [worker["partitions_owned"] for worker in page["workers"]] == [1, 1]


@pytest.mark.parametrize("times", [1, 3])
def test_what_an_ended_worker_published_still_counts(times: int) -> None:
    fleet = Fleet(1)
    for _ in range(times):
        worker = Worker(0)
        worker.tell(e.RecordsConsumed(90))
        worker.tell(PUBLISHED)
        fleet.board.take(0, worker.report)
        before = fleet.value("stream_anon_records_released_total")
        fleet.board.ended(0)
        assert fleet.value("stream_anon_records_released_total") == before
    page = fleet.page
    assert page["records"]["released"] == times * PUBLISHED.released
    assert page["records"]["not_read_yet"] is None
    assert page["windows"] == times
    assert page["partitions"]["owned"] == 0
    assert page["last_release"]["batch"] == PUBLISHED.batch
    assert fleet.value("stream_anon_records_consumed_total") == 90 * times


async def test_reports_arrive_whole_and_unchanged() -> None:
    sent = [Worker(n).report for n in range(3)]
    stream = asyncio.StreamReader()
    stream.feed_data(b"".join(report.line for report in sent) + sent[0].line[:-1])
    stream.feed_eof()
    got = [await next_report(stream) for _ in range(4)]
    assert got[3] is None, "its end is missing"
    for one, other in zip(got, sent, strict=False):
        assert one == replace(other, status=json.loads(json.dumps(other.status)))


@pytest.mark.parametrize("noise", [b"x" * 99, b"printed\n", b"{\n", b"\n"], ids=["long", "text", "begun", "empty"])
async def test_bytes_that_are_no_report_are_refused(noise: bytes) -> None:
    stream = asyncio.StreamReader(limit=64)
    stream.feed_data(noise)
    with pytest.raises(ValueError, match=r"chunk|malformed|truncated"):
        await next_report(stream)


def test_a_worker_that_was_killed_is_named_until_the_next_one_reports() -> None:
    fleet = FleetBoard(1, lambda: 0.0, CollectorRegistry())
    fleet.ended(0, "was killed by signal 9")
    assert fleet.readiness() == (False, "worker 0: starting again: the one before was killed by signal 9")
    fleet.ended(0)
    assert fleet.readiness() == (False, "worker 0: starting")
