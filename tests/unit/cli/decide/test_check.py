"""What `check` prints of a report."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from stream_anon.cli.decide.check import show
from stream_anon.judging.findings import policy_findings
from stream_anon.judging.sample_findings import sample_findings
from stream_anon.judging.sample_study import Sample, study
from stream_anon.operations.check.checking import CheckReport
from stream_anon.operations.starting.attribute_facts import attribute_facts
from stream_anon.settings.loading import parse_settings
from stream_anon.settings.policy_file import build_policy, load_policy
from tests.support import completed
from tests.support.policies import write_document

PERSONAL = "Zyxwvut"  # stands in values; must stand in nothing that is printed


def _said(notes: list[str], apart: float = 0.001, **note: Any) -> str:
    """Return what is printed of people with one note each, in windows of ten or of three seconds, on one line."""
    settings = parse_settings(
        {
            "kafka": {"bootstrap_servers": "nowhere:9092", "group": "g", "input": "people", "output": "out"},
            "privacy": {"k": 5, "individual": "person"},
            "window": {"max_records": 10, "max_delay": 3},
            "attributes": {
                "person": {"role": "identifier"},
                "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
                "note": {"role": "insensitive", **note},
            },
        }
    )
    policy = build_policy(settings, Path("policy.yaml"))
    events = [json.dumps({"person": i, "age": 30, "note": note}).encode() for i, note in enumerate(notes)]
    found = study(policy, Sample(events, np.arange(len(events)) * apart))
    findings = (*policy_findings(policy), *sample_findings(policy, found))
    assert settings.kafka is not None
    text = io.StringIO()
    report = CheckReport(policy, settings.kafka, attribute_facts(policy), (), findings, found, complete=True)
    show(report, Console(file=text, highlight=False, markup=False, width=100))
    assert PERSONAL not in text.getvalue()
    return " ".join(text.getvalue().split())


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_the_share_within_windows_is_printed(role: str) -> None:
    notes = [f"{PERSONAL}{i % 10}" for i in range(50)]
    said = _said(notes, role=role)
    assert "note: 0.00% of its records (100.00% within their window), 0 of 10 distinct values" in said
    assert "warns attributes.note: 100.0% of its values are held by fewer than k = 5 individuals of their" in said
    assert "Nothing prevents a run." in said
    assert "distinct values, accepted by accept_linkable" in _said(notes, role=role, accept_linkable=True)


def test_no_share_is_printed_where_windows_publish_nothing() -> None:
    assert "note: 0.00% of its records (no window publishes any), 0 of 1" in _said(["usual"] * 20, apart=1.0)


def test_what_classes_would_give_away_is_printed_and_warned_of_where_it_is_a_value() -> None:
    """Fifty people of one age: a window of ten is one class, all of one illness or half of each."""
    alike = [f"{PERSONAL}{i // 10 % 2}" for i in range(50)]
    said = _said(alike, role="sensitive")
    assert "note: 0.00 of 0.00 bits (0%); a value is 100% sure in the worst class, of 10 records, and 100%" in said
    assert "warns attributes.note: as one worker would publish the sample, 50 of 50 records are in classes" in said
    mixed = _said([f"{PERSONAL}{i % 2}" for i in range(50)], role="sensitive")
    assert "note: 0.00 of 1.00 bits (0%); a value is 50% sure in the worst class, of 10 records, and 50%" in mixed
    assert "records all have one value" not in mixed
    assert "would give away" not in _said(alike, role="insensitive")


@pytest.mark.parametrize(
    ("share", "words"),
    [("5%", "10 records, half of which may be counterfeits (told"), (None, "10 individuals (told")],
)
def test_k_is_told_of_records_where_counterfeits_may_be_among_them(
    tmp_path: Path, share: str | None, words: str
) -> None:
    policy = load_policy(write_document(tmp_path, completed.policy_with(counterfeits=share)))
    text = io.StringIO()
    report = CheckReport(policy, "a file", attribute_facts(policy), (), (), None, complete=True)
    show(report, Console(file=text, highlight=False, markup=False, width=200))
    assert f"each class: {words}" in text.getvalue()
