"""Each alert fires where it must and is silent right beside that; `promtool test rules` judges."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from stream_anon.adapters.prometheus.exposition import exposition
from stream_anon.adapters.prometheus.families import REJECTIONS, SUPPRESSIONS
from stream_anon.adapters.prometheus.metrics import Metrics
from tests.support.data import ROOT
from tests.support.promtool import run_promtool

FOLDER = ROOT / "deploy" / "prometheus"
RULES = FOLDER / "alerts.yml"
HEADINGS = ("What it means", "Look at", "Do", "Do not")


def _rules() -> dict[str, Mapping[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


ALERTS = _rules()


@dataclass(frozen=True)
class Case:
    """Series a minute apart (`stream_anon_` is put before), and when which label values fire."""

    alert: str
    series: Mapping[str, str]
    fires: Mapping[str, Sequence[str]]  # at: values of `by`
    by: str = "job"


CASES = (
    Case(
        "StreamAnonGateViolation",
        {
            'gate_violations_total{instance="grows"}': "0x10 1x120",
            'gate_violations_total{instance="sound"}': "0x130",
            'gate_violations_total{instance="born-so"}': "_x5 2x125",
            # It is published, and has an alert of its own that does not say "nothing was".
            'windows_below_k_total{instance="below"}': "0x10 1x120",
        },
        {"4m": (), "12m": ("born-so", "grows"), "90m": ()},
        by="instance",
    ),
    Case(
        "StreamAnonWindowBelowK",
        {
            'windows_below_k_total{instance="grows"}': "0x10 1x120",
            'windows_below_k_total{instance="sound"}': "0x130",
            'windows_below_k_total{instance="born-so"}': "_x5 2x125",
            'gate_violations_total{instance="kept-back"}': "0x10 1x120",
        },
        {"4m": (), "12m": ("born-so", "grows"), "90m": ()},
        by="instance",
    ),
    Case(
        "StreamAnonAuditFailed",
        {
            'windows_audited_total{instance="a", result="failed"}': "0x10 1x120",
            'windows_audited_total{instance="b", result="failed"}': "_x10 1x120",
            'windows_audited_total{instance="c", result="passed"}': "0+9x130",
        },
        {"9m": (), "13m": ("a", "b"), "120m": ()},
        by="instance",
    ),
    Case(
        "StreamAnonSuppressionHigh",
        {
            'records_suppressed_total{job="six", reason="unplaced"}': "0+4x60",
            'records_suppressed_total{job="six", reason="shortfall"}': "0+2x60",
            'records_released_total{job="six"}': "0+94x60",
            'records_suppressed_total{job="four", reason="unplaced"}': "0+4x60",
            'records_released_total{job="four"}': "0+96x60",
        },
        {"10m": (), "50m": ("six",)},
    ),
    Case(
        "StreamAnonAtLeastOnce",
        {
            'policy_info{job="j", delivery="at-least-once"}': "1x20",
            'policy_info{job="k", delivery="exactly-once"}': "1x20",
        },
        {"3m": (), "10m": ("j",)},
    ),
    Case(  # a fifth is late; 15 % is not enough where it ended, nor 10 % where it lasts
        "StreamAnonDelayBudgetFastBurn",
        {
            'records_over_delay_budget_total{job="burns"}': "0+20x90",
            'delay_seconds_count{job="burns"}': "0+100x90",
            'records_over_delay_budget_total{job="ended"}': "0+50x60 3000x30",
            'delay_seconds_count{job="ended"}': "0+100x90",
            'records_over_delay_budget_total{job="less"}': "0+10x90",
            'delay_seconds_count{job="less"}': "0+100x90",
        },
        {"75m": ("burns",)},
    ),
    Case(
        "StreamAnonDelayBudgetSlowBurn",
        {
            'records_over_delay_budget_total{job="burns"}': "0+8x420",
            'delay_seconds_count{job="burns"}': "0+100x420",
            'records_over_delay_budget_total{job="within"}': "0+5x420",
            'delay_seconds_count{job="within"}': "0+100x420",
        },
        {"400m": ("burns",)},
    ),
    Case(
        "StreamAnonStalled",
        {
            'windows_published_total{job="stalled"}': "0+1x20 20x40",
            'records_consumed_total{job="stalled"}': "0+50x60",
            'policy_max_delay_seconds{job="stalled"}': "30x60",
            # Reads nothing, and something waits.
            'windows_published_total{job="stuck"}': "0+1x20 20x40",
            'records_consumed_total{job="stuck"}': "0+50x20 1000x40",
            'consumer_lag_records{job="stuck"}': "5x60",
            'policy_max_delay_seconds{job="stuck"}': "30x60",
            'windows_published_total{job="quiet"}': "0+1x20 20x40",
            'records_consumed_total{job="quiet"}': "0+50x20 1000x40",
            'consumer_lag_records{job="quiet"}': "0x60",
            'policy_max_delay_seconds{job="quiet"}': "30x60",
            # One window an hour is what its policy says.
            'windows_published_total{job="slow"}': "1x60",
            'records_consumed_total{job="slow"}': "0+50x60",
            'policy_max_delay_seconds{job="slow"}': "3600x60",
            'windows_published_total{job="new"}': "_x42 0x18",
            'records_consumed_total{job="new"}': "_x42 0+50x18",
            'policy_max_delay_seconds{job="new"}': "_x42 30x18",
        },
        {"20m": (), "45m": ("stalled", "stuck")},
    ),
    Case(
        "StreamAnonStalled",
        {
            'windows_published_total{job="slow"}': "0+1x60 60x240",
            'records_consumed_total{job="slow"}': "0+50x300",
            'policy_max_delay_seconds{job="slow"}': "900x300",
        },
        {"100m": (), "200m": ("slow",)},
    ),
    Case(
        "StreamAnonDeadLettersHigh",
        {
            'dead_letters_total{job="j", reason="malformed"}': "0+1x60",
            'dead_letters_total{job="j", reason="missing"}': "0+1x60",
            'records_consumed_total{job="j"}': "0+100x60",
            'dead_letters_total{job="k", reason="malformed"}': "0+1x60",
            'records_consumed_total{job="k"}': "0+200x60",
        },
        {"40m": ("j",)},
    ),
    Case(
        "StreamAnonLagGrowing",
        {
            'consumer_lag_records{job="grows"}': "0+1000x90",
            'policy_max_records{job="grows"}': "10000x90",
            # A worker that stands by knows of no lag.
            'consumer_lag_records{job="grows", instance="idle"}': " ".join(["NaN"] * 91),
            'consumer_lag_records{job="shrinks"}': "90000-900x90",
            'policy_max_records{job="shrinks"}': "10000x90",
            'consumer_lag_records{job="small"}': "0+10x90",
            'policy_max_records{job="small"}': "10000x90",
        },
        {"15m": (), "60m": ("grows",)},
    ),
    Case(
        "StreamAnonIdleWorker",
        {
            'ready{instance="idle"}': "1x60",
            'partitions_owned{instance="idle"}': "0x60",
            'ready{instance="works"}': "1x60",
            'partitions_owned{instance="works"}': "2x60",
            'ready{instance="away"}': "0x60",
            'partitions_owned{instance="away"}': "0x60",
        },
        {"20m": (), "40m": ("idle",)},
        by="instance",
    ),
    Case(
        "StreamAnonPartitionStopped",
        {'partitions_not_read{instance="a"}': "0x5 1x15", 'partitions_not_read{instance="b"}': "0x20"},
        {"4m": (), "10m": ("a",)},
        by="instance",
    ),
    Case(
        "StreamAnonInputLost",
        {
            'input_lost_records_total{instance="a"}': "0x5 70x60",
            'input_lost_records_total{instance="b"}': "_x5 70x60",
            'input_lost_records_total{instance="c"}': "0x65",
        },
        {"4m": (), "10m": ("a", "b")},
        by="instance",
    ),
    Case(
        "StreamAnonInputHeldByTransaction",
        {
            'input_held_seconds{instance="a"}': "0x4 60+60x20",
            'input_held_seconds{instance="b"}': "0+5x4 0+5x20",
        },
        {"4m": (), "12m": ("a",)},
        by="instance",
    ),
    Case(
        "StreamAnonOffsetsUnprotected",
        {
            'partitions_without_entry_total{instance="a"}': "0x5 1x60",
            'partitions_without_entry_total{instance="b"}': "_x5 1x60",
            'partitions_without_entry_total{instance="c"}': "0x65",
        },
        {"4m": (), "10m": ("a", "b")},
        by="instance",
    ),
    Case(
        "StreamAnonNotReady",
        {'ready{instance="a"}': "1x5 0x15", 'ready{instance="b"}': "1x3 0x3 1x14"},
        {"8m": (), "15m": ("a",)},
        by="instance",
    ),
    Case(
        "StreamAnonAbsent",
        {
            'ready{job="gone", instance="a"}': "1x90 _x1600",
            'ready{job="gone", instance="b"}': "0x90 _x1600",
            'ready{job="young"}': "_x80 1x10 _x1600",
            'ready{job="replaced", instance="a"}': "1x90 _x1600",
            'ready{job="replaced", instance="b"}': "_x92 1x1600",
            'ready{job="back"}': "1x90 _x20 1x1600",
            'ready{job="cannot-work"}': "0x1690",
        },
        # For a day: long enough to wake somebody, and it ends where a service was taken away on purpose.
        {"80m": (), "94m": (), "105m": ("back", "gone", "young"), "20h": ("gone", "young"), "27h": ()},
    ),
)
# What looks at a whole service is asked again with services of one name, each in a namespace of its own.
NAMESAKES = tuple(
    Case(
        case.alert,
        {name.replace('job="', 'job="people", namespace="'): values for name, values in case.series.items()},
        case.fires,
        by="namespace",
    )
    for case in CASES
    if case.by == "job"
)


def _test_of(case: Case) -> dict[str, Any]:
    query = f'count by ({case.by}) (ALERTS{{alertname="{case.alert}", alertstate="firing"}})'
    return {
        "name": case.alert,
        "interval": "1m",
        "input_series": [
            {"series": f"stream_anon_{name}", "values": values} for name, values in case.series.items()
        ],
        "promql_expr_test": [
            {
                "expr": query,
                "eval_time": at,
                "exp_samples": [{"labels": f'{{{case.by}="{value}"}}', "value": 1} for value in values],
            }
            for at, values in case.fires.items()
        ],
    }


@pytest.mark.parametrize("cases", [CASES, NAMESAKES], ids=["services", "namesakes-in-other-namespaces"])
def test_an_alert_is_silent_where_it_must_fire_or_the_other_way_round(
    tmp_path: Path, cases: Sequence[Case]
) -> None:
    tests = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [_test_of(case) for case in cases],
    }
    file = tmp_path / "tests.yml"
    file.write_text(json.dumps(tests))
    assert "SUCCESS" in run_promtool("test", "rules", file)


def test_a_case_can_pass_without_its_alert(tmp_path: Path) -> None:
    """Without rules every case that fires must fail, or the test above shows nothing."""
    empty = tmp_path / "none.yml"
    empty.write_text("groups: []")
    tests = {
        "rule_files": [str(empty)],
        "evaluation_interval": "1m",
        "tests": [_test_of(CASES[0])],
    }
    file = tmp_path / "tests.yml"
    file.write_text(json.dumps(tests))
    with pytest.raises(AssertionError, match="FAILED"):
        run_promtool("test", "rules", file)


def test_an_alert_has_no_case() -> None:
    assert {case.alert for case in CASES} == set(ALERTS)
    assert all(any(case.fires.values()) for case in CASES)


def test_a_message_does_not_say_in_which_namespace() -> None:
    """Without a namespace, as under Compose, it says the job and nothing else."""
    for alert, rule in ALERTS.items():
        assert ("by (" in rule["expr"]) == ("$labels.job" in rule["annotations"]["description"]), alert
        if "by (" in rule["expr"]:
            assert set(re.findall(r"by \((.*?)\)", rule["expr"])) == {"namespace, job"}, alert
            assert (
                "{{ with $labels.namespace }}{{ . }}/{{ end }}{{ $labels.job }}"
                in (rule["annotations"]["description"])
            ), alert


def test_promtool_objects_to_a_file() -> None:
    run_promtool("check", "rules", RULES)
    run_promtool("check", "config", FOLDER / "prometheus.yml")


def test_an_alert_asks_for_a_metric_or_a_label_that_is_not_there() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    metrics.started("1", "p", "forest", "exactly-once")
    text = exposition(registry).decode()
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    for alert, rule in ALERTS.items():
        for name in re.findall(r"stream_anon_\w+", rule["expr"]):
            assert name in names or name.removesuffix("_count") in names, (alert, name)
        for name, labels in re.findall(r"(stream_anon_\w+)\{(.*?)\}", rule["expr"]):
            for label in re.findall(r"(\w+)=", labels):
                assert re.search(rf"^{name}\{{[^}}]*{label}=", text, re.MULTILINE), (alert, label)


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_leaves_a_stranger_alone(alert: str) -> None:
    rule = ALERTS[alert]
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    name = rule["annotations"]["runbook_url"].rpartition("/")[2]
    page = (ROOT / "docs" / "runbooks" / name).read_text()
    assert alert in page, "the page must name the alert it is for"
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == list(HEADINGS)


def test_a_runbook_belongs_to_no_alert() -> None:
    named = {rule["annotations"]["runbook_url"].rpartition("/")[2] for rule in ALERTS.values()}
    assert {path.name for path in (ROOT / "docs" / "runbooks").glob("*.md")} == named


def test_a_reason_has_no_line_in_the_runbook_that_explains_reasons() -> None:
    letters = (ROOT / "docs" / "runbooks" / "dead-letters-high.md").read_text()
    assert [label for label in REJECTIONS if f"`{label}`" not in letters] == []
    suppression = (ROOT / "docs" / "runbooks" / "suppression-high.md").read_text()
    assert [label for label in SUPPRESSIONS if f"`{label}`" not in suppression] == []


def test_an_alert_is_not_on_the_page_for_operators() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    for alert, rule in ALERTS.items():
        name = rule["annotations"]["runbook_url"].rpartition("/")[2]
        row = f"| {alert.removeprefix('StreamAnon')}: {rule['annotations']['summary']} |"
        assert f"{row} {rule['labels']['severity']} | [{name[:-3]}](runbooks/{name}) |" in page
