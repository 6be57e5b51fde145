"""The command `plan` on files: its table, its answer, its JSON and its picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from stream_anon import extras
from tests.support.commands import run
from tests.support.data import ROOT
from tests.support.policies import people, write_json_lines, write_policy


def _files(folder: Path) -> tuple[Path, Path]:
    return write_policy(folder), write_json_lines(folder / "in.jsonl", people(500))


def test_a_plan_is_a_table_an_answer_and_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy, source = _files(tmp_path)
    document = tmp_path / "plan.json"
    command = ["plan", policy, "--input", source, "--rate", "50/s", "--k", "3,5", "--records", "50,100,9000"]
    command += ["--engine", "mondrian", "--window-delay", "60s", "--json", document]
    assert run(*command, "--max-delay", "1500ms", "--max-suppressed", "50%") == 0
    text = capsys.readouterr().out
    assert "500 records at 50 a second, evenly spaced" in text
    assert "Asked: a delay of at most 1.5 s, at most 50% suppressed" in text
    assert "k 3: engine: {name: mondrian}, window: {max_records: 50, max_delay: 60s}" in text
    assert "the sample is too short: 500 records in 10.0 s fill no window of 9,000 records or 60 s" in text
    found = json.loads(document.read_text())
    Draft202012Validator(json.loads((ROOT / "schemas" / "plan.schema.json").read_text())).validate(found)
    assert [(one["k"], one["max_records"]) for one in found["settings"]] == [
        (k, most) for k in (3, 5) for most in (50, 100, 9000)
    ]
    assert found["settings"][0]["figures"]["windows"] == 10
    assert found["settings"][0]["figures"]["longest_delay"] == pytest.approx(49 / 50)
    assert found["settings"][2]["figures"] is None
    assert found["answers"] == [{"k": 3, "l": None, "setting": 0}, {"k": 5, "l": None, "setting": 3}]
    assert found["sample"] == {
        "records": 500,
        "rejected": 0,
        "rate": 50.0,
        "timestamps": False,
        "record_bytes": None,
    }
    assert found["sizes"] == []
    assert "Sizing" not in text


def test_with_the_length_of_a_record_the_plan_says_how_many_workers_are_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, source = _files(tmp_path)
    document = tmp_path / "plan.json"
    command = ["plan", policy, "--input", source, "--rate", "200000/s", "--record-bytes", "1KB", "--json", document]
    assert run(*command, "--records", "50,100", "--engine", "mondrian") == 0
    text = capsys.readouterr().out
    found = json.loads(document.read_text())
    Draft202012Validator(json.loads((ROOT / "schemas" / "plan.schema.json").read_text())).validate(found)
    assert "Sizing, for records of 1,000 bytes" in text
    assert [size["max_records"] for size in found["sizes"]] == [50, 100]
    for size in found["sizes"]:
        line = f"windows of {size['max_records']}: {size['workers']:,} workers with {size['memory']} MB"
        assert line in text


def test_limits_that_nothing_meets_end_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy, source = _files(tmp_path)
    command = ["plan", policy, "--input", source, "--rate", "50/s", "--records", "50", "--engine", "mondrian"]
    assert run(*command, "--max-loss", "0%") == 1
    assert "no setting that was tried meets it" in capsys.readouterr().out
    assert run(*command) == 0


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--rate", "often"], "--rate"),
        ([], "--rate"),
        (["--rate", "5/s", "--record-bytes", "large"], "--record-bytes"),
        (["--rate", "5/s", "--k", "1"], "--k"),
        (["--rate", "5/s", "--k", "x"], "--k"),
        (["--rate", "5/s", "--engine", "fast"], "--engine"),
        (["--rate", "5/s", "--records", "0"], "--records"),
        (["--rate", "5/s", "--window-delay", "soon"], "--window-delay"),
        (["--rate", "5/s", "--max-delay", "0s"], "--max-delay"),
        (["--rate", "5/s", "--max-loss", "0.2"], "--max-loss"),
        (["--rate", "5/s", "--max-suppressed", "120%"], "--max-suppressed"),
    ],
)
def test_an_option_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], word: str
) -> None:
    policy, source = _files(tmp_path)
    assert run("plan", policy, "--input", source, *options) == 2
    assert word in capsys.readouterr().err


def test_a_plan_needs_a_policy_and_a_sample(tmp_path: Path) -> None:
    policy, source = _files(tmp_path)
    assert run("plan", "--input", source, "--rate", "5/s") == 2
    assert run("plan", policy, "--rate", "5/s") == 2


def test_a_picture_without_matplotlib_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, source = _files(tmp_path)
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    command = ("plan", policy, "--input", source, "--rate", "50/s", "--svg", tmp_path / "plan.svg")
    assert run(*command) == 2
    assert "pip install matplotlib" in capsys.readouterr().err
    assert not (tmp_path / "plan.svg").exists()


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    policy, source = _files(tmp_path)
    command = ["plan", policy, "--input", source, "--rate", "50/s", "--records", "50,100", "--engine", "mondrian"]
    assert run(*command, "--svg", tmp_path / "plan.svg") == 0
    assert (tmp_path / "plan.svg").read_bytes().startswith(b"<?xml")
