"""Every panel of the dashboard asks a real Prometheus that scraped the real service under load."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.data import ROOT
from tests.support.prometheus_server import PrometheusServer
from tests.support.promtool import run_promtool, tool
from tests.support.service import K, Stage, WorkerProcess, make_records, produce

pytestmark = pytest.mark.kafka

PAGE = json.loads((ROOT / "deploy" / "grafana" / "dashboards" / "stream-anon.json").read_text())
LOAD_SECONDS = 14
ROUNDS = 4  # of load at most: audits are sampled, and a slow machine has time for few of them
RATE = 400  # records a second
WINDOW = {
    "max_records": 1000,
    "max_delay": "6s",
    "target_loss": 0.01,
}  # full ones have people enough for their leakage to be shown
SHIELDED = {"shields": [{"attributes": ["age"], "k": 20}]}
# What Grafana fills in, for a scrape every second.
FILLED = {"$__rate_interval": "8s", "$__range": "60s", "$namespace": ".*", "$job": ".+", "$instance": ".+"}


def _queries() -> list[tuple[str, str]]:
    return [
        (f"{panel['title']}: {target['legendFormat']}", target["expr"])
        for panel in PAGE["panels"]
        if panel["type"] != "row"
        for target in panel["targets"]
    ]


def _filled(expression: str) -> str:
    for name, value in FILLED.items():
        expression = expression.replace(name, value)
    return expression


def _has_number(name: str, found: list[dict[str, Any]]) -> bool:
    """Return whether a query found a number; the busy share, known after a minute, need only be there."""
    known = bool(found) if name.startswith("Busy share") else False
    return known or any(not math.isnan(float(one["value"][1])) for one in found)


async def test_every_panel_and_every_rule_works_on_the_metrics_of_a_real_service(
    stage: Stage, tmp_path: Path
) -> None:
    tool("prometheus")
    (tmp_path / "prometheus").mkdir()
    records = make_records(RATE * LOAD_SECONDS * ROUNDS, 1)
    for place in range(0, len(records), 50):
        records[place] = b"{"  # every fiftieth is a dead letter
    with WorkerProcess(stage.config(window=WINDOW, privacy=SHIELDED)) as worker:
        await worker.wait_for("ready")
        target = worker.said("serving")[0]["public"]
        with PrometheusServer(tmp_path / "prometheus", target) as prometheus:
            for load in range(0, len(records), RATE * LOAD_SECONDS):
                await produce(stage, records[load : load + RATE * LOAD_SECONDS], rate=RATE)
                asked = {name: prometheus.query(_filled(expression)) for name, expression in _queries()}
                empty = [name for name, found in asked.items() if not _has_number(name, found)]
                if not empty:
                    break
            groups = prometheus.ask("rules")["groups"]
        await asyncio.to_thread(run_promtool, "check", "metrics", given=worker.get("/metrics")[1].encode())
        _check_status(json.loads(worker.get("/status", "admin")[1]))
        assert worker.get("/", "admin")[0] == 200
        assert worker.said("window-published"), "no load"
    assert empty == []
    assert float(asked["Firing alerts: firing"][0]["value"][1]) == 0
    assert 0 < float(asked["Room to grow: to spare"][0]["value"][1]) < 1
    assert float(asked["Delay budget left: end to end"][0]["value"][1]) <= 1
    assert float(asked["In and out: in"][0]["value"][1]) > RATE / 3
    assert float(asked["Windows audited: {{result}}"][0]["value"][1]) >= 0
    assert {one["metric"]["attribute"] for one in asked["Information loss by attribute: {{attribute}}"]} == {
        "age",
        "city",
    }
    leakage = {
        (one["metric"]["attribute"], one["metric"]["stage"]): float(one["value"][1])
        for one in asked["Leakage by attribute: {{attribute}}, {{stage}}"]
    }
    assert leakage.keys() == {(name, stage) for name in ("age", "city") for stage in ("before", "after")}
    assert leakage["age", "after"] < leakage["age", "before"]
    assert leakage["age", "before"] > 0.3
    rules = [rule for group in groups for rule in group["rules"]]
    written = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yml").read_text())["groups"]
    assert len(rules) == sum(len(group["rules"]) for group in written)
    assert [rule["name"] for rule in rules if rule["health"] != "ok"] == []
    assert [
        rule["name"] for rule in rules if rule["state"] == "firing" and rule["labels"]["severity"] == "page"
    ] == []


def _check_status(status: dict[str, Any]) -> None:
    """Check that the page shows the state of the real service."""
    assert status["ready"]
    assert status["warnings"] == []
    assert status["audits"]["failed"] == 0
    assert status["audits"]["passed"] > 0
    assert status["leakage"].keys() == {"age", "city"}
    assert "passed" in {window["audit"] for window in status["last_windows"]}
    release = status["last_release"]
    assert release["attributes"] == ["age", "city"]
    assert release["classes"]
    assert min(one["records"] for one in release["classes"]) >= K
    assert all(len(one["values"]) == 2 for one in release["classes"])
    assert sum(one["records"] for one in release["losses"]) == status["last_windows"][0]["released"]
