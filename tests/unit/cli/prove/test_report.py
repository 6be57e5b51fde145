"""`stream-anon report`: what it writes fits its schema, is signed, and its exit code tells whether it holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.support.commands import run
from tests.support.data import ROOT
from tests.support.fullest import full_report
from tests.unit.cli.prove.test_signing_key import Signed

SCHEMA = Draft202012Validator(json.loads((ROOT / "schemas" / "report.schema.json").read_text()))


@pytest.fixture
def signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Signed:
    monkeypatch.setenv("COLUMNS", "200")
    return Signed(tmp_path, "--by-arrival")


def _report(signed: Signed, *more: object) -> int:
    files = ("--output", signed.output, "--certificates", signed.certificates)
    return run("report", "-c", signed.policy, *files, *more)


def test_a_report_is_written_and_signed(signed: Signed, capsys: pytest.CaptureFixture[str]) -> None:
    paths = {name: signed.folder / f"report.{name}" for name in ("json", "html", "dpia")}
    options = [each for name, path in paths.items() for each in (f"--{name}", path)]
    capsys.readouterr()
    key, public = signed.folder / "sign.key", signed.folder / "1.pub"
    assert _report(signed, *options, "--sign-key", key, "--public-key", public) == 0
    text = capsys.readouterr().out
    assert "no violation found" in text
    assert "prosecutor" in text
    told = json.loads(paths["json"].read_text())
    SCHEMA.validate(told)
    assert told["holds"]
    assert told["audit"]["counts"]["signed"] == told["records"]["windows"] == 4
    assert paths["html"].read_text().startswith("<!doctype html>")
    for path in paths.values():
        assert run("verify", path, "--public-key", public) == 0
        assert run("verify", path, "--public-key", signed.folder / "2.pub") == 1
    paths["json"].write_text(json.dumps(told | {"holds": False}))
    capsys.readouterr()
    assert run("verify", paths["json"], "--public-key", public) == 1
    assert "somebody changed" in capsys.readouterr().err


def test_a_risk_above_the_threshold_ends_with_1(signed: Signed, capsys: pytest.CaptureFixture[str]) -> None:
    assert _report(signed, "--max-risk", "0.01") == 1
    assert "a risk is above 1%" in capsys.readouterr().out


def test_a_violation_ends_with_1(signed: Signed, capsys: pytest.CaptureFixture[str]) -> None:
    lines = signed.output.read_text().splitlines()
    signed.output.write_text("\n".join(lines[1:]) + "\n")
    assert _report(signed) == 1
    assert "stream-anon audit lists them" in capsys.readouterr().out


def test_the_period_is_asked_for_in_the_words_of_the_audit(
    signed: Signed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _report(signed, "--to", "1h", "--json", signed.folder / "r.json") == 0
    assert json.loads((signed.folder / "r.json").read_text())["records"]["windows"] == 0
    assert _report(signed, "--from", "2024-05-02", "--to", "2024-05-01") == 2
    assert "--to must be after --from" in capsys.readouterr().err.replace(":", "")
    assert _report(signed, "--from", "yesterday") == 2


def test_a_report_writes_over_nothing_that_it_reads_or_writes(
    signed: Signed, capsys: pytest.CaptureFixture[str]
) -> None:
    """An audit of a month is long, and certificates cannot be made again: this is refused before."""
    before = signed.certificates.read_bytes()
    same = signed.folder / "report"
    for options in (
        ("--json", signed.certificates),
        ("--html", signed.policy),
        ("--json", same, "--html", same),
        ("--json", same, "--html", f"{same}.sig"),
        ("--original", same, "--json", same),
        ("--json", signed.folder / "nowhere" / "report.json"),
    ):
        capsys.readouterr()
        assert _report(signed, *options) == 2, options
        assert "report" in capsys.readouterr().err
    assert signed.certificates.read_bytes() == before
    assert not same.exists()


def test_a_key_that_would_sign_nothing_is_refused(signed: Signed, capsys: pytest.CaptureFixture[str]) -> None:
    assert _report(signed, "--sign-key", signed.folder / "sign.key") == 2
    assert "--sign-key" in capsys.readouterr().err


def test_a_report_takes_the_keys_of_an_audit(signed: Signed, capsys: pytest.CaptureFixture[str]) -> None:
    key = signed.folder / "digest.key"
    key.write_text("short")
    capsys.readouterr()
    assert _report(signed, "--digest-key", key) == 2
    assert "digest" in capsys.readouterr().err
    assert _report(signed, "--former-input", "visits") == 0


@pytest.mark.parametrize("risk", ["0", "nan", "2"])
def test_a_threshold_that_is_none_is_refused(risk: str, signed: Signed, capsys: pytest.CaptureFixture[str]) -> None:
    assert _report(signed, "--max-risk", risk) == 2
    assert "--max-risk" in capsys.readouterr().err


def test_an_empty_period_is_said_to_show_nothing(signed: Signed, capsys: pytest.CaptureFixture[str]) -> None:
    assert _report(signed, "--to", "2001-01-01") == 0
    assert "No window closed in this period" in " ".join(capsys.readouterr().out.split())


def test_files_need_their_certificates(signed: Signed, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("report", "-c", signed.policy, "--output", signed.output) == 2
    assert "--certificates" in capsys.readouterr().err


def test_the_longest_report_fits_its_schema(tmp_path: Path) -> None:
    SCHEMA.validate(full_report(tmp_path))
