"""Metrics of worker processes, kept by the process that starts them."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class FleetMetrics:
    """Declares the metrics of a fleet in `registry`."""

    def __init__(self, registry: CollectorRegistry, workers: int) -> None:
        Gauge("stream_anon_workers", "Worker processes that were asked for.", registry=registry).set(workers)
        self._running = Gauge("stream_anon_workers_running", "Worker processes that run.", registry=registry)
        self._restarts = Counter(
            "stream_anon_worker_restarts", "Worker processes that ended by themselves.", registry=registry
        )

    def running(self, workers: int) -> None:
        """Show how many processes run."""
        self._running.set(workers)

    def restarted(self) -> None:
        """Count a process that ended by itself."""
        self._restarts.inc()
