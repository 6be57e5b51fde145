import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.samples import Sample

from stream_anon.adapters.prometheus.columns import ColumnHistogram
from stream_anon.adapters.prometheus.exposition import CONTENT_TYPE, exposition, watch_process
from stream_anon.adapters.prometheus.families import NOT_READY
from stream_anon.adapters.prometheus.metrics import Metrics
from stream_anon.errors import Cause
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.release import Suppression
from tests.support.promtool import run_promtool
from tests.unit.adapters.prometheus.lint import problems


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> Metrics:
    metrics = Metrics(registry)
    metrics.started('1.2.3"\\', "sha256:ab", "mondrian", "exactly-once")
    metrics.limits(10, 30.0, 10_000)
    return metrics


def value(registry: CollectorRegistry, name: str, **labels: str) -> float:
    found = registry.get_sample_value(f"stream_anon_{name}", labels)
    assert found is not None, f"no series {name} {labels}"
    return found


def feed(metrics: Metrics) -> None:
    metrics.readiness(True)
    metrics.assigned()
    metrics.taken_over(dropped=1, read_again=2, skipped=1, owned=3, seconds=0.2)
    metrics.consumed(100)
    metrics.window_progress(90, 1.5, closing=False, paused=True)
    metrics.unread(12, 1)
    metrics.records_settled(100, 80, {"unplaced": 10}, {"missing": 10})
    metrics.classes_published(np.array([20, 20, 40]), 12, 0.25, 0)
    metrics.delays([1.0, 2.0], [50, 40], np.array([3.0, 4.0]))
    metrics.durations({"close": 0.01, "gate": 0.001, "encode": 0.005, "publish": 0.03, "commit": 0.02})
    metrics.attributes(["age"])
    metrics.leakage([("age", 0.3, 0.1)])
    metrics.window_published(29.0, 1_700_000_000.0)
    metrics.transaction_ended("committed")


def test_the_exposition_keeps_the_rules_of_promtool(registry: CollectorRegistry, metrics: Metrics) -> None:
    feed(metrics)
    watch_process(registry)

    assert problems(exposition(registry).decode()) == []


def test_promtool_finds_no_fault_with_the_exposition(registry: CollectorRegistry, metrics: Metrics) -> None:
    feed(metrics)
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
    registry: CollectorRegistry, metrics: Metrics
) -> None:
    names = re.findall(r"^# TYPE (\S+)", exposition(registry).decode(), re.MULTILINE)

    assert len(names) > 35
    assert all(name.startswith("stream_anon_") for name in names)
    assert not any(name.endswith("_created") for name in names)
    assert "version=0.0.4" in CONTENT_TYPE


def test_every_reason_has_a_series_before_it_first_happens(registry: CollectorRegistry, metrics: Metrics) -> None:
    for suppression in Suppression:
        assert value(registry, "records_suppressed_total", reason=suppression.value) == 0
    for reason in Reason:
        own, other = ("records_ignored_total", "dead_letters_total")[:: 1 if reason.is_ignored else -1]
        assert value(registry, own, reason=reason.label) == 0
        assert registry.get_sample_value(f"stream_anon_{other}", {"reason": reason.label}) is None


def test_a_label_outside_its_set_counts_as_other(registry: CollectorRegistry, metrics: Metrics) -> None:
    before = exposition(registry).decode().count("\n")
    metrics.records_settled(1, 0, {"jane-doe": 1}, {})

    assert value(registry, "records_suppressed_total", reason="other") == 1
    assert exposition(registry).decode().count("\n") == before


def test_two_containers_count_each_for_itself() -> None:
    first, second = CollectorRegistry(), CollectorRegistry()
    Metrics(first).consumed(5)
    Metrics(second)

    assert value(first, "records_consumed_total") == 5
    assert value(second, "records_consumed_total") == 0


def test_one_registry_takes_one_container(registry: CollectorRegistry) -> None:
    Metrics(registry)
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        Metrics(registry)


def test_the_numbers_of_a_window_land_in_their_metrics(registry: CollectorRegistry, metrics: Metrics) -> None:
    feed(metrics)
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


