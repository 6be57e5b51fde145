"""Metrics of the worker as a whole: what runs, and whether it can work."""

from __future__ import annotations

import math

from stream_anon.adapters.prometheus.declaring import Declaring
from stream_anon.errors import Cause
from stream_anon.service import events as e

DIRECTIONS = ("ahead", "back")
NOT_READY = ("starting", "stopping", *(cause.value for cause in Cause))


class WorkerMetrics:
    """Names software and policy, and shows what keeps the worker from being ready."""

    def __init__(self, declare: Declaring) -> None:
        self._build = declare.gauge("build_info", "The running software.", ("version", "revision"))
        labels = ("policy", "engine", "delivery", "revision")
        self._policy = declare.gauge("policy_info", "The policy in force.", labels)
        self._release_ends = declare.gauge(
            "release_end_timestamp_seconds",
            "When the release expires that the policy states (release.valid_until); +Inf if it never does.",
            ("policy",),  # so that nothing is told before the policy is known: +Inf would silence the alert
        )
        self._ordered = declare.gauge("paused", "1 while an operator has paused the reading.")
        self._clock_steps = declare.family(
            "clock_steps",
            "Times that the machine's time of day was set by more than five seconds.",
            "direction",
            DIRECTIONS,
        )
        self._ready = declare.gauge("ready", "1 while the worker owns partitions or stands by for them.")
        self._not_ready = declare.gauge("not_ready", "1 for what keeps the worker from being ready.", ("reason",))
        self._outages = declare.family("broker_outages", "Times the broker was away.", "activity", e.Away)
        self._away = declare.counter(
            "broker_away_seconds", "Time the broker, or the schema registry, was away, counted when it is back."
        )
        self._reachable = declare.gauge("broker_reachable", "0 while the broker, or the schema registry, is away.")
        self._absences: dict[e.Away, str] = {}  # why, of each activity that waits
        self._be_ready(False, "starting")

    def __call__(self, event: e.Event) -> None:
        """Count what an event says of the worker."""
        match event:
            case e.WorkerStarted():
                version, _, source = event.software.partition("+")
                self._build.labels(version, source).set(1)
                self._policy.labels(event.policy, event.engine, event.delivery, event.revision).set(1)
                if event.delivery != "shadow":  # which publishes nothing
                    ends = math.inf if event.release_ends is None else event.release_ends
                    self._release_ends.labels(event.policy).set(ends)
            case e.ReadingOrdered():
                self._ordered.set(event.paused)
            case e.ClockSet():
                self._clock_steps.add("back" if event.seconds < 0 else "ahead")
            case e.ReadinessChanged():
                self._be_ready(event.ready, "starting")
            case e.WorkerStopping() | e.WorkerStopped():
                self._be_ready(False, "stopping")
            case e.BrokerAway():
                self._outages.add(event.doing, 0 if event.again else 1)
                self._absences[event.doing] = event.cause
                self._reachable.set(0)
                self._show_reasons()
            case e.BrokerBack():
                self._away.inc(max(0.0, event.seconds))
                self._absences.pop(event.doing, None)
                self._reachable.set(not self._absences)
                self._show_reasons()
            case e.TakeoverDone():
                self._reachable.set(not self._absences)

    def _be_ready(self, ready: bool, otherwise: str) -> None:
        """Show whether the worker can work; if not, `otherwise` is the reason where nothing is away."""
        self._ready.set(ready)
        self._readiness = ready, otherwise
        self._show_reasons()

    def _show_reasons(self) -> None:
        ready, otherwise = self._readiness
        reasons = set() if ready else set(self._absences.values()) or {otherwise}
        for reason in NOT_READY:
            self._not_ready.labels(reason).set(reason in reasons)
