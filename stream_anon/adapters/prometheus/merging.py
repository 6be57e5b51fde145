"""Metrics of several processes as those of one service.

The way of prometheus_client shares files between processes. It fits neither gauges whose minimum counts nor our
histograms of columns. Here each process hands over its samples, and the process that serves them adds them up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector

Value = tuple[str, tuple[tuple[str, str], ...], float]
"""Name, labels and value of a series."""

_GROWING = frozenset({"counter", "histogram"})


def _least_positive(values: Sequence[float]) -> float:
    return min((value for value in values if value > 0), default=0.0)


_ADDED: Callable[[Sequence[float]], float] = math.fsum
# What the service as a whole shows for each gauge; a test asks for every gauge.
GAUGES: dict[str, Callable[[Sequence[float]], float]] = {
    "stream_anon_window_records": _ADDED,
    "stream_anon_window_oldest_age_seconds": max,
    "stream_anon_window_closing": max,
    "stream_anon_consumer_paused": max,
    "stream_anon_achieved_k": _least_positive,  # 0 stands for a worker that has published nothing yet
    "stream_anon_achieved_shield_k": _least_positive,
    "stream_anon_information_loss_ratio": max,
    "stream_anon_information_leakage_ratio": max,
    "stream_anon_last_release_timestamp_seconds": max,
    "stream_anon_partitions_owned": _ADDED,
    "stream_anon_partitions_not_read": _ADDED,
    "stream_anon_partitions_superseded": _ADDED,
    "stream_anon_consumer_lag_records": _ADDED,  # unknown for one is unknown for all: NaN
    "stream_anon_records_behind_open_transaction": _ADDED,
    "stream_anon_input_held_seconds": max,
    "stream_anon_ledger_held_seconds": max,
    "stream_anon_broker_reachable": min,
    "stream_anon_ready": min,
    "stream_anon_not_ready": max,
    "stream_anon_certificate_end_timestamp_seconds": min,
    "stream_anon_paused": max,
    "stream_anon_build_info": max,
    "stream_anon_policy_info": max,
    "stream_anon_order_version": min,  # each worker learns by itself
    "stream_anon_policy_k": max,
    "stream_anon_policy_shield_k": max,
    "stream_anon_policy_max_delay_seconds": max,
    "stream_anon_policy_max_records": max,
    "stream_anon_policy_delay_budget_seconds": max,
    "stream_anon_policy_holds": max,
    "stream_anon_policy_accepts_missing": max,
    "stream_anon_workers": max,
    "stream_anon_workers_running": max,
    "process_virtual_memory_bytes": _ADDED,
    "process_resident_memory_bytes": _ADDED,
    "process_start_time_seconds": min,
    "process_open_fds": _ADDED,
    "process_max_fds": min,
}


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of one metric in one process at one moment."""

    name: str
    documentation: str
    kind: str
    values: tuple[Value, ...]


def sampled(registry: CollectorRegistry) -> tuple[Samples, ...]:
    """Return all metrics of a registry as values."""
    return tuple(
        Samples(
            family.name,
            family.documentation,
            family.type,
            tuple(
                (sample.name, tuple(sample.labels.items()), float(sample.value))
                for sample in family.samples
                if not sample.name.endswith("_created")
            ),
        )
        for family in registry.collect()
    )


def growing(metrics: Iterable[Samples]) -> tuple[Samples, ...]:
    """Return the metrics that only grow, which still count when a process has ended."""
    return tuple(family for family in metrics if family.kind in _GROWING)


def merged(processes: Iterable[Iterable[Samples]]) -> tuple[Samples, ...]:
    """Return the metrics of several processes as those of one. O(series in all)."""
    families: dict[str, Samples] = {}
    values: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], list[float]]] = {}
    for family in (family for process in processes for family in process):
        families.setdefault(family.name, family)
        series = values.setdefault(family.name, {})
        for name, labels, value in family.values:
            series.setdefault((name, labels), []).append(value)
    return tuple(
        Samples(
            family.name,
            family.documentation,
            family.kind,
            tuple((*key, _rule(family)(found)) for key, found in values[family.name].items()),
        )
        for family in families.values()
    )


def _rule(family: Samples) -> Callable[[Sequence[float]], float]:
    return _ADDED if family.kind in _GROWING else GAUGES.get(family.name, max)


class SampleCollector(Collector):
    """Wraps samples as a collector, for `exposition`.

    Parameters
    ----------
    samples
        Asked for at every scrape.
    """

    def __init__(self, samples: Callable[[], Iterable[Samples]]) -> None:
        self._samples = samples

    def collect(self) -> Iterator[Metric]:
        """Return the samples."""
        for family in self._samples():
            metric = Metric(family.name, family.documentation, family.kind)
            for name, labels, value in family.values:
                metric.add_sample(name, dict(labels), value)
            yield metric