def test_a_window_without_classes_leaves_what_the_last_one_reached(
    registry: CollectorRegistry, metrics: Metrics
) -> None:
    feed(metrics)
    metrics.classes_published(np.empty(0, np.int64), None, None, 0)

    assert value(registry, "achieved_k") == 12
    assert value(registry, "window_information_loss_ratio_count") == 1
    assert value(registry, "windows_below_k_total") == 0


def test_a_window_below_k_is_counted(registry: CollectorRegistry, metrics: Metrics) -> None:
    metrics.classes_published([9, 12], 9, 0.5, 2)
    metrics.classes_published([12], 12, 0.5, 0)

    assert value(registry, "windows_below_k_total") == 1
    assert value(registry, "gate_violations_total") == 2


def test_a_window_below_a_shield_is_counted_and_shown_once(registry: CollectorRegistry, metrics: Metrics) -> None:
    metrics.limits(10, 30.0, 1000)
    metrics.shields([("age, zip", 20), ("zip", 30)])
    assert value(registry, "policy_shield_k", shield="zip") == 30

    metrics.classes_published([12], 12, 0.5, 0, (20, 30))
    assert value(registry, "windows_below_k_total") == 0
    metrics.classes_published([12], 12, 0.5, 0, (19, 29))
    assert value(registry, "windows_below_k_total") == 1
    assert value(registry, "achieved_shield_k", shield="age, zip") == 19

    metrics.classes_published([], None, None, 0)
    assert value(registry, "achieved_shield_k", shield="zip") == 29


@pytest.mark.parametrize(("age", "overdue"), [(29.9, 0), (30.3, 0), (45.0, 1)])
def test_a_window_counts_as_overdue_only_well_beyond_max_delay(
    age: float, overdue: int, registry: CollectorRegistry, metrics: Metrics
) -> None:
    metrics.window_published(age, 0.0)

    assert value(registry, "windows_overdue_total") == overdue


def test_an_outage_makes_the_broker_unreachable_until_it_ends(
    registry: CollectorRegistry, metrics: Metrics
) -> None:
    metrics.broker_away("publishing", "broker")
    assert value(registry, "broker_reachable") == 0

    metrics.broker_back("publishing", 3.5)
    assert value(registry, "broker_reachable") == 1
    assert value(registry, "broker_away_seconds_total") == 3.5
    assert value(registry, "broker_outages_total", activity="publishing") == 1


def test_the_broker_is_reachable_again_only_when_no_absence_is_left(
    registry: CollectorRegistry, metrics: Metrics
) -> None:
    metrics.broker_away("publishing", "broker")
    metrics.broker_away("consuming", "broker")
    metrics.broker_away("asking-registry", "broker")
    metrics.broker_back("publishing", 1.0)
    assert value(registry, "broker_reachable") == 0
    metrics.broker_away("consuming", "broker", again=True)
    metrics.taken_over(0, 0, 0, 3, 0.2)
    assert value(registry, "broker_reachable") == 0
    metrics.broker_back("consuming", 1.0)
    assert value(registry, "broker_reachable") == 0
    metrics.broker_back("asking-registry", 1.0)
    assert value(registry, "broker_reachable") == 1


BOUNDS = (0.5, 1.0, 2.0, 10.0)


@given(st.lists(st.tuples(st.floats(0, 20), st.integers(0, 5)), max_size=30))
def test_a_column_is_counted_as_value_by_value(rows: list[tuple[float, int]]) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    columns = ColumnHistogram("x_seconds", "X.", BOUNDS, ours)
    single = Histogram("x_seconds", "X.", buckets=BOUNDS, registry=theirs)
    columns.observe([v for v, _ in rows], [n for _, n in rows])
    for number, times in rows:
        for _ in range(times):
            single.observe(number)

    for bound in ("0.5", "1.0", "2.0", "10.0", "+Inf"):
        own = ours.get_sample_value("x_seconds_bucket", {"le": bound.removesuffix(".0")})
        assert own == theirs.get_sample_value("x_seconds_bucket", {"le": bound})
    assert ours.get_sample_value("x_seconds_sum") == pytest.approx(theirs.get_sample_value("x_seconds_sum"))
    assert ours.get_sample_value("x_seconds_count") == theirs.get_sample_value("x_seconds_count")


