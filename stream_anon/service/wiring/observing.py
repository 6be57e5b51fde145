"""Let listeners hear of what happens to a worker.

The worker says what happened (`service/events`). The log is in `log_listener.py`, metrics are in `metrics/`, the
status page is in `service/status/status_board.py`.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from stream_anon.adapters.prometheus.declaring import Declaring
from stream_anon.service import events as e
from stream_anon.service.wiring.metrics.brokers import BrokerMetrics
from stream_anon.service.wiring.metrics.classes import ClassMetrics
from stream_anon.service.wiring.metrics.delays import DelayMetrics
from stream_anon.service.wiring.metrics.partitions import PartitionMetrics
from stream_anon.service.wiring.metrics.records import RecordMetrics
from stream_anon.service.wiring.metrics.windows import WindowMetrics
from stream_anon.service.wiring.metrics.work import WorkMetrics
from stream_anon.service.wiring.metrics.worker import WorkerMetrics


def tell_all(*listeners: e.Listener) -> e.Listener:
    """Return a listener that passes each event to all `listeners` in order."""

    def tell(event: e.Event) -> None:
        for listener in listeners:
            listener(event)

    return tell


def into_metrics(registry: CollectorRegistry) -> e.Listener:
    """Declare all metrics of a worker in `registry`; return a listener that counts events."""
    declare = Declaring(registry)
    return tell_all(
        RecordMetrics(declare),
        WindowMetrics(declare),
        ClassMetrics(declare),
        DelayMetrics(declare),
        WorkMetrics(declare),
        PartitionMetrics(declare),
        BrokerMetrics(declare),
        WorkerMetrics(declare),
    )
