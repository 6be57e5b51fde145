"""The metrics that a worker's events make: names, kinds, labels, and what each counts."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.samples import Sample

from stream_anon.adapters.prometheus.exposition import CONTENT_TYPE, exposition, watch_process
from stream_anon.errors import Cause
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.release import Suppression
from stream_anon.service import events as e
from stream_anon.service.wiring.metrics.worker import NOT_READY
from stream_anon.service.wiring.observing import into_metrics
from tests.support import told_events
from tests.support.classes import made_up_classes
from tests.support.promtool import run_promtool
from tests.unit.adapters.prometheus.lint import problems

STARTED = replace(
    told_events.STARTED,
    software='1.2.3"\\+0123456789ab.dirty',
    max_records=10_000,
    attributes=("age", "patient.city"),
    published=("age", "note"),
    accept_missing=("note",),
    shields=(),
)
PUBLISHED = replace(
    told_events.PUBLISHED,
    classes=made_up_classes([20, 20, 40], (("*",), ("*",))),
    achieved_k=12,
    arrivals=((1029.0, 50), (1028.0, 40)),
    readings=e.Readings(np.array([1_699_999_997.0, 1_699_999_996.0])),
    wall=1_700_000_000.0,
    durations=e.Durations(0.01, 0.005, 0.03, 0.02, gate=0.001),
    missing={"age": 3, "undeclared": 9},
)
NO_CLASS = replace(PUBLISHED, released=0, classes=made_up_classes([]), achieved_k=None, gcp=None)


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def tell(registry: CollectorRegistry) -> e.Listener:
    tell = into_metrics(registry)
    tell(STARTED)
    return tell


def value(registry: CollectorRegistry, name: str, **labels: str) -> float:
    found = registry.get_sample_value(f"stream_anon_{name}", labels)
    assert found is not None, f"no series {name} {labels}"
    return found


def series(registry: CollectorRegistry) -> int:
    return exposition(registry).decode().count("\n")


def feed(tell: e.Listener) -> None:
    tell(e.ReadinessChanged(True))
    tell(e.TakeoverStarted((("people", 0),)))
    tell(e.TakeoverDone((("people", 0, 0),), 1, 0, 1, 2, (("people", 0),), (), 3, 1, 0.2))
    tell(e.RecordsConsumed(100))
    tell(e.WindowProgress(90, 1000.0, 1001.5, closing=False, paused=True, lag=12, stopped=1))
    tell(PUBLISHED)
    tell(e.WindowMeasured((("age", 0.3, 0.1),), 0.01))
    tell(e.TransactionEnded(e.Outcome.COMMITTED))


def test_the_exposition_keeps_the_rules_of_promtool(registry: CollectorRegistry, tell: e.Listener) -> None:
    feed(tell)
    watch_process(registry)

    assert problems(exposition(registry).decode()) == []


def test_promtool_finds_no_fault_with_the_exposition(registry: CollectorRegistry, tell: e.Listener) -> None:
    feed(tell)
    watch_process(registry)
    assert run_promtool("check", "metrics", given=exposition(registry)) == ""


@pytest.mark.parametrize(
    "text",
    [
        "# HELP a_total A.\n# TYPE a_total gauge\na_total 1.0\n",
        "# HELP a A.\n# TYPE a counter\na 1.0\n",
        "# TYPE a_ratio gauge\na_ratio 1.0\n",
        "# HELP a_ms A.\n# TYPE a_ms gauge\na_ms 1.0\n",
        "# HELP a A.\n# TYPE a gauge\na 1.0\na 2.0\n",
        "# HELP a A.\n# TYPE a gauge\nb 1.0\n",
        '# HELP a A.\n# TYPE a gauge\na{x="1",x="2"} 1.0\n',
        "# HELP a A.\n# TYPE a gauge\na one\n",
        "# HELP a A.\n# TYPE a gauge\na 1.0",
    ],
)
def test_the_lint_finds_fault_with_a_bad_text(text: str) -> None:
    assert problems(text) != []


def test_every_metric_has_the_prefix_and_none_has_a_created_series(
    registry: CollectorRegistry, tell: e.Listener
) -> None:
    names = re.findall(r"^# TYPE (\S+)", exposition(registry).decode(), re.MULTILINE)

    assert len(names) > 35
    assert all(name.startswith("stream_anon_") for name in names)
    assert not any(name.endswith("_created") for name in names)
    assert "version=0.0.4" in CONTENT_TYPE


def test_every_reason_has_a_series_before_it_first_happens(registry: CollectorRegistry, tell: e.Listener) -> None:
    for suppression in Suppression:
        assert value(registry, "records_suppressed_total", reason=suppression.value) == 0
    for reason in Reason:
        own, other = ("records_ignored_total", "dead_letters_total")[:: 1 if reason.is_ignored else -1]
        assert value(registry, own, reason=reason.label) == 0
        assert registry.get_sample_value(f"stream_anon_{other}", {"reason": reason.label}) is None


def test_a_label_outside_its_set_counts_as_other(registry: CollectorRegistry, tell: e.Listener) -> None:
    before = series(registry)
    tell(replace(PUBLISHED, suppressed={"jane-doe": 1}))

    assert value(registry, "records_suppressed_total", reason="other") == 1
    assert series(registry) == before


def test_each_registry_counts_for_itself() -> None:
    first, second = CollectorRegistry(), CollectorRegistry()
    into_metrics(first)(e.RecordsConsumed(5))
    into_metrics(second)

    assert value(first, "records_consumed_total") == 5
    assert value(second, "records_consumed_total") == 0


def test_a_registry_takes_each_metric_once(registry: CollectorRegistry) -> None:
    into_metrics(registry)
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        into_metrics(registry)


def test_the_numbers_of_a_window_land_in_their_metrics(registry: CollectorRegistry, tell: e.Listener) -> None:
    feed(tell)
    expected = {
        "records_consumed_total": 100,
        "records_released_total": 80,
        "window_records": 90,
        "window_oldest_age_seconds": 1.5,
        "consumer_lag_records": 12,
        "window_closing": 0,
        "consumer_paused": 1,
        "windows_published_total": 1,
        "window_size_records_sum": 100,
        "class_size_records_count": 3,
        "class_size_records_sum": 80,
        "achieved_k": 12,
        "information_loss_ratio": 0.25,
        "window_information_loss_ratio_count": 1,
        "delay_seconds_count": 90,
        "delay_seconds_sum": 130,
        "end_to_end_delay_seconds_sum": 7,
        "close_duration_seconds_sum": 0.01,
        "commit_duration_seconds_count": 1,
        "takeover_duration_seconds_sum": 0.2,
        "takeover_dropped_records_total": 1,
        "takeover_reread_records_total": 2,
        "partitions_skipped_total": 1,
        "partitions_owned": 3,
        "last_release_timestamp_seconds": 1_700_000_000,
        "ready": 1,
        "policy_k": 10,
    }
    assert {name: value(registry, name) for name in expected} == pytest.approx(expected)
    assert value(registry, "records_suppressed_total", reason="unplaced") == 10
    assert value(registry, "dead_letters_total", reason="missing") == 10
    assert value(registry, "transactions_total", outcome="committed") == 1
    assert value(registry, "rebalances_total", change="assigned") == 1


def test_the_input_has_the_partitions_that_were_seen_last(registry: CollectorRegistry, tell: e.Listener) -> None:
    tell(e.GroupSeen({"gone": 2, "grows": 4}, shared=False))
    tell(e.GroupSeen({"grows": 6, "new": 1}, shared=False))
    (family,) = (family for family in registry.collect() if family.name == "stream_anon_input_partitions")
    assert {sample.labels["topic"]: sample.value for sample in family.samples} == {"grows": 6, "new": 1}


def test_a_window_without_classes_leaves_what_the_last_one_reached(
    registry: CollectorRegistry, tell: e.Listener
) -> None:
    feed(tell)
    tell(NO_CLASS)

    assert value(registry, "achieved_k") == 12
    assert value(registry, "window_information_loss_ratio_count") == 1
    assert value(registry, "windows_below_k_total") == 0


def test_a_window_below_k_is_counted(registry: CollectorRegistry, tell: e.Listener) -> None:
    tell(replace(PUBLISHED, achieved_k=9, gate_violations=2))
    tell(PUBLISHED)

    assert value(registry, "windows_below_k_total") == 1
    assert value(registry, "gate_violations_total") == 2


def test_a_window_below_a_shield_is_counted_and_shown_once(registry: CollectorRegistry, tell: e.Listener) -> None:
    tell(replace(STARTED, shields=(Shield(("age", "zip"), 20), Shield(("zip",), 30))))
    assert value(registry, "policy_shield_k", shield="zip") == 30

    tell(replace(PUBLISHED, achieved_shields=(20, 30)))
    assert value(registry, "windows_below_k_total") == 0
    tell(replace(PUBLISHED, achieved_shields=(19, 29)))
    assert value(registry, "windows_below_k_total") == 1
    assert value(registry, "achieved_shield_k", shield="age, zip") == 19

    tell(NO_CLASS)
    assert value(registry, "achieved_shield_k", shield="zip") == 29


@pytest.mark.parametrize(("age", "overdue"), [(29.9, 0), (30.3, 0), (45.0, 1)])
def test_a_window_counts_as_overdue_only_well_beyond_max_delay(
    age: float, overdue: int, registry: CollectorRegistry, tell: e.Listener
) -> None:
    tell(replace(PUBLISHED, opened_at=1000.0, closed_at=1000.0 + age))

    assert value(registry, "windows_overdue_total") == overdue


def test_an_outage_makes_the_broker_unreachable_until_it_ends(
    registry: CollectorRegistry, tell: e.Listener
) -> None:
    tell(e.BrokerAway(e.Away.PUBLISHING, "error"))
    assert value(registry, "broker_reachable") == 0

    tell(e.BrokerBack(e.Away.PUBLISHING, 3.5, 1))
    assert value(registry, "broker_reachable") == 1
    assert value(registry, "broker_away_seconds_total") == 3.5
    assert value(registry, "broker_outages_total", activity="publishing") == 1


def test_the_broker_is_reachable_again_only_when_no_absence_is_left(
    registry: CollectorRegistry, tell: e.Listener
) -> None:
    tell(e.BrokerAway(e.Away.PUBLISHING, "error"))
    tell(e.BrokerAway(e.Away.CONSUMING, "error"))
    tell(e.BrokerAway(e.Away.ASKING_REGISTRY, "error"))
    tell(e.BrokerBack(e.Away.PUBLISHING, 1.0, 1))
    assert value(registry, "broker_reachable") == 0
    tell(e.BrokerAway(e.Away.CONSUMING, "error", again=True))
    tell(e.TakeoverDone((), 1, 0, 0, 0, (), (), 3, 1, 0.2))
    assert value(registry, "broker_reachable") == 0
    tell(e.BrokerBack(e.Away.CONSUMING, 1.0, 1))
    assert value(registry, "broker_reachable") == 0
    tell(e.BrokerBack(e.Away.ASKING_REGISTRY, 1.0, 1))
    assert value(registry, "broker_reachable") == 1


# What an operator is promised, by name. A renamed metric breaks dashboards and alerts of others.
PROMISED = {
    "counter": (
        "records_consumed",
        "records_released",
        "records_suppressed{reason}",
        "dead_letters{reason}",
        "records_ignored{reason}",
        "attribute_information_loss{attribute}",
        "records_missing{attribute}",
        "gate_violations",
        "windows_published",
        "windows_below_k",
        "windows_overdue",
        "windows_above_max_suppressed",
        "windows_abandoned{reason}",
        "windows_audited{result}",
        "records_over_delay_budget",
        "records_over_end_to_end_budget",
        "transactions{outcome}",
        "rebalances{change}",
        "takeover_dropped_records",
        "takeover_reread_records",
        "input_lost_records",
        "partitions_stopped{reason}",
        "partitions_without_entry",
        "broker_outages{activity}",
    ),
    "histogram": (
        "class_size_records",
        "window_size_records",
        "window_information_loss_ratio",
        "delay_seconds",
        "end_to_end_delay_seconds",
        "close_duration_seconds",
        "gate_duration_seconds",
        "commit_duration_seconds",
        "audit_duration_seconds",
    ),
    "gauge": (
        "window_records",
        "window_oldest_age_seconds",
        "achieved_k",
        "achieved_shield_k{shield}",
        "information_loss_ratio",
        "partitions_owned",
        "input_partitions{topic}",
        "workers_with_partitions",
        "busy_ratio",
        "partitions_not_read",
        "consumer_lag_records",
        "last_release_timestamp_seconds",
        "policy_k",
        "policy_shield_k{shield}",
        "policy_max_delay_seconds",
        "policy_max_records",
        "policy_delay_budget_seconds",
        "policy_accepts_missing{attribute}",
        "ready",
        "build_info{revision,version}",
        "policy_info{delivery,engine,policy,revision}",
    ),
}


def test_two_builds_of_one_version_are_two_series(registry: CollectorRegistry, tell: e.Listener) -> None:
    tell(replace(STARTED, software="stream-anon 0.1.0+0123456789ab"))
    labels = {"version": "stream-anon 0.1.0", "revision": "0123456789ab"}
    assert registry.get_sample_value("stream_anon_build_info", labels) == 1


def test_every_promised_metric_is_there_and_of_its_kind(registry: CollectorRegistry, tell: e.Listener) -> None:
    tell(replace(STARTED, shields=(Shield(("age", "zip"), 20),)))
    tell(e.GroupSeen({"people": 4}, shared=False))
    found = {
        (family.type, family.name.removeprefix("stream_anon_"), _labels(family.samples))
        for family in registry.collect()
    }
    for kind, promised in PROMISED.items():
        for name in promised:
            bare, _, labels = name.rstrip("}").partition("{")
            assert (kind, bare, labels) in found, name


def _labels(samples: list[Sample]) -> str:
    return ",".join(sorted({label for sample in samples for label in sample.labels} - {"le"}))


def test_an_undeclared_attribute_never_becomes_a_label(registry: CollectorRegistry, tell: e.Listener) -> None:
    tell(e.WindowMeasured((("age", 0.3, 0.1),), 0.01))
    before = series(registry)
    tell(replace(PUBLISHED, classes=made_up_classes([80], (("*",), ("*",), ("*",)))))
    tell(e.WindowMeasured((("age", 0.3, 0.1), ("undeclared", 0.3, 0.1)), 0.01))

    assert value(registry, "attribute_information_loss_total", attribute="patient.city") == 50
    assert series(registry) == before


def test_missing_values_are_counted_for_declared_attributes_only(
    registry: CollectorRegistry, tell: e.Listener
) -> None:
    before = series(registry)
    tell(PUBLISHED)

    assert value(registry, "records_missing_total", attribute="age") == 3
    assert value(registry, "records_missing_total", attribute="note") == 0
    assert value(registry, "policy_accepts_missing", attribute="note") == 1
    assert value(registry, "policy_accepts_missing", attribute="age") == 0
    assert series(registry) == before


@pytest.mark.parametrize(("max_delay", "budget"), [(0.5, 1.5), (4.0, 5.0), (30.0, 37.5)])
def test_a_record_is_late_beyond_the_delay_budget(
    max_delay: float, budget: float, registry: CollectorRegistry, tell: e.Listener
) -> None:
    waits, since_broker = (budget, budget + 0.01, 2 * budget), (-1.0, budget, budget + 0.01, 2 * budget)
    tell(replace(STARTED, max_delay=max_delay))
    tell(
        replace(
            PUBLISHED,
            at=0.0,
            arrivals=tuple(zip((-wait for wait in waits), (100, 20, 3), strict=True)),
            wall=0.0,
            readings=e.Readings(-np.array(since_broker)),
        )
    )

    assert value(registry, "policy_delay_budget_seconds") == budget
    assert value(registry, "records_over_delay_budget_total") == 23
    assert value(registry, "records_over_end_to_end_budget_total") == 2, "each of these is one record"


def test_a_skipped_audit_has_no_duration(registry: CollectorRegistry, tell: e.Listener) -> None:
    tell(e.WindowAudited("00ff", "skipped"))
    tell(e.WindowAudited("00ff", "failed", (), 0.05))

    assert value(registry, "windows_audited_total", result="skipped") == 1
    assert value(registry, "audit_duration_seconds_count") == 1


def test_no_metric_carries_an_exemplar(registry: CollectorRegistry, tell: e.Listener) -> None:
    feed(tell)
    assert all(sample.exemplar is None for family in registry.collect() for sample in family.samples)
    assert "# {" not in exposition(registry).decode()


def _reasons(registry: CollectorRegistry) -> list[str]:
    return [reason for reason in NOT_READY if value(registry, "not_ready", reason=reason)]


def test_what_keeps_a_worker_from_being_ready_is_told_as_long_as_it_does(
    registry: CollectorRegistry, tell: e.Listener
) -> None:
    assert _reasons(registry) == ["starting"]
    tell(e.BrokerAway(e.Away.STARTING, "error", Cause.UNREACHABLE))
    assert _reasons(registry) == ["unreachable"]
    tell(e.BrokerAway(e.Away.STARTING, "error", Cause.PERMISSION, again=True))
    tell(e.BrokerAway(e.Away.ASKING_REGISTRY, "error", Cause.REGISTRY))
    assert _reasons(registry) == ["permission", "registry"]
    tell(e.BrokerBack(e.Away.STARTING, 1.0, 1))
    tell(e.BrokerBack(e.Away.ASKING_REGISTRY, 1.0, 1))
    tell(e.ReadinessChanged(True))
    assert _reasons(registry) == []
    tell(e.WorkerStopping("SIGTERM"))
    assert _reasons(registry) == ["stopping"]
