"""The status page: what flows, the worker's state, and what an operator should know, in words.

It shows the count and the age of the open window and nothing else, since loss or classes would tell whether a
planted record has found others like it. Of a released window it shows what the readers of the output see.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence

from sortedcontainers import SortedDict, SortedSet

from stream_anon.measures.window_leakage.before import least_told
from stream_anon.ports import Place
from stream_anon.privacy.certifying import certified_time
from stream_anon.rounding import exactly
from stream_anon.service import events as e
from stream_anon.service.events.brokers import LEAST_THROTTLED
from stream_anon.service.events.partitions import end_in_words
from stream_anon.service.status.flow_history import FlowHistory
from stream_anon.service.status.last_release import last_release
from stream_anon.service.status.leakage_section import leakage_section

LAST_WINDOWS = 10
WINDOWS_TO_JUDGE = 5  # before there is a hint about all of them
HALF_EMPTY = 0.5
MOST_PLACES = 1000
MOST_NAMED = 8  # places in a warning
STARTING, COMPILING = "starting", "compiling kernels; this takes a minute or two"
THROTTLED = {
    e.Throttle.BROKER: "the brokers' quotas hold this client back",
    e.Throttle.PROCESSOR: "the limit on processor time holds this service back",
}
THROTTLED_FOR = 120.0  # seconds for which an event is shown
PAUSED = "PAUSED by an operator: nothing more is read until {}"
SHARED = (
    "somebody who is no worker is a member of the consumer group: records of partitions that it is given are not "
    "released"
)
UNWATCHED = (
    "this user may not ask who the members of the consumer group are: a stranger, the records of whose partitions "
    "are not released, would not be noticed"
)
COUNTED = {  # by what is counted in totals
    "gate violations": "the gate had to suppress {:,} classes: a bug, please report",
    "failed audits": "{:,} published windows do not fit their certificates: a bug, please report",
    "lost": "the broker deleted {:,} records before they were read",
    "skipped partitions": "{:,} takeovers began above the ledger: records skipped",
    "unprotected": (
        "{:,} takeovers found an offset that the ledger does not know: had it been set back, records would be "
        "released twice"
    ),
}
REMARKS = {  # by how windows are delivered
    "at-least-once": "delivery is at-least-once: a record can be published twice, in two classes",
    "shadow": "SHADOW: nothing is published, no topic is written; what counts as released here was seen by nobody",
}


class StatusBoard:
    """Listens to a worker and tells its state; the `Service` of the HTTP pages.

    Parameters
    ----------
    monotonic
        Returns seconds on the clock of the events, as `Clock.monotonic`.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._started: e.WorkerStarted | None = None
        self._bound: e.WindowsBounded | None = None
        self._ready, self._reason = False, STARTING
        self._away: dict[e.Away, e.BrokerAway] = {}
        self._owned: SortedSet[Place] = SortedSet()
        self._stopped: SortedDict[Place, e.PartitionStopped] = SortedDict()
        self._open: e.WindowProgress | None = None
        self._packed = e.GroupPacked(0, 0)
        self._superseded: e.Superseded | None = None
        self._throttled: dict[e.Throttle, tuple[float, e.Throttled]] = {}  # with the time at which it was told
        self._ledger_held: e.LedgerHeld | None = None  # if it is worth a warning
        self._paused = ""  # in words
        self._shared = self._unwatched = False
        self._windows: deque[dict[str, object]] = deque(maxlen=LAST_WINDOWS)
        self._last: e.WindowPublished | None = None
        self._last_release: Mapping[str, object] | None = None
        self._audits: Counter[str] = Counter(passed=0, failed=0, skipped=0)
        self._totals: Counter[str] = Counter()
        self._suppressed: Counter[str] = Counter()
        self._rejected: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._ignored: Counter[str] = Counter()
        self._leakage: tuple[tuple[str, float | None, float], ...] = ()
        self._sizes: e.SizesLearned | None = None
        self._flow = FlowHistory()
        self._missing: Counter[str] = Counter()

    def __call__(self, event: e.Event) -> None:  # noqa: C901, PLR0912, PLR0915 - a table: one case a kind of event
        """Take note of what happened."""
        match event:
            case e.WorkerStarted():
                self._started = event
            case e.KernelsCompiling():
                self._ready, self._reason = False, COMPILING
            case e.KernelsCompiled():
                self._ready, self._reason = False, STARTING
            case e.ReadinessChanged():
                self._ready, self._reason = event.ready, event.reason
            case e.BrokerAway():
                self._away[event.doing] = event
            case e.BrokerBack():
                self._away.pop(event.doing, None)
            case e.PartitionsRevoked():
                self._totals["moved away"] += event.dropped
                self._owned.difference_update(event.places)
                for place in event.places:
                    self._stopped.pop(place, None)
            case e.TakeoverDone():
                self._owned.update((topic, partition) for topic, partition, _ in event.starts)
                for topic, partition, _ in event.starts:
                    self._stopped.pop((topic, partition), None)
                self._totals["read again"] += event.read_again
                self._totals["skipped partitions"] += len(event.skipped)
                self._totals["unprotected"] += len(event.unprotected)
            case e.PartitionStopped():
                self._owned.add(event.place)
                self._stopped[event.place] = event
            case e.GroupSeen():
                self._shared, self._unwatched = event.shared, event.unwatched
            case e.GroupPacked():
                self._packed = event
            case e.Superseded():
                self._superseded = event
            case e.ReadingOrdered():
                self._paused = PAUSED.format(end_in_words(event.until)) if event.paused else ""
            case e.RecordsConsumed():
                self._totals["consumed"] += event.records
                self._flow.add(self._monotonic(), event.records, 0)
            case e.Throttled():
                self._throttled[event.by] = (self._monotonic(), event)
            case e.LedgerHeld():
                self._ledger_held = event if event.seconds and (event.warns or self._ledger_held) else None
            case e.WindowProgress():
                self._open = event
            case e.WindowPublished():
                self._take_window(event)
            case e.WindowsBounded():
                self._bound = event
            case e.WindowAudited():
                self._take_audit(event)
            case e.WindowMeasured(shares=shares) if shares:
                self._leakage = shares
            case e.SizesLearned():
                self._sizes = event
            case e.WorkerStopping():
                self._ready, self._reason = False, "stopping"
            case e.WorkerStopped():
                self._ready, self._reason = False, "stopped"
                self._owned.clear()
            case _:
                pass

    def _take_window(self, event: e.WindowPublished) -> None:
        self._windows.appendleft(_window(event, None if self._started is None else self._started.max_records))
        self._flow.add(self._monotonic(), 0, event.released)
        names = () if self._started is None else self._started.declared
        for (reason, attribute), count in event.faults.items():
            named = 0 <= attribute < len(names)
            self._faults[f"{reason} ({names[attribute]})" if named else reason] += count
        self._last, self._last_release = event, None
        self._totals["windows"] += 1
        self._totals["released"] += event.released
        self._totals["gate violations"] += event.gate_violations
        self._totals["lost"] += sum(end - start for *_, start, end in event.lost)
        self._suppressed.update(event.suppressed)
        self._rejected.update(event.rejected)
        self._ignored.update(event.ignored)
        self._missing.update(event.missing)

    def _take_audit(self, event: e.WindowAudited) -> None:
        self._audits[event.result] += 1
        for window in self._windows:
            if window["batch"] == event.batch:
                window["audit"], window["violations"] = event.result, list(event.violations)

    def readiness(self) -> tuple[bool, str]:
        """Return whether the worker owns partitions or stands by for them; and why not, or a remark."""
        if self._ready:
            return True, "; ".join(filter(None, (self._paused, self._stands_aside())))
        causes = "; ".join(f"{away.doing.value}: {away.error}" for away in self._away.values())
        return False, "; ".join(filter(None, (causes or self._reason or "not ready", self._paused)))

    def _stands_aside(self) -> str:
        """Return in words that the worker leaves its partitions to a newer policy; empty if it does not."""
        event, left = self._superseded, 0 if self._open is None else self._open.left
        if event is None or not left:
            return ""
        return (
            f"stands by: the output has been published under revision {event.by} of the policy, this worker has "
            f"revision {event.own} and leaves {left:,} partitions to workers of the newer one"
        )

    def status(self) -> Mapping[str, object]:
        """Return the page as JSON values."""
        ready, reason = self.readiness()
        return {
            "ready": ready,
            "reason": reason,
            "warnings": self._warnings(),
            "hints": self._hints(),
            "service": self._service(),
            "partitions": {
                "owned": len(self._owned),
                "places": [f"{topic}-{partition}" for topic, partition in self._owned[:MOST_PLACES]],
                "stopped": [_stopped(event) for event in self._stopped.values()[:MOST_PLACES]],
            },
            "load": {
                "members": self._packed.members,
                "carriers": self._packed.carriers,
                "busy": None if self._open is None else self._open.busy,
            },
            "open_window": self._open_window(),
            "records": {
                "consumed": self._totals["consumed"],
                "released": self._totals["released"],
                "suppressed": dict(self._suppressed),
                "rejected": dict(self._rejected),
                "rejected_by_attribute": dict(self._faults),
                "ignored": dict(self._ignored),
                "read_again": self._totals["read again"],
                "moved_away": self._totals["moved away"],
                "missing": dict(self._missing),
                "lost_before_reading": self._totals["lost"],
                "not_read_yet": None if self._open is None else self._open.lag,
                "behind_open_transaction": 0 if self._open is None else self._open.held,
            },
            "flow": self._flow.view(self._monotonic()),
            "windows": self._totals["windows"],
            "audits": dict(self._audits),
            "last_windows": [dict(window) for window in self._windows],
            "last_release": self._released(),
            "leakage": leakage_section(self._leakage),
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
            "revision": event.revision,
            "engine": event.engine,
            "k": event.k,
            "asked": list(event.asked),
            "max_delay_seconds": event.max_delay,
            "max_records": event.max_records if self._bound is None else self._bound.records,
            "quasi_identifiers": list(event.attributes),
            "leakage_needs": least_told(len(event.attributes), event.max_records),
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
        if self._started is not None:
            found += [text for delivery, text in REMARKS.items() if delivery == self._started.delivery]
        found += [
            f"the {away.doing.whom} cannot be reached or refuses (while {away.doing.value}): {away.error}"
            for away in self._away.values()
        ]
        if self._ledger_held is not None:
            found.append(
                f"the ledger {self._ledger_held.topic} has stood at somebody's open transaction for "
                f"{self._ledger_held.seconds:,.0f} s: windows and takeovers wait for its end"
            )
        found += [
            f"{THROTTLED[event.by]}: {event.seconds:.1f} s of the last {event.within:.0f} s"
            for told, event in self._throttled.values()
            if self._monotonic() - told < THROTTLED_FOR and event.seconds >= LEAST_THROTTLED
        ]
        found += [SHARED] * self._shared + [UNWATCHED] * self._unwatched
        stopped = _in_words(self._stopped.values()) if self._stopped else ""
        found += filter(None, (self._paused, stopped, self._stands_aside()))
        counts = Counter({**self._totals, "failed audits": self._audits["failed"]})
        found += [text.format(counts[counted]) for counted, text in COUNTED.items() if counts[counted]]
        if self._overdue():
            found.append("the open window is older than max_delay: publication waits")
        return found

    def _hints(self) -> list[str]:
        if self._sizes is not None:
            return [self._sizes_in_words(self._sizes)]
        fills = [window["fill"] for window in self._windows if isinstance(window["fill"], float)]
        fill = sum(fills) / len(fills) if fills else 1.0
        chosen = self._started is None or self._started.chosen  # else windows are to close by their age
        if not chosen or len(fills) < WINDOWS_TO_JUDGE or fill >= HALF_EMPTY:
            return []
        return [
            f"windows close at {fill:.0%} of max_records: fewer workers or a longer max_delay lose less information"
        ]

    def _sizes_in_words(self, sizes: e.SizesLearned) -> str:
        target = None if self._started is None else self._started.target_loss
        needed = f"a window needs {sizes.needed:,} records for a loss of {exactly(target or 0.0)}"
        come = f"{sizes.by_delay:,} come within max_delay"
        if sizes.out_of_reach:
            return f"{needed}, and {come}: a longer max_delay, fewer workers or a higher target_loss would do"
        return f"{needed}, {come}, and windows close at {sizes.in_use:,}"

    def _overdue(self) -> bool:
        event, started = self._open, self._started
        if event is None or event.opened is None or started is None:
            return False
        return self._monotonic() - event.opened > started.max_delay * 1.05 + 1


def _in_words(stopped: Sequence[e.PartitionStopped]) -> str:
    named = [f"{topic}-{n} ({event.reason})" for event in stopped[:MOST_NAMED] for topic, n in [event.place]]
    more = f" and {len(stopped) - MOST_NAMED:,} more" if len(stopped) > MOST_NAMED else ""
    return (
        f"{len(stopped):,} partitions are stopped and wait for an operator, nothing of them is released meanwhile: "
        + ", ".join(named)
        + more
    )


def _stopped(event: e.PartitionStopped) -> Mapping[str, object]:
    topic, partition = event.place
    return {"place": f"{topic}-{partition}", "reason": event.reason, "explanation": event.explanation}


def _window(event: e.WindowPublished, max_records: int | None) -> dict[str, object]:
    """Return the summary of a certificate; how its audit ended is added later."""
    return {
        "batch": event.batch,
        "published": certified_time(event.wall),
        "in": event.records_in,
        "released": event.released,
        "suppressed": sum(event.suppressed.values()),
        "fill": None if max_records is None else round(event.admitted / max_records, 4),
        "rejected": sum(event.rejected.values()),
        "classes": len(event.class_sizes),
        "achieved_k": event.achieved_k,
        "achieved_l": dict(event.achieved_l),
        "gcp": None if event.gcp is None else round(event.gcp, 4),
        "open_seconds": round(event.closed_at - event.opened_at, 3),
        "audit": None,
        "violations": [],
    }
