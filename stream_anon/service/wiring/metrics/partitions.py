"""Metrics of input partitions: given, taken over, stopped, and how much of them is unread."""

from __future__ import annotations

import math

from stream_anon.adapters.prometheus.declaring import Declaring
from stream_anon.service import events as e

CHANGES = ("assigned", "revoked")
STOPS = ("rewound", "recreated", "unbacked", "unrecorded", "lost-input", "unreadable")


class PartitionMetrics:
    """Shows which partitions a worker owns and what waits in them, and counts takeovers."""

    def __init__(self, declare: Declaring) -> None:
        self._rebalances = declare.family("rebalances", "Changes of the partitions owned.", "change", CHANGES)
        self._owned = declare.gauge("partitions_owned", "Input partitions that this worker owns.")
        self._partitions = declare.gauge(
            "input_partitions", "Partitions of an input topic, whoever owns them.", ("topic",)
        )
        self._stopped = declare.family(
            "partitions_stopped", "Partitions that stopped and need an operator.", "reason", STOPS
        )
        self._dropped = declare.counter(
            "takeover_dropped_records", "Records that left the open window because its partition moved."
        )
        self._again = declare.counter("takeover_reread_records", "Records read again after a takeover.")
        self._skipped = declare.counter("partitions_skipped", "Takeovers that began above the ledger.")
        self._unprotected = declare.counter(
            "partitions_without_entry", "Takeovers at a committed offset that the ledger does not know."
        )
        self._not_read = declare.gauge(
            "partitions_not_read",
            "Input partitions that this worker owns and does not read: they need an operator.",
        )
        self._left = declare.gauge(
            "partitions_superseded",
            "Input partitions that this worker owns and leaves to workers of a higher revision of the policy.",
        )
        self._lag = declare.gauge(
            "consumer_lag_records",
            "Records of the owned partitions that are not read yet, of stopped ones and behind open transactions "
            "too; NaN until it is known.",
        )
        self._lag.set(math.nan)  # 0 would say that nothing waits
        self._carriers = declare.gauge(
            "workers_with_partitions",
            "Workers that read all partitions while the others stand by; 0 if the group spreads its partitions.",
        )
        self._held = declare.gauge(
            "records_behind_open_transaction",
            "Records of the input that nobody can read until somebody's open transaction ends.",
        )
        self._held_seconds = declare.gauge(
            "input_held_seconds", "How long an input partition has stood at the same open transaction."
        )

    def __call__(self, event: e.Event) -> None:
        """Count what an event says of partitions."""
        match event:
            case e.TakeoverStarted():
                self._rebalances.add("assigned")
            case e.TakeoverDone():
                self._dropped.inc(event.dropped)
                self._again.inc(event.read_again)
                self._skipped.inc(len(event.skipped))
                self._unprotected.inc(len(event.unprotected))
                self._owned.set(event.owned)
            case e.PartitionsRevoked():
                self._rebalances.add("revoked")
                self._dropped.inc(event.dropped)
                self._owned.set(event.owned)
            case e.PartitionStopped():
                self._stopped.add(event.reason)
            case e.GroupSeen():
                self._partitions.clear()
                for topic, count in event.partitions.items():
                    self._partitions.labels(topic).set(count)
            case e.GroupPacked():
                self._carriers.set(event.carriers)
            case e.WindowProgress():
                self._not_read.set(event.stopped)
                self._left.set(event.left)
                if event.lag is not None:
                    self._lag.set(event.lag)
                self._held.set(event.held)
                self._held_seconds.set(event.held_seconds)
