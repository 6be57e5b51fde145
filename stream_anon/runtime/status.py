"""The status page: what flows, how it stands, and what an operator should know, in words.

Of an open window it shows the count and the age, nothing else: its loss or its classes would tell whether a
planted record found company. Of a released one it shows what the readers of the output see.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, deque
from collections.abc import Callable, Mapping

from stream_anon.runtime.events import (
    Away,
    BrokerAway,
    BrokerBack,
    Event,
    InputSkipped,
    PartitionsRevoked,
    PartitionStopped,
    Place,
    ReadinessChanged,
    RecordsConsumed,
    TakeoverDone,
    WindowAudited,
    WindowProgress,
    WindowPublished,
    WorkerStarted,
    WorkerStopped,
    WorkerStopping,
)
from stream_anon.runtime.last_release import last_release

LAST_WINDOWS = 10
MOST_PLACES = 1000
MOST_NAMED = 8  # places in a warning
AT_LEAST_ONCE = "delivery is at-least-once: a record can be published twice, in two classes"


class StatusBoard:
    """Listen to a worker and tell how it stands; the `Service` of the HTTP pages.

    Parameters
    ----------
    monotonic
        Returns seconds on the clock of the events, as `Clock.monotonic`.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._started: WorkerStarted | None = None
        self._ready, self._reason = False, "starting"
        self._away: dict[Away, BrokerAway] = {}
        self._owned: set[Place] = set()
        self._stopped: dict[Place, PartitionStopped] = {}
        self._open: WindowProgress | None = None
        self._windows: deque[dict[str, object]] = deque(maxlen=LAST_WINDOWS)
        self._last: WindowPublished | None = None
        self._last_release: Mapping[str, object] | None = None
        self._audits: Counter[str] = Counter(passed=0, failed=0, skipped=0)
        self._totals: Counter[str] = Counter()
        self._suppressed: Counter[str] = Counter()
        self._rejected: Counter[str] = Counter()

    def __call__(self, event: Event) -> None:  # noqa: C901, PLR0912 - a table: one case a kind of event
        """Take note of what happened."""
        match event:
            case WorkerStarted():
                self._started = event
            case ReadinessChanged():
                self._ready, self._reason = event.ready, event.reason
            case BrokerAway():
                self._away[event.doing] = event
            case BrokerBack():
                self._away.pop(event.doing, None)
            case PartitionsRevoked():
                self._owned.difference_update(event.places)
                for place in event.places:
                    self._stopped.pop(place, None)
            case TakeoverDone():
                self._owned.update((topic, partition) for topic, partition, _ in event.starts)
                for topic, partition, _ in event.starts:
                    self._stopped.pop((topic, partition), None)
                self._totals["skipped partitions"] += len(event.skipped)
                self._totals["unprotected"] += len(event.unprotected)
            case PartitionStopped():
                self._owned.add(event.place)
                self._stopped[event.place] = event
            case InputSkipped():
                self._totals["lost"] += max(0, event.end - event.start)
            case RecordsConsumed():
                self._totals["consumed"] += event.records
            case WindowProgress():
                self._open = event
            case WindowPublished():
                self._take_window(event)
            case WindowAudited():
                self._take_audit(event)
            case WorkerStopping():
                self._ready, self._reason = False, "stopping"
            case WorkerStopped():
                self._ready, self._reason = False, "stopped"
                self._owned.clear()
            case _:
                pass

    def _take_window(self, event: WindowPublished) -> None:
        self._windows.appendleft(_window(event))
        self._last, self._last_release = event, None
        self._totals["windows"] += 1
        self._totals["released"] += event.released
        self._totals["gate violations"] += event.gate_violations
        self._suppressed.update(event.suppressed)
        self._rejected.update(event.rejected)

    def _take_audit(self, event: WindowAudited) -> None:
        self._audits[event.result] += 1
        for window in self._windows:
            if window["batch"] == event.batch:
                window["audit"], window["violations"] = event.result, list(event.violations)

    def readiness(self) -> tuple[bool, str]:
        """Return whether the worker owns partitions or stands by for them, and if not, why."""
        if self._ready:
            return True, ""
        causes = "; ".join(f"{away.doing.value}: {away.error}" for away in self._away.values())
        return False, causes or self._reason or "not ready"

    def status(self) -> Mapping[str, object]:
        """Return the page as JSON values."""
        ready, reason = self.readiness()
        return {
            "ready": ready,
            "reason": reason,
            "warnings": self._warnings(),
            "service": self._service(),
            "partitions": {
                "owned": len(self._owned),
                "places": [f"{topic}-{partition}" for topic, partition in sorted(self._owned)[:MOST_PLACES]],
                "stopped": [_stopped(event) for _, event in sorted(self._stopped.items())[:MOST_PLACES]],
            },
            "open_window": self._open_window(),
            "records": {
                "consumed": self._totals["consumed"],
                "released": self._totals["released"],
                "suppressed": dict(self._suppressed),
                "rejected": dict(self._rejected),
                "lost_before_reading": self._totals["lost"],
                "not_read_yet": None if self._open is None else self._open.lag,
                "behind_open_transaction": 0 if self._open is None else self._open.held,
            },
            "windows": self._totals["windows"],
            "audits": dict(self._audits),
            "last_windows": [dict(window) for window in self._windows],
            "last_release": self._released(),
        }

    def _released(self) -> Mapping[str, object] | None:
        if self._last_release is None and self._last is not None and self._started is not None:
            self._last_release = last_release(self._last, self._started.attributes, self._started.k)
        return self._last_release

    def _service(self) -> Mapping[str, object] | None:
        event = self._started
        if event is None:
            return None
        return {
            "software": event.software,
            "policy": event.policy,
            "engine": event.engine,
            "k": event.k,
            "max_delay_seconds": event.max_delay,
            "max_records": event.max_records,
            "quasi_identifiers": list(event.attributes),
            "group": event.group,
            "input": event.topic,
            "output": event.output,
            "delivery": event.delivery,
        }

    def _open_window(self) -> Mapping[str, object] | None:
        event = self._open
        if event is None:
            return None
        age = 0.0 if event.opened is None else max(0.0, self._monotonic() - event.opened)
        return {
            "records": event.records,
            "age_seconds": round(age, 3),
            "another_is_closing": event.closing,
            "reading_is_paused": event.paused,
        }

    def _warnings(self) -> list[str]:
        found = []
        if self._started is not None and self._started.delivery == "at-least-once":
            found.append(AT_LEAST_ONCE)
        found += [
            f"the broker cannot be reached or refuses (while {away.doing.value}): {away.error}"
            for away in self._away.values()
        ]
        if self._stopped:
            found.append(_in_words(self._stopped))
        if self._totals["gate violations"]:
            found.append(
                f"the gate had to suppress {self._totals['gate violations']} classes: a bug, please report"
            )
        if self._audits["failed"]:
            found.append(
                f"{self._audits['failed']} published windows do not fit their certificates: a bug, please report"
            )
        if self._totals["lost"]:
            found.append(f"the broker deleted {self._totals['lost']} records before they were read")
        if self._totals["skipped partitions"]:
            found.append(f"{self._totals['skipped partitions']} takeovers began above the ledger: records skipped")
        if self._totals["unprotected"]:
            found.append(
                f"{self._totals['unprotected']} takeovers found an offset of which the ledger knows nothing: "
                "had it been set back, records were released a second time"
            )
        if self._overdue():
            found.append("the open window is older than max_delay: publication waits")
        return found

    def _overdue(self) -> bool:
        event, started = self._open, self._started
        if event is None or event.opened is None or started is None:
            return False
        return self._monotonic() - event.opened > started.max_delay * 1.05 + 1


def _in_words(stopped: Mapping[Place, PartitionStopped]) -> str:
    named = [f"{topic}-{n} ({event.reason})" for (topic, n), event in sorted(stopped.items())]
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return (
        f"{len(named)} partitions are stopped and wait for an operator, nothing of them is released meanwhile: "
        + ", ".join(named[:MOST_NAMED])
        + more
    )


def _stopped(event: PartitionStopped) -> Mapping[str, object]:
    topic, partition = event.place
    return {"place": f"{topic}-{partition}", "reason": event.reason, "explanation": event.explanation}


def _window(event: WindowPublished) -> dict[str, object]:
    """Return the summary of a certificate; how its audit ended is added later."""
    return {
        "batch": event.batch,
        "published": dt.datetime.fromtimestamp(event.wall, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "in": event.records_in,
        "released": event.released,
        "suppressed": sum(event.suppressed.values()),
        "rejected": sum(event.rejected.values()),
        "classes": len(event.class_sizes),
        "achieved_k": event.achieved_k,
        "achieved_l": dict(event.achieved_l),
        "gcp": None if event.gcp is None else round(event.gcp, 4),
        "open_seconds": round(event.closed_at - event.opened_at, 3),
        "audit": None,
        "violations": [],
    }
