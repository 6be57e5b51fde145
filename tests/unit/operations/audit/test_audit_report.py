"""The report of an audit: what a program reads, and what Prometheus does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from prometheus_client.parser import text_string_to_metric_families

from stream_anon.audit.digests.comparing import Uncompared
from stream_anon.audit.verdict import Kind
from stream_anon.errors import SettingsError
from stream_anon.operations.audit.audit_report import as_json, name_of
from stream_anon.operations.audit.auditing import audit_files, moment_of
from tests.support.audited_files import SETTINGS, Files, visits
from tests.support.commands import run
from tests.support.data import ROOT

NOW = 1_715_587_200.0  # 2024-05-13T08:00:00Z


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("made"), SETTINGS, visits(400))


def _schema() -> Draft202012Validator:
    return Draft202012Validator(json.loads((ROOT / "schemas" / "audit.schema.json").read_text()))


def _audit(files: Files, *more: object) -> int:
    given = ("-c", files.policy_path, "--output", files.output, "--certificates", files.certificates)
    return run("audit", *given, *more)


def _broken(files: Files) -> None:
    record = json.loads(files.lines[5])
    files.lines[5] = json.dumps(record | {"person": "Mrs Smith"}).encode()
    files.write()


def test_the_report_as_json_fits_its_schema(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    changed: dict[str, Any] = SETTINGS | {"privacy": SETTINGS["privacy"] | {"k": 3}}
    for broken in (False, True):
        if broken:
            _broken(files)
            files.policy_path.write_text(yaml.safe_dump(changed, sort_keys=False))
        capsys.readouterr()
        assert _audit(files, "--json") == int(broken)
        text = capsys.readouterr().out
        report = json.loads(text)
        assert list(_schema().iter_errors(report)) == []
        assert report["clean"] is not broken
        assert "Smith" not in text
        assert report["subject"] == str(files.output)
        assert [policy["k"] for policy in report["policies"]] == [4]
    assert report["kinds"] == {"identifying-field": 1}
    assert report["violations"][0]["attribute"] == "person"
    assert report["pending"]["weaker"] == ["privacy.k was 4 and would fall to 3"]


def test_every_kind_of_violation_and_every_reason_has_a_name_in_the_schema() -> None:
    assert _schema().schema["properties"]["kinds"]["propertyNames"]["enum"] == [name_of(kind) for kind in Kind]
    reasons = _schema().schema["properties"]["uncompared"]["propertyNames"]["enum"]
    assert reasons == [name_of(reason) for reason in Uncompared]


def test_the_figures_are_read_by_prometheus(files: Files, tmp_path: Path) -> None:
    target = tmp_path / "stream_anon.prom"
    for broken in (False, True):
        if broken:
            _broken(files)
        assert _audit(files, "--metrics", target) == int(broken)
        families = text_string_to_metric_families(target.read_text())
        samples = {(s.name, s.labels.get("kind")): s for family in families for s in family.samples}
        assert samples["stream_anon_audit_success", None].value == float(not broken)
        assert samples["stream_anon_audit_windows", None].value == 2
        assert samples["stream_anon_audit_violations", "identifying-field"].value == float(broken)
        assert samples["stream_anon_audit_violations", "gap"].value == 0
        assert {s.labels["subject"] for s in samples.values()} == {str(files.output)}
        assert samples["stream_anon_audit_last_run_timestamp_seconds", None].value > NOW
        page = (ROOT / "docs" / "explain" / "audit.md").read_text()
        for name, _ in samples:
            assert name.removeprefix("stream_anon_audit") in page


def test_a_file_of_figures_that_cannot_be_written_is_an_error(files: Files, tmp_path: Path) -> None:
    assert _audit(files, "--metrics", tmp_path / "nowhere" / "a.prom") == 2


def test_one_batch_and_one_stretch_are_audited(files: Files) -> None:
    _broken(files)
    first, second = (json.loads(part)["batch"] for part in files.parts)
    assert _audit(files, "--batch", first) == 1
    assert _audit(files, "--batch", second) == 0
    assert _audit(files, "--batch", "ff") == 2
    assert _audit(files, "--since", "2999-01-01") == 0
    assert _audit(files, "--since", "7d") == 1
    assert _audit(files, "--since", "soon") == 2


def test_a_report_says_what_was_asked(files: Files) -> None:
    report = as_json(audit_files(files.policy_path, files.output, files.certificates))
    assert (report["since"], report["batch"]) == (None, None)
    assert report["policy"]["promises"] == report["policies"][0]["promises"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-05-13T07:00:00Z", NOW - 3600),
        ("2024-05-13T09:00:00+02:00", NOW - 3600),
        ("2024-05-13T07:00:00", NOW - 3600),
        ("2024-05-13", NOW - 8 * 3600),
        ("90m", NOW - 5400),
        ("36h", NOW - 36 * 3600),
        ("7d", NOW - 7 * 86_400),
    ],
)
def test_since_is_a_time_a_day_or_how_long_ago(text: str, seconds: float) -> None:
    assert moment_of("--since", text, NOW) == seconds


@pytest.mark.parametrize(
    "text", ["", "soon", "7", "-1h", "2024-02-30", "99999999d", "999999d", "9999-12-31T23:59:59-10:00"]
)
def test_since_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="--since"):
        moment_of("--since", text, NOW)
