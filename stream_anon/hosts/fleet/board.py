"""The state of a fleet: the status pages of its workers as one page, and the counts of workers that have ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector

from stream_anon.adapters.prometheus.exposition import metrics_of
from stream_anon.adapters.prometheus.merging import growing, merged
from stream_anon.hosts.fleet.reports import WorkerReport
from stream_anon.service.status.flow_history import SECONDS
from stream_anon.service.status.leakage_section import highest
from stream_anon.service.status.status_board import LAST_WINDOWS, MOST_PLACES
from stream_anon.service.wiring.observing import into_metrics

SILENT = 5.0  # seconds without a report after which a worker is not ready

Status = Mapping[str, Any]
_COUNTED = ("consumed", "released", "lost_before_reading", "read_again", "moved_away", "behind_open_transaction")
_COUNTED_BY_REASON = ("suppressed", "rejected", "rejected_by_attribute", "ignored", "missing")


class FleetBoard(Collector):
    """Keeps the last report of each worker; the `ObservedService` of the HTTP pages, and what `exposition` writes.

    Parameters
    ----------
    workers
        How many there should be.
    monotonic
        Returns seconds.
    registry
        The fleet's own metrics.
    """

    def __init__(self, workers: int, monotonic: Callable[[], float], registry: CollectorRegistry) -> None:
        self._workers = workers
        self._monotonic = monotonic
        self._registry = registry
        self._reports: dict[int, tuple[WorkerReport, float]] = {}
        self._parsed: dict[int, tuple[WorkerReport, list[Metric]]] = {}  # 5 ms a report, so once for all scrapers
        self._past_metrics: list[Metric] = []
        self._past: dict[str, Any] = _counts([])
        self._stopping = False
        self._ends: dict[int, str] = {}
        self._nothing = CollectorRegistry()
        into_metrics(self._nothing)  # of a worker without a report: not ready, its lag unknown

    def take(self, number: int, report: WorkerReport) -> None:
        """Keep a report."""
        self._reports[number] = report, self._monotonic()

    def ended(self, number: int, reason: str = "") -> None:
        """Forget the state of a worker, and keep its counts, since a falling counter would look like a restart.

        Parameters
        ----------
        reason
            Why it ended, if known; readiness tells it until the next worker of this number reports.
        """
        self._ends[number] = reason
        if number in self._reports:
            with suppress(ValueError):  # a worker whose text nobody can read must not end the others
                self._past_metrics = merged([self._past_metrics, growing(self._metrics(number))])
            report, _ = self._reports.pop(number)
            self._past = _counts([self._past, report.status])
            self._parsed.pop(number, None)

    def stop(self) -> None:
        """Stop being ready."""
        self._stopping = True

    def collect(self) -> list[Metric]:
        """Return the metrics of all workers as those of one service."""
        present = [
            self._metrics(n) if n in self._reports else [*self._nothing.collect()] for n in range(self._workers)
        ]
        return merged([self._registry.collect(), *present, self._past_metrics])

    def _metrics(self, number: int) -> list[Metric]:
        report, _ = self._reports[number]
        if number not in self._parsed or self._parsed[number][0] is not report:
            self._parsed[number] = report, metrics_of(report.metrics)
        return self._parsed[number][1]

    def readiness(self) -> tuple[bool, str]:
        """Return whether every worker is ready; if not, which one is not and why."""
        if self._stopping:
            return False, "stopping"
        for number in range(self._workers):
            reason = self._not_ready(number)
            if reason is not None:
                return False, f"worker {number}: {reason}"
        remarks = ((number, str(report.status["reason"])) for number, (report, _) in sorted(self._reports.items()))
        return True, next((f"worker {number}: {text}" for number, text in remarks if text), "")

    def _not_ready(self, number: int) -> str | None:
        if number not in self._reports:
            reason = self._ends.get(number)
            return f"starting again: the one before {reason}" if reason else "starting"
        report, heard = self._reports[number]
        if self._monotonic() - heard > SILENT:
            return "silent"
        return None if report.status["ready"] else str(report.status["reason"])

    def status(self) -> Status:
        """Return the page as JSON values, like that of one worker, with `workers` added."""
        pages = [report.status for _, (report, _) in sorted(self._reports.items())]
        ready, reason = self.readiness()
        counts = _counts([self._past, *pages])
        counts["records"]["not_read_yet"] = _unread(pages, self._workers)
        return {
            "ready": ready,
            "reason": reason,
            "warnings": list(self._noted("warnings")),
            "hints": list(self._noted("hints")),
            "service": next((page["service"] for page in pages if page["service"]), None),
            "partitions": _partitions(pages),
            "load": _load(pages),
            "open_window": _open_window(pages),
            **counts,
            "flow": _flow(pages),
            "leakage": highest([page["leakage"] for page in pages]),
            "workers": [self._worker(number) for number in range(self._workers)],
        }

    def _noted(self, section: str) -> Iterator[str]:
        """Yield each warning or hint once, with the workers that have it, unless all do."""
        having: dict[str, list[int]] = {}
        for number, (report, _) in sorted(self._reports.items()):
            for text in report.status[section]:
                having.setdefault(text, []).append(number)
        for text, numbers in having.items():
            everybody = len(numbers) == self._workers
            yield text if everybody else f"worker {', '.join(map(str, numbers))}: {text}"

    def _worker(self, number: int) -> Status:
        reason = self._not_ready(number)
        owned = self._reports[number][0].status["partitions"]["owned"] if number in self._reports else 0
        return {"number": number, "ready": reason is None, "reason": reason or "", "partitions_owned": owned}


def _partitions(pages: Iterable[Status]) -> Status:
    parts = [page["partitions"] for page in pages]
    stopped = sorted((one for part in parts for one in part["stopped"]), key=lambda one: str(one["place"]))
    return {
        "owned": sum(part["owned"] for part in parts),
        "places": sorted(place for part in parts for place in part["places"])[:MOST_PLACES],
        "stopped": stopped[:MOST_PLACES],
    }


def _load(pages: Sequence[Status]) -> Status:
    """Return how the group shares out its partitions, and the share of the busiest worker."""
    parts = [page["load"] for page in pages]
    counts = {key: max((part[key] for part in parts), default=0) for key in ("members", "carriers")}
    return {**counts, "busy": max((part["busy"] for part in parts if part["busy"] is not None), default=None)}


def _open_window(pages: Iterable[Status]) -> Status | None:
    windows = [page["open_window"] for page in pages if page["open_window"]]
    if not windows:
        return None
    return {
        "records": sum(window["records"] for window in windows),
        "age_seconds": max(window["age_seconds"] for window in windows),
        "another_is_closing": any(window["another_is_closing"] for window in windows),
        "reading_is_paused": any(window["reading_is_paused"] for window in windows),
    }


def _counts(pages: Sequence[Status]) -> dict[str, Any]:
    """Add up the counts of pages, in the form of a page."""
    records, newest = [page["records"] for page in pages], _newest(pages)
    return {
        "records": {
            **{key: sum(each[key] for each in records) for key in _COUNTED},
            **{key: _added(each[key] for each in records) for key in _COUNTED_BY_REASON},
        },
        "windows": sum(page["windows"] for page in pages),
        "audits": {"passed": 0, "failed": 0, "skipped": 0} | _added(page["audits"] for page in pages),
        "last_windows": [window for window, _ in newest],
        "last_release": newest[0][1] if newest else None,
    }


def _flow(pages: Sequence[Status]) -> Status:
    """Return the records of each of the last seconds, of all workers together."""
    nothing = [0] * SECONDS
    return {
        way: [sum(each) for each in zip(nothing, *(page["flow"][way] for page in pages), strict=True)]
        for way in ("read", "released")
    }


def _unread(pages: Sequence[Status], workers: int) -> int | None:
    waiting = [page["records"]["not_read_yet"] for page in pages]
    return None if None in waiting or len(waiting) < workers else sum(waiting)


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _newest(pages: Iterable[Status]) -> list[tuple[Status, Any]]:
    """Return the newest windows of all pages, the first one of each page with its classes."""
    found = [
        (window, None if place else page["last_release"])
        for page in pages
        for place, window in enumerate(page["last_windows"])
    ]
    return sorted(found, key=lambda each: str(each[0]["published"]), reverse=True)[:LAST_WINDOWS]
