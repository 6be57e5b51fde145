"""Metrics of brokers: transactions, and what keeps the worker waiting."""

from __future__ import annotations

from stream_anon.adapters.prometheus.declaring import Declaring
from stream_anon.service import events as e


class BrokerMetrics:
    """Counts transactions and throttling, and shows what will hold the worker up."""

    def __init__(self, declare: Declaring) -> None:
        self._transactions = declare.family("transactions", "Transactions by outcome.", "outcome", e.Outcome)
        self._broken = declare.counter("transactions_broken", "Transactions that broke off on their way.")
        self._ledger_held = declare.gauge(
            "ledger_held_seconds",
            "How long the ledger has stood at the same open transaction, a worker's or somebody else's.",
        )
        self._throttled = declare.family(
            "throttled_seconds",
            "Time that brokers' quotas held connections back, and that a limit held the pod's processors back.",
            "by",
            e.Throttle,
        )
        self._certificate_ends = declare.gauge(
            "certificate_end_timestamp_seconds",
            "When a certificate of a connection ends, by its key in the settings.",
            ("certificate",),
        )

    def __call__(self, event: e.Event) -> None:
        """Count what an event says of brokers."""
        match event:
            case e.TransactionEnded():
                self._transactions.add(event.outcome)
            case e.TransactionBroken():
                self._broken.inc()
            case e.LedgerHeld():
                self._ledger_held.set(event.seconds)
            case e.Throttled():
                self._throttled.add(event.by, max(0.0, event.seconds))
            case e.CertificatesRead():
                for key, end in event.ends.items():
                    self._certificate_ends.labels(key).set(end)
