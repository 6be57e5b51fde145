"""Metrics of several processes as those of one: sums, extremes, and that nothing falls when a process ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector

from stream_anon.adapters.prometheus.exposition import exposition, metrics_of, watch_process
from stream_anon.adapters.prometheus.fleet_metrics import FleetMetrics
from stream_anon.adapters.prometheus.merging import GAUGES, growing, merged
from stream_anon.service import events as e
from stream_anon.service.wiring.observing import into_metrics
from tests.support.classes import made_up_classes
from tests.support.told_events import PUBLISHED, STARTED
from tests.unit.adapters.prometheus.lint import problems


class Process:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.tell = into_metrics(self.registry)
        self.tell(replace(STARTED, k=5))

    def published(self, records: int, k: int, loss: float, wall: float) -> Process:
        self.tell(
            replace(
                PUBLISHED,
                released=records,
                classes=made_up_classes([records]),
                achieved_k=k,
                gcp=loss,
                wall=wall,
                at=4.0,
                arrivals=((3.8, records - 1), (0.0, 1)),
            )
        )
        return self

    def owns(self, partitions: int) -> None:
        self.tell(e.TakeoverDone((), 1, 0, 0, 0, (), (), partitions, 1, 0.1))

    @property
    def samples(self) -> list[Metric]:
        return metrics_of(exposition(self.registry).decode())


class Merged(Collector):
    def __init__(self, processes: list[list[Metric]]) -> None:
        self._processes = processes

    def collect(self) -> list[Metric]:
        return merged(self._processes)


def value(metrics: Iterable[Metric], series: str, **labels: str) -> float:
    (found,) = [s.value for metric in metrics for s in metric.samples if (s.name, s.labels) == (series, labels)]
    return found


def test_every_gauge_has_a_rule_for_merging() -> None:
    registry = CollectorRegistry()
    process = Process()
    watch_process(registry)
    FleetMetrics(registry, 2)
    metrics = [*process.samples, *registry.collect()]
    gauges = {metric.name for metric in metrics if metric.type == "gauge"}
    assert gauges == GAUGES.keys()
    assert {metric.type for metric in metrics} == {"gauge", "counter", "histogram"}


def test_the_whole_is_the_sum_or_the_extreme_of_its_parts() -> None:
    one, other, idle = Process().published(100, 7, 0.2, 10.0), Process().published(60, 5, 0.4, 5.0), Process()
    for process, owned, lag, age in ((one, 2, 10, 1.0), (other, 1, 5, 3.0), (idle, 0, 0, 0.0)):
        process.owns(owned)
        busy = None if process is idle else lag / 20
        process.tell(e.WindowProgress(10, 5.0 - age, 5.0, closing=False, paused=False, lag=lag, busy=busy))
        process.tell(e.GroupPacked(3, 2))
        process.tell(e.ReadinessChanged(True))
    whole = merged([one.samples, other.samples, idle.samples])
    assert value(whole, "stream_anon_records_released_total") == 160
    assert value(whole, "stream_anon_achieved_k") == 5
    assert value(whole, "stream_anon_information_loss_ratio") == 0.4
    assert value(whole, "stream_anon_last_release_timestamp_seconds") == 10.0
    assert value(whole, "stream_anon_partitions_owned") == 3
    assert value(whole, "stream_anon_consumer_lag_records") == 15
    assert value(whole, "stream_anon_window_oldest_age_seconds") == 3.0
    assert value(whole, "stream_anon_window_records") == 30
    assert value(whole, "stream_anon_busy_ratio") == 0.5  # of the busiest; the idle one does not know its own yet
    assert value(whole, "stream_anon_workers_with_partitions") == 2
    assert value(whole, "stream_anon_ready") == 1
    assert value(whole, "stream_anon_policy_k") == 5
    assert value(whole, "stream_anon_delay_seconds_bucket", le="0.25") == 158
    assert value(whole, "stream_anon_delay_seconds_bucket", le="+Inf") == 160
    assert math.isclose(value(whole, "stream_anon_delay_seconds_sum"), 99 * 0.2 + 59 * 0.2 + 8.0)
    other.tell(e.ReadinessChanged(False))
    assert value(merged([one.samples, other.samples]), "stream_anon_ready") == 0
    assert math.isnan(value(merged([one.samples, Process().samples]), "stream_anon_consumer_lag_records"))


def test_merged_metrics_keep_the_rules_and_every_series() -> None:
    one, other = Process().published(100, 7, 0.2, 10.0), Process().published(60, 5, 0.4, 5.0)
    text = exposition(Merged([one.samples, other.samples])).decode()
    assert problems(text) == []
    names = [line.rpartition(" ")[0] for line in text.splitlines()]
    assert names == [line.rpartition(" ")[0] for line in exposition(one.registry).decode().splitlines()]


def test_a_process_that_ends_leaves_its_counts() -> None:
    gone, present = Process().published(100, 7, 0.2, 10.0), Process()
    gone.owns(4)
    whole = merged([growing(gone.samples), present.samples])
    assert value(whole, "stream_anon_records_released_total") == 100
    assert value(whole, "stream_anon_class_size_records_count") == 1
    assert value(whole, "stream_anon_partitions_owned") == 0
    assert value(whole, "stream_anon_achieved_k") == 0
