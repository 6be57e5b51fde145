"""The dashboard: what is committed is what the script writes, and it keeps the rules of Grafana's linter."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from stream_anon.adapters.prometheus.exposition import exposition, watch_process
from stream_anon.adapters.prometheus.fleet_metrics import FleetMetrics
from stream_anon.service.wiring.observing import into_metrics
from tests.support.data import ROOT
from tests.support.told_events import STARTED

FOLDER = ROOT / "deploy" / "grafana"
PAGE = json.loads((FOLDER / "dashboards" / "stream-anon.json").read_text())
PANELS = [panel for panel in PAGE["panels"] if panel["type"] != "row"]
VARIABLES = {variable["name"]: variable for variable in PAGE["templating"]["list"]}
# Units that Grafana knows and that are used here; any other name would be shown as text.
UNITS = {"short", "percentunit", "s", "cps", "bytes"}
every_panel = pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])


def _queries() -> Iterator[tuple[str, str]]:
    for panel in PANELS:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def _exposed() -> tuple[set[str], str]:
    registry = CollectorRegistry()
    into_metrics(registry)(STARTED)
    FleetMetrics(registry, 2)
    watch_process(registry)
    text = exposition(registry).decode()
    return {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}, text


def test_the_committed_dashboard_is_what_the_script_writes() -> None:
    if importlib.util.find_spec("grafana_foundation_sdk") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("grafana-foundation-sdk is not installed")
        pytest.skip("grafana-foundation-sdk is not installed")
    spec = importlib.util.spec_from_file_location("build_dashboard", FOLDER / "build_dashboard.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules["build_dashboard"] = script
    try:
        spec.loader.exec_module(script)
        assert json.loads(script.build()) == PAGE, "run deploy/grafana/build_dashboard.py"
    finally:
        del sys.modules["build_dashboard"]


def test_the_dashboard_has_its_seven_rows_in_order() -> None:
    rows = [panel["title"] for panel in PAGE["panels"] if panel["type"] == "row"]
    assert rows == ["At a glance", "Privacy", "Utility", "Delay", "Flow", "Kafka", "Process"]


def test_panels_lie_apart_on_the_grid_and_have_numbers_of_their_own() -> None:
    numbers = [panel["id"] for panel in PAGE["panels"]]
    assert len(set(numbers)) == len(numbers)
    assert 0 not in numbers
    taken: set[tuple[int, int]] = set()
    for panel in PAGE["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
    assert all(one["gridPos"]["y"] <= two["gridPos"]["y"] for one, two in pairwise(PAGE["panels"]))


def test_nobody_can_edit_what_the_next_start_overwrites() -> None:
    assert PAGE["editable"] is False
    assert PAGE["uid"] == "stream-anon"


def test_every_variable_that_the_linter_asks_for_is_there() -> None:
    source = VARIABLES["datasource"]
    assert (source["type"], source["query"], source["label"]) == ("datasource", "prometheus", "Data source")
    for name, label in (("job", "Job"), ("instance", "Instance")):
        variable = VARIABLES[name]
        assert (variable["type"], variable["label"]) == ("query", label)
        assert variable["datasource"]["uid"] == "$datasource"
        assert variable["multi"] is True
        assert variable["includeAll"] is True
        assert variable["allValue"] == ".+"
        assert variable["refresh"] == 2, "it must follow the time range"
    assert 'job=~"$job"' in str(VARIABLES["instance"]["query"])
    namespace = VARIABLES["namespace"]
    assert (namespace["type"], namespace["label"]) == ("query", "Namespace")
    assert namespace["allValue"] == ".*", "under Compose nothing has one"
    for name in ("job", "instance"):
        assert 'namespace=~"$namespace"' in str(VARIABLES[name]["query"])


def test_the_first_screen_says_how_the_services_stand() -> None:
    first = [panel["title"] for panel in PANELS if panel["gridPos"]["y"] < 13]
    assert first == [
        "Ready",
        "Paused",
        "Firing alerts",
        "Records waiting",
        "Delay budget left",
        "Room to grow",
        "Saturation",
        "Busy seconds by stage",
    ]


@pytest.mark.parametrize("title", ["Achieved k", "Delay", "Records per window"])
def test_figures_are_compared_with_the_policy_of_their_own_service(title: str) -> None:
    """The least figure of one service beside the policy of another one would look like a breach."""
    (panel,) = [panel for panel in PANELS if panel["title"] == title]
    for target in panel["targets"]:
        assert re.search(r"by \(namespace, job(, le|, shield)?\)", target["expr"]), target["expr"]
        assert "{{namespace}} {{job}}" in target["legendFormat"]


@every_panel
def test_every_panel_has_title_description_unit_source_and_query(panel: Mapping[str, Any]) -> None:
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["datasource"] == {"type": "prometheus", "uid": "$datasource"}
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
    targets = panel["targets"]
    assert targets
    assert len({target["refId"] for target in targets}) == len(targets)
    assert all(target["legendFormat"] for target in targets)
    assert all(target.get("instant") if panel["type"] == "stat" else target.get("range") for target in targets)


def test_no_two_panels_have_one_title() -> None:
    titles = [panel["title"] for panel in PANELS]
    assert len(set(titles)) == len(titles)


def test_every_query_uses_the_variables_and_shows_counters_as_rates() -> None:
    for title, expression in _queries():
        selectors = re.findall(r"[a-z_]+\{([^}]*)\}", expression)
        assert selectors or title == "Firing alerts", title
        for one in selectors:
            assert one.startswith('namespace=~"$namespace", job=~"$job", instance=~"$instance"'), title
        for ranged in re.findall(r"\[([^\]]*)\]", expression):
            assert ranged in ("$__rate_interval", "$__range"), title
        for name in re.findall(r"(\w+(?:_total|_bucket|_sum|_count))\{", expression):
            counted = re.search(rf"(?:rate|increase)\({name}\{{[^}}]*\}}\[", expression)
            assert counted, f"{title}: {name} is a counter"


def test_queries_and_exposed_metrics_match() -> None:
    names, text = _exposed()
    asked = set()
    for title, expression in _queries():
        for name, labels in re.findall(r"((?:stream_anon|process)_\w+)\{([^}]*)\}", expression):
            family = name if name in names else re.sub(r"_(bucket|sum|count)$", "", name)
            assert family in names, (title, name)
            asked.add(family)
            for label in re.findall(r"(\w+)=", labels):
                assert label in ("namespace", "job", "instance") or f"{name}{{{label}=" in text, (title, label)
    left = {name for name in names if name.startswith("stream_anon_")} - asked
    assert left == NOT_SHOWN, "show it, or say here why not"


# Alerts, the log and the status page tell of these; a panel would be flat for a year.
NOT_SHOWN = {
    "stream_anon_broker_away_seconds_total",
    "stream_anon_broker_reachable",
    "stream_anon_certificate_end_timestamp_seconds",  # an alert and a log line tell in time
    "stream_anon_release_end_timestamp_seconds",  # two alerts tell in time
    "stream_anon_information_loss_ratio",  # the last window's: the histogram holds all of them
    "stream_anon_input_lost_records_total",
    "stream_anon_not_ready",  # the alert and the status page tell the reason
    "stream_anon_order_version",
    "stream_anon_partitions_skipped_total",
    "stream_anon_partitions_stopped_total",
    "stream_anon_partitions_without_entry_total",
    "stream_anon_policy_holds",  # the alert on stalls asks for it
    "stream_anon_policy_accepts_missing",
    "stream_anon_policy_max_records",  # the alert on lag asks for it; the panel shows the bound in use
    "stream_anon_takeover_duration_seconds",
    "stream_anon_transactions_broken_total",
    "stream_anon_window_bound_bytes",
    "stream_anon_windows_bounded_smaller_total",  # the panel shows the bound itself
    "stream_anon_worker_restarts_total",
    "stream_anon_workers",
}


def test_no_panel_asks_for_an_exemplar() -> None:
    assert not any(target.get("exemplar") for panel in PANELS for target in panel["targets"])


def test_every_provisioned_name_points_to_something() -> None:
    sources = yaml.safe_load((FOLDER / "provisioning" / "datasources" / "prometheus.yml").read_text())
    assert [source["type"] for source in sources["datasources"]] == ["prometheus"]
    providers = yaml.safe_load((FOLDER / "provisioning" / "dashboards" / "stream-anon.yml").read_text())
    assert providers["providers"][0]["type"] == "file"
