"""Two releases side by side: the rules and the dashboard of each are about itself alone."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.alert_cases import ALERTS, Case, judge
from tests.support.helm import attempt, of_kind, value_set

RESTARTS = "kube_pod_container_status_restarts_total"
PODS = 'pod="{}-5f7d8c9b4-x2x4z", container="stream-anon"'


def _objects(release: str, values: str, *more: str) -> list[dict[str, Any]]:
    done = attempt(value_set(values), *more, release=release)
    assert done.returncode == 0, done.stderr[-2000:]
    return [each for each in yaml.safe_load_all(done.stdout) if each]


@cache
def _rules(release: str, values: str = "operator", *more: str) -> dict[str, dict[str, Any]]:
    """Return the rules of a release, whose alerts say by a label whose they are."""
    objects = _objects(
        release, values, "prometheusRule.enabled=true", f"prometheusRule.additionalLabels.of={release}", *more
    )
    groups = of_kind(objects, "PrometheusRule")["spec"]["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


# The release `people` has job people-stream-anon; a release whose name holds the chart's has its own.
OURS = 'namespace="privacy", job="people-stream-anon"'
OTHERS = {
    "other release": 'namespace="privacy", job="visits-stream-anon"',
    "longer name": 'namespace="privacy", job="people-stream-anon-visits"',
    "namesake": 'namespace="elsewhere", job="people-stream-anon"',
}


def _not_ready(labels: str) -> dict[str, str]:
    return {f'ready{{{labels}, instance="a"}}': "0x40"}


def test_a_release_is_paged_for_its_own_workers_only(tmp_path: Path) -> None:
    series = {key: value for labels in (OURS, *OTHERS.values()) for key, value in _not_ready(labels).items()}
    rules = [_rules(release)["StreamAnonNotReady"] for release in ("people", "visits")]
    judge(tmp_path, rules, [Case("StreamAnonNotReady", series, {"10m": ("people", "visits")}, by="of")])
    ours = Case("StreamAnonNotReady", series, {"10m": ("people-stream-anon",)})
    judge(tmp_path, rules[:1], [ours])


def test_an_alert_that_one_release_leaves_out_does_not_fire_from_the_other(tmp_path: Path) -> None:
    left_out = _rules("people", "operator", "prometheusRule.disabled={StreamAnonNotReady}")
    assert "StreamAnonNotReady" not in left_out
    rules = [*left_out.values(), _rules("visits")["StreamAnonNotReady"]]
    judge(tmp_path, rules, [Case("StreamAnonNotReady", _not_ready(OURS), {"10m": ()})])


def test_pods_that_a_pod_monitor_finds_are_its_own_release_s(tmp_path: Path) -> None:
    rule = _rules("people", "pod-monitor")["StreamAnonNotReady"]
    jobs = ("privacy/people-stream-anon", "privacy/visits-stream-anon", "people-stream-anon")
    series = {key: value for job in jobs for key, value in _not_ready(f'namespace="privacy", job="{job}"').items()}
    judge(tmp_path, [rule], [Case("StreamAnonNotReady", series, {"10m": jobs[:1]})])


def test_restarts_and_audits_are_those_of_the_release(tmp_path: Path) -> None:
    rules = _rules("people")
    restarts = {
        f'{RESTARTS}{{namespace="{namespace}", {PODS.format(name)}}}': "0x20 0+1x6 6x30"
        for namespace, name in (
            ("privacy", "people-stream-anon"),
            ("privacy", "people-stream-anon-visits"),
            ("privacy", "visits-stream-anon"),
            ("elsewhere", "people-stream-anon"),
        )
    }
    pods = ("people-stream-anon-5f7d8c9b4-x2x4z",)
    judge(
        tmp_path, [rules["StreamAnonCrashLoop"]], [Case("StreamAnonCrashLoop", restarts, {"24m": pods}, by="pod")]
    )
    audits = {
        f'{name}{{namespace="monitoring", job="node", subject="{subject}"}}': "0x20"
        for name in ("audit_success", "audit_last_run_timestamp_seconds")
        for subject in ("people.anonymous", "visits.anonymous")
    }
    failed = Case("StreamAnonDailyAuditFailed", audits, {"10m": ("people.anonymous",)}, by="subject")
    judge(tmp_path, [rules["StreamAnonDailyAuditFailed"]], [failed])


@pytest.mark.parametrize("name", ALERTS)
def test_every_series_of_every_rule_is_limited(name: str) -> None:
    expression = _rules("people")[name]["expr"]
    named = re.findall(r"\b(?:stream_anon_\w+|kube_\w+|process_\w+|up)\b(?:\{([^}]*)\})?", expression)
    assert named
    ours = (OURS, 'namespace="privacy", pod=~"people-stream-anon-[^-]+-[^-]+"', 'subject="people.anonymous"')
    assert [labels for labels in named if not labels.startswith(ours)] == []


def test_labels_that_the_chart_does_not_know_are_said_or_no_rule_is_made() -> None:
    scraped_by_others = ("serviceMonitor.enabled=false", "prometheusRule.enabled=true")
    refused = attempt(value_set("operator"), *scraped_by_others)
    assert "say by `selector` which labels" in refused.stderr
    said = _rules("people", "operator", *scraped_by_others, 'prometheusRule.selector=job="mine"')
    assert 'stream_anon_ready{job="mine"}' in said["StreamAnonNotReady"]["expr"]


def test_each_release_has_a_dashboard_of_its_own() -> None:
    found = [_dashboard(release) for release in ("people", "visits")]
    pages = [json.loads(text) for data in found for text in data.values()]
    assert len({key for data in found for key in data}) == 2, "the sidecar writes each key as a file of one folder"
    assert len({page["uid"] for page in pages}) == 2
    assert len({page["title"] for page in pages}) == 2
    assert all(re.fullmatch(r"[\w-]{1,40}", page["uid"]) for page in pages)
    for page, release in zip(pages, ("people", "visits"), strict=True):
        shown = {each["name"]: each.get("current", {}).get("value") for each in page["templating"]["list"]}
        assert (shown["namespace"], shown["job"]) == (["privacy"], [f"{release}-stream-anon"])
        assert shown["instance"] == "$__all"


def _dashboard(release: str) -> dict[str, str]:
    (found,) = [
        each["data"]
        for each in _objects(release, "operator")
        if each["kind"] == "ConfigMap" and each["metadata"]["name"].endswith("-dashboard")
    ]
    return found  # type: ignore[no-any-return]
