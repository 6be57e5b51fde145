"""All metrics of the service in one place.

Names start with `stream_anon_`, units are base units, labels come from the closed sets below and never from a
record. Alerts should rest on counters: a gauge misses the windows between two scrapes.

There are no exemplars: one would link a moment of the input to a place in the output, and this service exists to
cut that link.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from prometheus_client import CollectorRegistry, Counter, Gauge

from stream_anon.adapters.prometheus.columns import ColumnHistogram
from stream_anon.adapters.prometheus.families import (
    ABANDONMENTS,
    ACTIVITIES,
    BUSY,
    CHANGES,
    CLASS_SIZES,
    IGNORED,
    NOT_READY,
    OUTCOMES,
    RATIOS,
    REJECTIONS,
    SCHEMA_CHANGES,
    SECONDS,
    STOPS,
    SUPPRESSIONS,
    THROTTLES,
    VERDICTS,
    WINDOW_SIZES,
    WORK_SECONDS,
    Family,
)

PREFIX = "stream_anon"
READING_STEP = 0.125  # seconds; a binary fraction, so that sums of it are exact


def delay_budget(max_delay: float) -> float:
    """Return the longest wait in seconds that counts as in time: max_delay, and the time that a close may take."""
    return max_delay + max(1.0, max_delay / 4)


class Metrics:
    """Declares every metric in `registry` and turns what happened into numbers."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._declare_records()
        self._declare_windows()
        self._declare_times()
        self._declare_kafka()
        self._declare_service()

    def _counter(self, name: str, documentation: str) -> Counter:
        return Counter(f"{PREFIX}_{name}", documentation, registry=self._registry)

    def _family(self, name: str, documentation: str, label: str, values: Iterable[str]) -> Family:
        return Family(Counter(f"{PREFIX}_{name}", documentation, [label], registry=self._registry), values)

    def _gauge(self, name: str, documentation: str, labels: tuple[str, ...] = ()) -> Gauge:
        return Gauge(f"{PREFIX}_{name}", documentation, labels, registry=self._registry)

    def _histogram(self, name: str, documentation: str, bounds: tuple[float, ...]) -> ColumnHistogram:
        return ColumnHistogram(f"{PREFIX}_{name}", documentation, bounds, self._registry)

    def certificates(self, ends: Mapping[str, float]) -> None:
        """Note when certificates of the connection end, in seconds since the epoch."""
        for name, end in ends.items():
            self._certificate_ends.labels(name).set(end)

    def _declare_records(self) -> None:
        self._consumed = self._counter("records_consumed", "Records read from the input topic.")
        self._singly = self._counter(
            "records_read_singly",
            "Records that were read one by one, which is slow, also rejected ones; counted with their window.",
        )
        self._faults = self._counter(
            "reading_faults", "Stretches of records that made a kernel leave its bounds: a bug, perhaps an attack."
        )
        self._coerced = self._counter(
            "values_coerced",
            "Texts that counted as numbers or truth values, because their attributes say coerce; counted with "
            "their window.",
        )
        self._released = self._counter("records_released", "Records published k-anonymous.")
        self._suppressed = self._family(
            "records_suppressed", "Records kept back, by reason.", "reason", SUPPRESSIONS
        )
        self._rejected = self._family(
            "dead_letters", "Records that do not fit the policy, by reason.", "reason", REJECTIONS
        )
        self._ignored = self._family(
            "records_ignored", "Records that hold no row of a table and are no dead letters.", "reason", IGNORED
        )
        self._missing = Counter(
            f"{PREFIX}_records_missing",
            "Released and suppressed records without a value, by published attribute.",
            ["attribute"],
            registry=self._registry,
        )

    def _declare_windows(self) -> None:
        self._open_records = self._gauge("window_records", "Records in the open window, also those not published.")
        self._open_age = self._gauge("window_oldest_age_seconds", "How long the open window's oldest record waits.")
        self._certificate_ends = self._gauge(
            "certificate_end_timestamp_seconds",
            "When a certificate of a connection ends, by its key in the settings.",
            ("certificate",),
        )
        self._closing = self._gauge("window_closing", "1 while a window is being closed and published.")
        self._paused = self._gauge("consumer_paused", "1 while reading waits for the window being closed.")
        self._windows = self._counter("windows_published", "Windows published and committed.")
        self._overdue = self._counter("windows_overdue", "Windows that closed later than max_delay allows.")
        self._above_most = self._counter(
            "windows_above_max_suppressed",
            "Windows that suppress more than max_suppressed, or were suppressed for it.",
        )
        self._abandoned = self._family(
            "windows_abandoned", "Windows dropped unpublished, to be read again.", "reason", ABANDONMENTS
        )
        self._window_size = self._histogram(
            "window_size_records", "Records of each published window, rejected ones included.", WINDOW_SIZES
        )
        self._fill = self._histogram(
            "window_fill_ratio",
            "Admitted records of each published window, suppressed ones included, as a share of max_records.",
            RATIOS,
        )
        self._class_size = self._histogram(
            "class_size_records", "Records of each published equivalence class.", CLASS_SIZES
        )
        self._k = self._gauge("achieved_k", "Least number of individuals in a class of the last window.")
        self._shields = self._gauge(
            "achieved_shield_k",
            "Least number of individuals in the last window who share the values of a shield's attributes.",
            ("shield",),
        )
        self._below_k = self._counter(
            "windows_below_k", "Published windows whose achieved k is below k, the policy's or a shield's: a bug."
        )
        self._loss = self._gauge("information_loss_ratio", "Information loss (GCP) of the last window.")
        self._losses = self._histogram(
            "window_information_loss_ratio", "Information loss (GCP) of each published window.", RATIOS
        )
        self._attribute_loss = Counter(
            f"{PREFIX}_attribute_information_loss",
            "Sum of an attribute's loss (NCP) over published and suppressed records, which count 1.",
            ["attribute"],
            registry=self._registry,
        )
        self._leakage = self._gauge(
            "information_leakage_ratio",
            "What an attribute leaks of who somebody is: after the release of the last measured window, and before "
            "that of one in an hour, with noise; no series before a window was measured.",
            ("attribute", "stage"),
        )
        self._violations = self._counter("gate_violations", "Classes that the gate had to suppress: a bug.")
        self._audits = self._family(
            "windows_audited", "Published windows, by what auditing them again found.", "result", VERDICTS
        )

    def _declare_times(self) -> None:
        self._delay = self._histogram(
            "delay_seconds", "From a record's arrival at the worker to its publication.", SECONDS
        )
        self._end_to_end = self._histogram(
            "end_to_end_delay_seconds", "From a record's broker timestamp to its publication.", SECONDS
        )
        self._late = self._counter(
            "records_over_delay_budget", "Records that waited longer than policy_delay_budget_seconds."
        )
        self._late_end_to_end = self._counter(
            "records_over_end_to_end_budget",
            "Records published later than policy_delay_budget_seconds after their broker timestamp.",
        )
        self._stages = {
            stage: self._histogram(f"{stage}_duration_seconds", text, WORK_SECONDS)
            for stage, text in (
                ("close", "Partitioning, generalizing and checking a window."),
                ("gate", "The gate's part of closing a window."),
                ("encode", "Writing a window's records, certificate and dead letters."),
                ("publish", "A window's transaction, repeated attempts included."),
                ("commit", "Offsets, fence and commit of a transaction."),
                ("takeover", "From an assignment of partitions until their records are taken."),
                ("audit", "Auditing a published window again, beside the work."),
            )
        }
        self._busy = self._family(
            "busy_seconds", "Time spent working, by stage; the rest of each second is to spare.", "stage", BUSY
        )
        self._untold: dict[str, float] = {}  # seconds of reading, by stage
        self._last = self._gauge("last_release_timestamp_seconds", "When the last window was published.")

    def _declare_kafka(self) -> None:
        self._transactions = self._family("transactions", "Transactions by outcome.", "outcome", OUTCOMES)
        self._broken = self._counter("transactions_broken", "Transactions that broke off on their way.")
        self._rebalances = self._family("rebalances", "Changes of the partitions owned.", "change", CHANGES)
        self._owned = self._gauge("partitions_owned", "Input partitions that this worker owns.")
        self._stopped = self._family(
            "partitions_stopped", "Partitions that stopped and need an operator.", "reason", STOPS
        )
        self._dropped = self._counter(
            "takeover_dropped_records", "Records that left the open window because its partition moved."
        )
        self._again = self._counter("takeover_reread_records", "Records read again after a takeover.")
        self._skipped = self._counter("partitions_skipped", "Takeovers that began above the ledger.")
        self._unprotected = self._counter(
            "partitions_without_entry", "Takeovers at a committed offset that the ledger does not know."
        )
        self._lost = self._counter("input_lost_records", "Records that the broker deleted before they were read.")
        self._not_read = self._gauge(
            "partitions_not_read",
            "Input partitions that this worker owns and does not read: they need an operator.",
        )
        self._left = self._gauge(
            "partitions_superseded",
            "Input partitions that this worker owns and leaves to workers of a higher revision of the policy.",
        )
        self._lag = self._gauge(
            "consumer_lag_records",
            "Records of the owned partitions that are not read yet, of stopped ones and behind open transactions "
            "too; NaN until it is known.",
        )
        self._lag.set(math.nan)  # 0 would say that nothing waits
        self._held = self._gauge(
            "records_behind_open_transaction",
            "Records of the input that nobody can read until somebody's open transaction ends.",
        )
        self._held_seconds = self._gauge(
            "input_held_seconds", "How long an input partition has stood at the same open transaction."
        )
        self._ledger_held = self._gauge(
            "ledger_held_seconds",
            "How long the ledger has stood at the same open transaction, a worker's or somebody else's.",
        )
        self._throttled = self._family(
            "throttled_seconds",
            "Time that brokers' quotas held connections back, and that a limit held the pod's processors back.",
            "by",
            THROTTLES,
        )
        self._schema_changes = self._family(
            "schema_changes",
            "Declared fields that a schema lacks, has no more, has anew or has with another type, when records "
            "name it for the first time; and schemas that cannot be read.",
            "change",
            SCHEMA_CHANGES,
        )
        self._outages = self._family("broker_outages", "Times the broker was away.", "activity", ACTIVITIES)
        self._away = self._counter(
            "broker_away_seconds", "Time the broker, or the schema registry, was away, counted when it is back."
        )
        self._reachable = self._gauge("broker_reachable", "0 while the broker, or the schema registry, is away.")
        self._absences: dict[str, str] = {}  # activities that wait, and why

    def _declare_service(self) -> None:
        self._ready = self._gauge("ready", "1 while the worker owns partitions or stands by for them.")
        self._not_ready = self._gauge("not_ready", "1 for what keeps the worker from being ready.", ("reason",))
        self._readiness = (False, "starting")
        self._show_reasons()
        self._ordered = self._gauge("paused", "1 while an operator has paused the reading.")
        self._build = self._gauge("build_info", "The running software.", ("version",))
        labels = ("policy", "engine", "delivery", "revision")
        self._policy = self._gauge("policy_info", "The policy in force.", labels)
        self._k_asked = self._gauge("policy_k", "Least number of individuals that the policy asks of a class.")
        self._shields_asked = self._gauge(
            "policy_shield_k", "Least number of individuals that the policy asks of a shield.", ("shield",)
        )
        self._max_delay = self._gauge("policy_max_delay_seconds", "Age at which the policy closes a window.")
        self._max_records = self._gauge("policy_max_records", "Records at which the policy closes a window.")
        self._holds = self._gauge(
            "policy_holds", "1 where the policy lets a window wait beyond max_delay for more people."
        )
        self._order = self._gauge("order_version", "Orders the engine has adopted since the start, the first is 1.")
        self._budget = self._gauge("policy_delay_budget_seconds", "Longest wait that counts as in time.")
        self._accepts_missing = self._gauge(
            "policy_accepts_missing", "1 for attributes that may be absent from every record.", ("attribute",)
        )
        self._limits = (0, 0.0, math.inf)
        self._asked_of_shields: tuple[tuple[str, int], ...] = ()
        self._published: frozenset[str] = frozenset()
        self._attributes: tuple[str, ...] = ()

    def started(self, version: str, policy: str, engine: str, delivery: str, revision: int = 0) -> None:
        """Name what runs."""
        self._build.labels(version).set(1)
        self._policy.labels(policy, engine, delivery, str(revision)).set(1)

    def limits(self, k: int, max_delay: float, max_records: int, *, holds: bool = False) -> None:
        """Name what the policy asks, so that an alert can compare with it."""
        self._limits = (k, max_delay, max_records)
        self._holds.set(holds)
        self._k_asked.set(k)
        self._max_delay.set(max_delay)
        self._max_records.set(max_records)
        self._budget.set(delay_budget(max_delay))

    def shields(self, asked: Sequence[tuple[str, int]]) -> None:
        """Name the shields that the policy declares, each with the k that it asks."""
        self._asked_of_shields = tuple(asked)
        for name, k in asked:
            self._shields_asked.labels(name).set(k)
            self._shields.labels(name)

    def attributes(self, names: Sequence[str]) -> None:
        """Name the quasi-identifiers that the policy declares; no other name becomes a label."""
        self._attributes = tuple(names)
        for name in names:
            self._attribute_loss.labels(name)

    def published_attributes(self, names: Sequence[str], accepted: Sequence[str]) -> None:
        """Set the attributes that the policy publishes, and those that it allows to be absent."""
        self._published = frozenset(names)
        for name in names:
            self._missing.labels(name)
            self._accepts_missing.labels(name).set(name in accepted)

    def missing(self, counts: Mapping[str, int]) -> None:
        """Count a window's records without a value, by published attribute; no other name becomes a label."""
        for name in self._published.intersection(counts):
            self._missing.labels(name).inc(counts[name])

    def order_adopted(self, version: int) -> None:
        """Tell that the engine uses another order."""
        self._order.set(version)

    def readiness(self, ready: bool, otherwise: str = "starting") -> None:
        """Say whether the worker can work; if not, `otherwise` is the reason where nothing is away."""
        self._ready.set(ready)
        self._readiness = (ready, otherwise)
        self._show_reasons()

    def _show_reasons(self) -> None:
        ready, otherwise = self._readiness
        reasons = set() if ready else set(self._absences.values()) or {otherwise}
        for reason in NOT_READY:
            self._not_ready.labels(reason).set(reason in reasons)

    def reading_ordered(self, paused: bool) -> None:
        """Say whether an operator has paused the reading."""
        self._ordered.set(paused)

    def broker_away(self, activity: str, cause: str, *, again: bool = False) -> None:
        """Count an outage; `again` where one goes on for another cause."""
        self._outages.add(activity, 0 if again else 1)
        self._absences[activity] = cause
        self._reachable.set(0)
        self._show_reasons()

    def broker_back(self, activity: str, seconds: float) -> None:
        """End an outage; the broker is reachable once no activity waits for it."""
        self._away.inc(max(0.0, seconds))
        self._absences.pop(activity, None)
        self._reachable.set(not self._absences)
        self._show_reasons()

    def assigned(self) -> None:
        """Count a rebalance that brings partitions."""
        self._rebalances.add("assigned")

    def revoked(self, dropped: int, owned: int) -> None:
        """Count a rebalance that takes partitions, and the rows that left the open window."""
        self._rebalances.add("revoked")
        self._dropped.inc(dropped)
        self._owned.set(owned)

    def taken_over(self, dropped: int, read_again: int, skipped: int, owned: int, seconds: float) -> None:
        """Count what a takeover dropped, will read again and skipped."""
        self._reachable.set(not self._absences)
        self._dropped.inc(dropped)
        self._again.inc(read_again)
        self._skipped.inc(skipped)
        self._owned.set(owned)
        self._stages["takeover"].observe(seconds)

    def unprotected(self, partitions: int) -> None:
        """Count partitions with a committed offset and no entry in the ledger."""
        self._unprotected.inc(partitions)

    def partition_stopped(self, reason: str) -> None:
        """Count a partition that waits for an operator."""
        self._stopped.add(reason)

    def input_lost(self, records: int) -> None:
        """Count records that were deleted unread."""
        self._lost.inc(max(0, records))

    def reading_fault(self) -> None:
        """Count a stretch of records that made a kernel leave its bounds."""
        self._faults.inc()

    def consumed(self, records: int) -> None:
        """Count the records of a poll.

        Its bytes are not counted: on a quiet topic they are the length of one record.
        """
        self._consumed.inc(records)

    def records_read(self, singly: int, coerced: int) -> None:
        """Count how the records of a published window were read."""
        self._singly.inc(singly)
        self._coerced.inc(coerced)

    def window_progress(self, records: int, age: float, closing: bool, paused: bool) -> None:
        """Show the open window: its count and age, nothing else of it."""
        self._open_records.set(records)
        self._open_age.set(max(0.0, age))
        self._closing.set(closing)
        self._paused.set(paused)

    def unread(self, lag: int | None, stopped: int, left: int = 0) -> None:
        """Set the number of unread records, if it is known, and of partitions that are not read.

        Parameters
        ----------
        stopped, left
            Those that wait for an operator, and those that are left to workers of a newer policy.
        """
        self._not_read.set(stopped)
        self._left.set(left)
        if lag is not None:
            self._lag.set(lag)

    def held(self, records: int, seconds: float) -> None:
        """Show what lies behind open transactions on the input, and for how long."""
        self._held.set(records)
        self._held_seconds.set(seconds)

    def schema_seen(self, changes: Mapping[str, int]) -> None:
        """Count what a schema changes, by the kind of the change."""
        for change, fields in changes.items():
            self._schema_changes.add(change, fields)

    def ledger_held(self, seconds: float) -> None:
        """Show for how long a transaction has been open on the ledger."""
        self._ledger_held.set(seconds)

    def throttled(self, by: str, seconds: float) -> None:
        """Count time for which the worker was held back."""
        self._throttled.add(by, max(0.0, seconds))

    def window_published(self, age: float, wall: float) -> None:
        """Count a window that closed at `age` seconds and was committed at `wall`, seconds since 1970."""
        self._windows.inc()
        self._last.set(wall)
        # A tick may come some milliseconds late; a window counted here was held or could not be closed.
        if age > self._limits[1] * 1.05 + 0.05:
            self._overdue.inc()

    def records_settled(
        self, records_in: int, released: int, suppressed: Mapping[str, int], rejected: Mapping[str, int]
    ) -> None:
        """Count what became of a window's records."""
        self._window_size.observe(records_in)
        self._released.inc(released)
        for reason, count in suppressed.items():
            self._suppressed.add(reason, count)
        for reason, count in rejected.items():
            self._rejected.add(reason, count)

    def window_filled(self, admitted: int) -> None:
        """Count how full a window was that admitted so many records."""
        self._fill.observe(admitted / self._limits[2])

    def ignored(self, counts: Mapping[str, int]) -> None:
        """Count a window's records that are no dead letters and are not published, by reason."""
        for reason, count in counts.items():
            self._ignored.add(reason, count)

    def suppressed_too_many(self) -> None:
        """Count a window that suppresses more records than the policy allows."""
        self._above_most.inc()

    def classes_published(
        self,
        sizes: ArrayLike,
        achieved_k: int | None,
        information_loss: float | None,
        gate_violations: int,
        achieved_shields: Sequence[int] = (),
    ) -> None:
        """Count a window's classes and show what they reached; None if the window published none.

        Parameters
        ----------
        achieved_shields
            In the order of `shields`; empty if the window published nothing.
        """
        self._class_size.observe(sizes)
        self._violations.inc(gate_violations)
        below = achieved_k is not None and achieved_k < self._limits[0]
        for (name, k), achieved in zip(self._asked_of_shields, achieved_shields, strict=False):
            self._shields.labels(name).set(achieved)
            below |= achieved < k
        self._below_k.inc(below)
        if achieved_k is not None:
            self._k.set(achieved_k)
        if information_loss is not None:
            self._loss.set(information_loss)
            self._losses.observe(information_loss)

    def attribute_losses(self, sums: Sequence[float]) -> None:
        """Count a window's loss: the sum of each quasi-identifier's NCP over its records, in declared order."""
        for name, loss in zip(self._attributes, sums, strict=False):
            self._attribute_loss.labels(name).inc(loss)

    def window_audited(self, result: str, seconds: float | None) -> None:
        """Count a published window that was audited again, or was not; then there are no seconds."""
        self._audits.add(result)
        if seconds is not None:
            self._stages["audit"].observe(seconds)

    def leakage(self, shares: Iterable[tuple[str, float | None, float]]) -> None:
        """Show what each quasi-identifier of a window leaks before and after the release, as a share of all."""
        for name, before, after in shares:
            if name in self._attributes:
                if before is not None:
                    self._leakage.labels(name, "before").set(before)
                self._leakage.labels(name, "after").set(after)

    def delays(self, waits: ArrayLike, records: ArrayLike, end_to_end: ArrayLike) -> None:
        """Count delays: seconds waited and how many records waited so, and seconds since the broker's time."""
        budget = delay_budget(self._limits[1])
        late = np.asarray(waits, np.float64) > budget
        self._late.inc(float(np.asarray(records, np.float64)[late].sum()))
        self._late_end_to_end.inc(int(np.count_nonzero(np.asarray(end_to_end, np.float64) > budget)))
        self._delay.observe(waits, records)
        self._end_to_end.observe(end_to_end)

    def worked(self, seconds: Mapping[str, float]) -> None:
        """Count the time that stages of the work took."""
        for stage, value in seconds.items():
            self._busy.add(stage, max(0.0, value))

    def reading_took(self, seconds: Mapping[str, float]) -> None:
        """Count the time that stages of reading took, in steps: that of one record tells how it was read."""
        for stage, value in seconds.items():
            untold = self._untold.get(stage, 0.0) + max(0.0, value)
            told = untold // READING_STEP * READING_STEP
            self._busy.add(stage, told)
            self._untold[stage] = untold - told

    def durations(self, seconds: Mapping[str, float]) -> None:
        """Count how long the stages close, gate, encode, publish and commit took."""
        for stage, value in seconds.items():
            self._stages[stage].observe(value)

    def window_abandoned(self, reason: str) -> None:
        """Count a window that was dropped unpublished."""
        self._abandoned.add(reason)

    def transaction_broken(self) -> None:
        """Count a transaction whose outcome is not known yet."""
        self._broken.inc()

    def transaction_ended(self, outcome: str) -> None:
        """Count a transaction by its outcome."""
        self._transactions.add(outcome)