def test_clocks_that_differ_never_make_a_sum_shrink(registry: CollectorRegistry) -> None:
    columns = ColumnHistogram("x_seconds", "X.", BOUNDS, registry)
    columns.observe(-4.0)

    assert registry.get_sample_value("x_seconds_sum") == 0
    assert registry.get_sample_value("x_seconds_count") == 1


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
        "build_info{version}",
        "policy_info{delivery,engine,policy,revision}",
    ),
}


def test_every_promised_metric_is_there_and_of_its_kind(registry: CollectorRegistry, metrics: Metrics) -> None:
    metrics.attributes(["age"])
    metrics.published_attributes(["age"], [])
    metrics.shields([("age, zip", 20)])
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


def test_an_undeclared_attribute_never_becomes_a_label(registry: CollectorRegistry, metrics: Metrics) -> None:
    metrics.attributes(["age", "patient.city"])
    before = exposition(registry).decode().count("\n")
    metrics.attribute_losses([1.5, 2.5, 9.0])

    assert value(registry, "attribute_information_loss_total", attribute="patient.city") == 2.5
    assert exposition(registry).decode().count("\n") == before


def test_missing_values_are_counted_for_declared_attributes_only(
    registry: CollectorRegistry, metrics: Metrics
) -> None:
    metrics.published_attributes(["age", "note"], ["note"])
    before = exposition(registry).decode().count("\n")
    metrics.missing({"age": 3, "undeclared": 9})

    assert value(registry, "records_missing_total", attribute="age") == 3
    assert value(registry, "records_missing_total", attribute="note") == 0
    assert value(registry, "policy_accepts_missing", attribute="note") == 1
    assert value(registry, "policy_accepts_missing", attribute="age") == 0
    assert exposition(registry).decode().count("\n") == before


@pytest.mark.parametrize(("max_delay", "budget"), [(0.5, 1.5), (4.0, 5.0), (30.0, 37.5)])
def test_a_record_is_late_beyond_the_delay_budget(
    max_delay: float, budget: float, registry: CollectorRegistry, metrics: Metrics
) -> None:
    metrics.limits(10, max_delay, 100)
    metrics.delays([budget, budget + 0.01, 2 * budget], [100, 20, 3], [-1.0, budget, budget + 0.01, 2 * budget])

    assert value(registry, "policy_delay_budget_seconds") == budget
    assert value(registry, "records_over_delay_budget_total") == 23
    assert value(registry, "records_over_end_to_end_budget_total") == 2, "each of these is one record"


def test_a_skipped_audit_has_no_duration(registry: CollectorRegistry, metrics: Metrics) -> None:
    metrics.window_audited("skipped", None)
    metrics.window_audited("failed", 0.05)

    assert value(registry, "windows_audited_total", result="skipped") == 1
    assert value(registry, "audit_duration_seconds_count") == 1


def test_no_metric_carries_an_exemplar(registry: CollectorRegistry, metrics: Metrics) -> None:
    feed(metrics)
    assert all(sample.exemplar is None for family in registry.collect() for sample in family.samples)
    assert "# {" not in exposition(registry).decode()


def _reasons(registry: CollectorRegistry) -> list[str]:
    return [reason for reason in NOT_READY if value(registry, "not_ready", reason=reason)]


def test_what_keeps_a_worker_from_being_ready_is_told_as_long_as_it_does(
    registry: CollectorRegistry, metrics: Metrics
) -> None:
    assert _reasons(registry) == ["starting"]
    metrics.broker_away("starting", Cause.UNREACHABLE)
    assert _reasons(registry) == ["unreachable"]
    metrics.broker_away("starting", Cause.PERMISSION, again=True)
    metrics.broker_away("asking-registry", Cause.REGISTRY)
    assert _reasons(registry) == ["permission", "registry"]
    metrics.broker_back("starting", 1)
    metrics.broker_back("asking-registry", 1)
    metrics.readiness(True)
    assert _reasons(registry) == []
    metrics.readiness(False, "stopping")
    assert _reasons(registry) == ["stopping"]
