"""Whatever makes a report partial is said, and nothing is said of one that is whole."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_anon.audit.scope import AuditScope, Removed, seconds_of
from stream_anon.audit.verdict import Life
from stream_anon.microdata.bounds import ReturnBound
from stream_anon.microdata.output.statement import Statement
from stream_anon.operations.audit.auditing import WantedAudit
from stream_anon.operations.report.figures.release_spread import ReleasesFound, ReleasesInPeriod
from stream_anon.operations.report.report_document import document_of
from stream_anon.operations.report.report_findings import Findings
from stream_anon.operations.report.report_page import assessment, report_page, statement
from stream_anon.operations.report.reporting import ReportSubject, report
from tests.support.audited_files import SETTINGS, Files, visits
from tests.support.clock import FakeClock
from tests.support.pages import rows_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("made"), SETTINGS, visits(300))


def _found(files: Files, wanted: WantedAudit | None = None, **more: Any) -> Findings:
    subject = ReportSubject(files.policy_path, files.output, files.certificates, **more)
    return report(subject, wanted or WantedAudit(), FakeClock())


def _audited(found: Findings, **changes: Any) -> list[str]:
    audit = found.audit
    return replace(found, audit=replace(audit, verdict=replace(audit.verdict, **changes))).cautions


def test_a_whole_report_has_none(files: Files) -> None:
    found = _found(files)
    assert found.evidence.windows > 1
    assert found.cautions == []


def test_a_period_without_a_window_is_no_evidence(files: Files) -> None:
    found = _found(files, WantedAudit(AuditScope(until=0.0)))
    assert found.cautions == [
        "No window closed in this period: nothing is shown, and there is nothing to sign for."
    ]


def test_a_period_that_is_not_over_is_told(files: Files) -> None:
    late = seconds_of("2300-01-01T00:00:00Z")
    [told] = _found(files, WantedAudit(AuditScope(until=late))).cautions
    assert told.startswith("The period was not over")


def test_figures_beside_violations_are_told_to_be_those_of_certificates(files: Files) -> None:
    files.lines.pop()
    files.write()
    found = _found(files)
    [told] = found.cautions
    assert told == "The figures are those that certificates state, also where the audit found these wrong."


def test_windows_under_another_policy_are_told(files: Files) -> None:
    """The settings were made stricter after these windows: they do not tell what these were asked."""
    now = SETTINGS | {
        "privacy": SETTINGS["privacy"] | {"k": 7},
        "release": {"recipient": "everybody", "purpose": "research"},
    }
    files.policy_path.write_text(yaml.safe_dump(now, sort_keys=False))
    found = _found(files)
    policies, statements, *rest = found.cautions
    windows = found.evidence.windows
    assert policies.startswith(f"{windows} of {windows} windows were released under another policy")
    assert not any(field["formerly"] for field in document_of(found)["fields"])
    assert statements == "Other policies of this period state another purpose, recipient of the release."
    assert rest == []


def test_windows_on_trust_are_told(files: Files) -> None:
    for number, part in enumerate(files.parts):
        files.parts[number] = json.dumps(
            json.loads(part) | {"promises": None, "policy": "sha256:" + "1" * 64},
            separators=(",", ":"),
            ensure_ascii=False,
        ).encode()
    files.write()
    told = " ".join(_found(files).cautions)
    assert f"{len(files.parts)} windows are judged on trust" in told


def test_k_in_records_is_no_risk_of_people(tmp_path: Path) -> None:
    settings = SETTINGS | {"privacy": SETTINGS["privacy"] | {"individual": "every-record"}}
    found = _found(Files(tmp_path, settings, visits(300)))
    [told] = found.cautions
    assert told.startswith(f"In {found.evidence.windows} of {found.evidence.windows} windows k counts records")


def test_a_threshold_that_is_looser_than_the_settings_is_told(files: Files) -> None:
    [told] = _found(files, max_risk=0.5).cautions
    assert told == "The threshold of 50% was given for this report. The settings allow 25% at the most."
    assert _found(files, max_risk=0.2).cautions == []


def test_attacks_that_succeed_above_the_threshold_are_told(files: Files) -> None:
    """The statement is of one risk: beside a successful attack it would say that all is well."""
    rows = [
        {"attack": name, "secret": secret, "risk": {"value": value, "low": 0.0, "high": 1.0}}
        for name, secret, value in (
            ("membership", None, 0.7),
            ("inference", "result", 0.26),
            ("linkability", None, 0.25),
        )
    ]
    found = replace(_found(files), attacks={"source": "in.csv", "released": 7, "attacks": rows})
    [told] = found.cautions
    assert "membership (70.0%), inference of result (26.0%)." in told
    assert "linkability" not in told


def test_counterfeits_are_told_with_the_risk_of_who_tells_them(files: Files) -> None:
    found = _found(files)
    smallest = found.evidence.sizes.smallest
    assert smallest is not None
    found.evidence.made["completed"] = 2
    [told] = found.cautions
    assert told.startswith("2 windows may hold counterfeits.")
    assert told.endswith(f"a risk of {1 / smallest:.1%}.")


def test_dates_that_have_passed_are_told(files: Files) -> None:
    found = _found(files)
    day = dt.date.fromisoformat(found.evidence.last[:10])
    told = {}
    for late in (0, 1):
        stated = Statement(valid_until=day - dt.timedelta(late), review_by=day - dt.timedelta(late))
        audit = replace(found.audit, policy=replace(found.audit.policy, release=stated))
        audit = replace(audit, ended=seconds_of(f"{day}T12:00:00Z"))
        told[late] = replace(found, audit=audit).cautions
    assert told[0] == []
    assert [text.split(" (")[1] for text in told[1]] == ["release.valid_until).", "release.review_by)."]


def test_who_was_released_too_often_is_told_and_does_not_hold(files: Files) -> None:
    found = _found(files)
    bounded = replace(found.audit, policy=replace(found.audit.policy, returning=ReturnBound(2, 86_400.0)))
    for times, too_many in ((2, 0), (3, 7)):
        period = ReleasesInPeriod(0.0, 86_400.0, 1, {1: 40, times: 7})
        told = replace(found, audit=bounded, releases=ReleasesFound((period,)))
        assert (told.too_often, told.holds) == (too_many, not too_many)
        document = document_of(told)
        assert ("Somebody was released more often" in statement(document)) is bool(too_many)
        [released] = document["returning"]["releases"]["periods"]
        assert released["people"] == [{"releases": 1, "people": 40}, {"releases": times, "people": 7}]
        rows = [row[1:3] for row in rows_of(report_page(document))]
        assert rows.count([f"{times}", "7"]) == rows.count(["1", "40"]) == 1
        assert f"40 in 1 windows, 7 in {times} windows" in assessment(document)
    assert told.cautions == ["7 people were released more often than privacy.returning allows."]


def test_why_returns_are_not_known_is_told(files: Files) -> None:
    found = _found(files)
    bounded = replace(found.audit, policy=replace(found.audit.policy, returning=ReturnBound(2, 86_400.0)))
    document = document_of(replace(found, audit=bounded, releases=ReleasesFound(unread="x: may not be read")))
    assert "Not known: x: may not be read" in report_page(document)
    assert "is not known: x: may not be read" in assessment(document)


def test_what_is_no_longer_there_is_told(files: Files) -> None:
    found = _found(files)
    since = replace(found.audit.wanted, stretch=AuditScope(since=1e9))
    found = replace(found, audit=replace(found.audit, wanted=since))
    assert _audited(found, begins=1e9) == []
    [told] = _audited(found, begins=1e9 + 86_400)
    assert "from 2001-09-10T01:46:40Z on all are there" in told
    [told] = _audited(found, begins=inf)
    assert "of some partitions none is left" in told
    [records, certificates] = _audited(
        found, removed=Removed(windows=2, records=7, uncertified=9, gaps=1, chains=1)
    )
    assert records.startswith("7 records of 2 windows are no longer there")
    assert certificates.startswith("Of 9 released records the certificate is gone")


def test_an_input_that_began_anew_is_told(files: Files) -> None:
    lives = tuple(Life("visits", name, "-", "-", 1, "b") for name in "abc")
    [told] = _audited(_found(files), lives=lives)
    assert told == "Certificates say that the input visits was created anew 2 times: was it?"


def test_a_population_that_lacks_people_is_told(tmp_path: Path) -> None:
    settings = {
        "privacy": {"k": 3, "individual": "person"},
        "attributes": {
            "person": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 9}},
        },
    }
    visits = [{"person": f"p{number}", "age": age} for number, age in enumerate((1, 1, 1, 1, 8, 8, 8))]
    files = Files(tmp_path, settings, visits)
    counts = tmp_path / "counts.csv"
    counts.write_text("age,count\n1,40\n8,2\n")
    [told] = _found(files, population=counts).cautions
    assert told.startswith("In 1 classes are more people than the population has")
    counts.write_text("age,count\n1,40\n8,3\n")
    found = _found(files, population=counts)
    assert found.cautions == []
    found.evidence.sizes.fitted = 4
    [told] = found.cautions
    assert "known of 4 of 7 people only" in told
