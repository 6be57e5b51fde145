"""Cases of alerts for `promtool test rules`: series over time, and who fires when."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support.data import ROOT
from tests.support.promtool import run_promtool

RULES = ROOT / "deploy" / "prometheus" / "alerts.yml"
Rule = Mapping[str, Any]


def _rules() -> dict[str, Rule]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


ALERTS = _rules()
_FOREIGN = ("up{", "process_", "kube_")


@dataclass(frozen=True)
class Case:
    """Series from time 0 on, and when which label values fire.

    `stream_anon_` is put before the names of series, except those that others expose (`_FOREIGN`).
    """

    alert: str
    series: Mapping[str, str]
    fires: Mapping[str, Sequence[str]]  # at: values of `by`
    by: str = "job"
    pending: bool = False  # it must not even be about to fire
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # at: instance: its description
    seconds: int = 60  # between values, and between evaluations


def judge(folder: Path, rules: Sequence[Rule], cases: Sequence[Case]) -> None:
    """Have promtool evaluate `rules` on each case.

    Rules that a case is not about are best left out: they cost minutes.
    """
    file, tests = folder / "rules.yml", folder / "tests.yml"
    file.write_text(json.dumps({"groups": [{"name": "alone", "rules": rules}] if rules else []}))
    judged = {
        "rule_files": [str(file)],
        "evaluation_interval": f"{min(case.seconds for case in cases)}s",
        "tests": [_test_of(case) for case in cases],
    }
    tests.write_text(json.dumps(judged))
    assert "SUCCESS" in run_promtool("test", "rules", tests)


def _test_of(case: Case) -> dict[str, Any]:
    states = "firing|pending" if case.pending else "firing"
    query = f'count by ({case.by}) (ALERTS{{alertname="{case.alert}", alertstate=~"{states}"}})'
    return {
        "name": case.alert,
        "interval": f"{case.seconds}s",
        "input_series": [
            {"series": name if name.startswith(_FOREIGN) else f"stream_anon_{name}", "values": values}
            for name, values in case.series.items()
        ],
        "promql_expr_test": [
            {
                "expr": query,
                "eval_time": at,
                "exp_samples": [{"labels": f'{{{case.by}="{value}"}}', "value": 1} for value in values],
            }
            for at, values in case.fires.items()
        ],
        "alert_rule_test": [
            {
                "alertname": case.alert,
                "eval_time": at,
                "exp_alerts": [_alert_of(case.alert, instance, words) for instance, words in told.items()],
            }
            for at, told in case.words.items()
        ],
    }


def _alert_of(alert: str, instance: str, description: str) -> dict[str, Any]:
    """Return an alert with all labels and annotations; it has no labels of its own but the instance."""
    rule = ALERTS[alert]
    return {
        "exp_labels": {**rule["labels"], "instance": instance},
        "exp_annotations": {**rule["annotations"], "description": description},
    }
