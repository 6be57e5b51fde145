"""`stream-anon families`, and what becomes of what it prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_anon.errors import SettingsError
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import people, write_json_lines, write_policy
from tests.unit.cli.run.test_anonymize import run

ILLNESSES = ["flu", "cold", "stroke", "angina", None]


def _people() -> list[dict[str, Any]]:
    return [{**person, "illness": ILLNESSES[place % 5]} for place, person in enumerate(people(200))]


def _policy(folder: Path, **illness: Any) -> Path:
    return write_policy(folder, privacy={"sensitive": {"illness": illness}} if illness else {"sensitive": {}})


def test_what_is_dealt_can_be_declared_released_and_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", _people())
    assert run(monkeypatch, "families", "-c", _policy(tmp_path), "--input", source, "--invariant", "2") == 0
    told = capsys.readouterr().out
    dealt = yaml.safe_load(told)["illness"]
    assert dealt["invariant"] == 2
    assert sorted(map(len, dealt["families"])) == [2, 3]
    policy = _policy(tmp_path, **dealt)
    released, proof = tmp_path / "out.jsonl", tmp_path / "c.jsonl"
    assert run(monkeypatch, "anonymize", "-c", policy, source, released, "--certificates", proof) == 0
    records = [json.loads(line) for line in released.read_text().splitlines()]
    shown = {record["illness"] for record in records}
    assert len(records) == 200
    assert len(shown) == 2
    assert {value for text in shown for value in text.split("|")} == {"flu", "cold", "stroke", "angina", "null"}
    audit = ("audit", "-c", policy, "--output", released, "--certificates", proof)
    assert run(monkeypatch, *audit) == 0

    records[3]["illness"] = "flu"
    released.write_text("".join(json.dumps(record) + "\n" for record in records))
    capsys.readouterr()
    assert run(monkeypatch, *audit) == 1
    assert "illness" in capsys.readouterr().out


def test_a_value_of_few_people_is_counted_and_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    records = _people()
    records[0]["illness"] = records[1]["illness"] = "something rare"
    source = write_json_lines(tmp_path / "in.jsonl", records)
    assert run(monkeypatch, "families", "-c", _policy(tmp_path), "--input", source) == 0
    told = capsys.readouterr().out
    assert "in no family (1, of 2 people in all)" in told
    assert "rare" not in told


@pytest.mark.parametrize(
    ("arguments", "why"),
    [(["--invariant", "9"], "a family needs 9"), (["--attribute", "age"], "role: sensitive")],
    ids=["too-few-values", "no-sensitive-attribute"],
)
def test_what_cannot_be_dealt_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    why: str,
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", _people())
    assert run(monkeypatch, "families", "-c", _policy(tmp_path), "--input", source, *arguments) == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("illness", "why"),
    [
        ({"invariant": 2}, "both invariant and families"),
        ({"families": [["a", "b"]]}, "both invariant and families"),
        ({"invariant": 3, "families": [["a", "b"]]}, "at least 3 values"),
        ({"invariant": 2, "families": [["a", "b"], ["b", "c"]]}, "twice"),
    ],
    ids=["no-families", "no-number", "small", "twice"],
)
def test_families_that_do_not_fit_the_setting_are_refused(
    tmp_path: Path, illness: dict[str, Any], why: str
) -> None:
    with pytest.raises(SettingsError, match=why):
        load_policy(_policy(tmp_path, **illness))


def test_families_need_a_sensitive_attribute(tmp_path: Path) -> None:
    families = {"invariant": 2, "families": [["a", "b"]]}
    with pytest.raises(SettingsError, match="role: sensitive"):
        load_policy(write_policy(tmp_path, privacy={"sensitive": {"visits": families}}))
