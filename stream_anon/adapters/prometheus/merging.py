"""Metrics of several processes as those of one service.

Each process hands over the text that it would serve alone, and the one that serves them all adds the texts up. The
way of prometheus_client, files that processes share, was tried. It has neither our histograms of columns nor the
metrics of processes, keeps showing labels that were cleared, and leaves 128 KiB on the disk at each restart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from prometheus_client import Metric

_GROWING = frozenset({"counter", "histogram"})


def _least_positive(values: Sequence[float]) -> float:
    return min((value for value in values if value > 0), default=0.0)


def _largest_known(values: Sequence[float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=math.nan)


_ADDED: Callable[[Sequence[float]], float] = math.fsum
# What the service as a whole shows for each gauge; a test asks for every gauge.
GAUGES: dict[str, Callable[[Sequence[float]], float]] = {
    "stream_anon_window_records": _ADDED,
    "stream_anon_window_oldest_age_seconds": max,
    "stream_anon_window_bound_records": min,
    "stream_anon_window_bound_bytes": min,
    "stream_anon_window_closing": max,
    "stream_anon_consumer_paused": max,
    "stream_anon_achieved_k": _least_positive,  # 0 stands for a worker that has published nothing yet
    "stream_anon_achieved_shield_k": _least_positive,
    "stream_anon_information_loss_ratio": max,
    "stream_anon_information_leakage_ratio": max,
    "stream_anon_last_release_timestamp_seconds": max,
    "stream_anon_input_ahead_seconds": max,
    "stream_anon_partitions_owned": _ADDED,
    "stream_anon_input_partitions": max,
    "stream_anon_workers_with_partitions": max,
    "stream_anon_busy_ratio": _largest_known,
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
    "stream_anon_release_end_timestamp_seconds": min,
    "stream_anon_paused": max,
    "stream_anon_build_info": max,
    "stream_anon_policy_info": max,
    "stream_anon_order_version": min,  # each worker learns by itself
    "stream_anon_policy_k": max,
    "stream_anon_policy_shield_k": max,
    "stream_anon_policy_max_delay_seconds": max,
    "stream_anon_policy_max_records": max,
    "stream_anon_policy_target_loss_ratio": max,
    "stream_anon_window_target_records": max,  # each worker learns by itself
    "stream_anon_window_delay_records": _least_positive,
    "stream_anon_window_limit_records": max,
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


def growing(metrics: Iterable[Metric]) -> list[Metric]:
    """Return the metrics that only grow, which still count when a process has ended."""
    return [metric for metric in metrics if metric.type in _GROWING]


def merged(processes: Iterable[Iterable[Metric]]) -> list[Metric]:
    """Return the metrics of several processes as those of one. O(series in all)."""
    found: dict[str, list[Metric]] = {}
    for metric in chain.from_iterable(processes):
        found.setdefault(metric.name, []).append(metric)
    return [_whole(parts) for parts in found.values()]


def _whole(parts: Sequence[Metric]) -> Metric:
    """Return a metric of all processes, given that of each."""
    whole = Metric(parts[0].name, parts[0].documentation, parts[0].type)
    series: dict[tuple[str, tuple[tuple[str, str], ...]], list[float]] = {}
    for sample in chain.from_iterable(part.samples for part in parts):
        series.setdefault((sample.name, tuple(sample.labels.items())), []).append(sample.value)
    rule = _ADDED if whole.type in _GROWING else GAUGES.get(whole.name, max)
    for (name, labels), values in series.items():
        whole.add_sample(name, dict(labels), rule(values))
    return whole
