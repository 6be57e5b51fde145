"""`stream-anon utility` with classifiers: the tables, JSON by its schema, the page, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from stream_anon import extras
from stream_anon.operations.utility import classifiers
from tests.support.commands import run
from tests.support.data import ROOT
from tests.unit.operations.utility.test_classifier_scores import Hurried, files

SCHEMA = json.loads((ROOT / "schemas" / "utility.schema.json").read_text())


def _one_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    monkeypatch.setattr(classifiers, "CLASSIFIERS", {"decision tree": classifiers.CLASSIFIERS["decision tree"]})
    monkeypatch.setattr("stream_anon.cli.decide.utility.CLASSIFIERS", classifiers.CLASSIFIERS)


def test_classifiers_are_shown_in_tables_in_json_by_the_schema_and_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _one_classifier(monkeypatch)
    policy, source, test, outputs = files(tmp_path)
    page = tmp_path / "page.html"
    asked = ("utility", source, *outputs, "-c", policy, "--label", "illness", "--test", test)
    assert run(*asked, "--html", page) == 0
    out = capsys.readouterr().out
    assert "decision tree" in out
    assert "(100%)" in out
    assert not any(value in out for value in ("Oslo", "north", "flu"))
    assert "Accuracy of classifiers for illness" in page.read_text()
    assert run(*asked, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert Draft202012Validator(SCHEMA).is_valid(document)
    assert document["learning"]["tested"] == 100
    (only,) = document["learning"]["classifiers"]
    assert only["releases"][0] == {"accuracy": 1.0, "rows": 300, "available": 300}
    assert document["releases"][0]["label"]["classification_loss"] == 0
    # The city tells the label and is kept; by chance ages told a little of it, and that is lost.
    assert document["releases"][0]["label"]["pair_information"] == pytest.approx(1)
    assert 0.5 < document["releases"][0]["label"]["information"] < 1


def test_figures_of_classifiers_that_time_kept_from_records_are_marked_in_the_table_and_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _one_classifier(monkeypatch)
    policy, source, test, outputs = files(tmp_path)
    monkeypatch.setattr("stream_anon.cli.decide.utility.SystemClock", Hurried)
    page = tmp_path / "page.html"
    asked = ("utility", source, *outputs, "-c", policy, "--label", "illness", "--test", test, "--seconds", "0.3")
    assert run(*asked, "--html", page) == 0
    out, written = capsys.readouterr().out, page.read_text()
    (row,) = (line for line in out.splitlines() if line.startswith("decision tree"))
    assert row.count(" *") == 3, "the original and both releases"
    assert "* Trained on fewer records than there are (4 of 300): 0.3 s did not suffice" in " ".join(out.split())
    assert written.count(" *</span></td>") == 3 + 2
    assert "* Trained on fewer records than there are" in written


def test_without_a_label_the_figures_fit_the_schema_and_scikit_learn_is_not_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, source, _, outputs = files(tmp_path)
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    assert run("utility", source, *outputs, "-c", policy, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert Draft202012Validator(SCHEMA).is_valid(document)
    assert not Draft202012Validator(SCHEMA).is_valid(document | {"value": "Oslo"})
    assert document["learning"] is None
    assert {each["name"] for each in document["releases"][0]["attributes"]} == {"age", "home.city"}


def test_a_label_without_scikit_learn_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, source, _, outputs = files(tmp_path)
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    assert run("utility", source, *outputs, "-c", policy, "--label", "illness") == 2
    assert "pip install scikit-learn" in capsys.readouterr().err


def test_a_label_of_eight_records_is_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy, source, _, outputs = files(tmp_path)
    for path in (source, outputs[0]):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:8]))
    asked = ("utility", source, outputs[0], "-c", policy)
    assert run(*asked, "--label", "illness") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "8 records" in told
    assert "too few for --label: classifiers need 20 records" in told
    assert run(*asked) == 0, "the other measures need no label"


@pytest.mark.parametrize("option", [("--test", "test.jsonl"), ("--search",)])
def test_options_of_classifiers_need_a_label(
    option: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, source, _, outputs = files(tmp_path)
    assert run("utility", source, *outputs, "-c", policy, *option) == 2
    assert f"{option[0]}: needs --label NAME" in capsys.readouterr().err
