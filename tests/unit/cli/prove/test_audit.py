"""The command `anonymize` and then `audit`, on files of every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from stream_anon.audit.verdict import Kind
from tests.support.audited_files import SETTINGS, visits
from tests.support.commands import FileRun, audited, run
from tests.support.data import ROOT, shared_data
from tests.support.policies import people, write_document, write_policy


def _policy_of(folder: Path, attributes: dict[str, Any]) -> Path:
    """Write a policy for 3 people and windows of 200 records."""
    privacy, window = {"k": 3, "individual": "person"}, {"max_records": 200}
    return write_document(folder, {"privacy": privacy, "window": window, "attributes": attributes})


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_what_anonymize_writes_passes_the_audit_until_it_is_changed(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    files = FileRun(write_document(tmp_path, SETTINGS), visits(700))
    files.output = tmp_path / f"out{suffix}"
    assert files.anonymize() == 0
    capsys.readouterr()
    assert files.audit() == 0
    assert "no violation found" in capsys.readouterr().out

    changed = files.output.read_text().replace('"min":', '"Min":').replace('""min"":', '""Min"":')
    files.output.write_text(changed)
    assert files.audit() == 1
    text = capsys.readouterr().out
    document, certificate, *_ = files.parts
    assert certificate["promises"] == document["promises"]
    assert certificate["batch"] in text
    assert Kind.UNCERTIFIED_CLASS.value in text


def test_the_last_line_names_what_was_asked_and_what_holds_and_the_code_says_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = FileRun(write_policy(tmp_path), people(200))
    assert files.anonymize() == 0
    least = min(one["achieved"]["k"] for one in files.parts if "achieved" in one)
    holds, short = f"every class has at least {least}", "what was asked does not hold"
    for options, code, words in (
        ((), 0, f"no violation found: {holds} individuals; its policy asks for k 3"),
        (("--k", least), 0, f"no violation found: k {least} was asked; {holds} individuals"),
        (("--k", least + 1), 1, f"k {least + 1} was asked; {holds}, and its own policy asked for k 3: {short}"),
    ):
        capsys.readouterr()
        assert files.audit(*options) == code
        assert capsys.readouterr().out.splitlines()[-1] == words
    files.output.write_text("".join(files.output.read_text().splitlines(keepends=True)[1:]))
    assert files.audit("--k", least + 1) == 1
    assert f"k {least + 1} was asked" in capsys.readouterr().out.splitlines()[-1]


def _sorted_by_age(criteria: dict[str, Any], folder: Path) -> FileRun:
    """Release people of whom the young have cancer and the old the flu, so that ages tell illnesses."""
    policy = write_policy(folder, privacy={"sensitive": criteria})
    records = people(40)
    for number, record in enumerate(records):
        record["age"], record["illness"] = (20 + number % 4, "cancer") if number < 20 else (80 + number % 4, "flu")
        record["home"], record["visits"] = {"city": "Oslo"}, 1
    files = FileRun(policy, records)
    assert files.anonymize() == 0
    return files


def test_classes_of_one_illness_each_are_warned_of_and_are_no_violation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    files = _sorted_by_age({}, tmp_path)
    capsys.readouterr()
    assert files.audit() == 0
    out = capsys.readouterr().out
    told = "warning: illness: 40 of 40 records are in classes whose records all have one value, which is known of"
    assert told in " ".join(out.split())
    assert "1.00 (100.0%)" in out
    assert "no violation found" in out
    assert "cancer" not in out
    assert "flu" not in out


def test_figures_of_what_classes_give_away_stand_in_the_report_and_fit_its_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = _sorted_by_age({"illness": {"distinct_l": 2}}, tmp_path)
    capsys.readouterr()
    assert files.audit("--json") == 0
    report = json.loads(capsys.readouterr().out)
    schema = json.loads((ROOT / "schemas" / "audit.schema.json").read_text())
    Draft202012Validator(schema).validate(report)
    (found,) = report["sensitive"]
    assert (found["attribute"], found["records"], found["alike"]) == ("illness", 40, 0)
    assert found["guess"] <= found["worst"]["share"] < 1
    assert 0 <= found["told"] < found["bits"] <= 1
    assert files.audit() == 0
    assert "warning:" not in capsys.readouterr().out


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_networks_are_published_and_read_back_by_an_audit(suffix: str, tmp_path: Path) -> None:
    attributes = {
        "person": {"role": "identifier"},
        "ip": {"role": "quasi-identifier", "ip": {"version": 4}},
        "office": {"role": "quasi-identifier", "ip": {"version": 4, "prefixes": [24, 28], "within": "10.0.0.0/16"}},
        "host": {"role": "quasi-identifier", "ip": {"version": 6}, "unknown": "root"},
    }
    draws = np.random.default_rng(7)
    records = [
        {
            "person": f"p{i}",
            "ip": f"{a % 3 + 10}.{b % 4}.{c}.{d}" if i % 2 else f"::ffff:{a % 3 + 10}.{b % 4}.{c}.{d}",
            "office": f"10.0.{a % 2}.{b % 8}",
            "host": "::1" if i % 50 == 0 else f"2001:{'DB8' if i % 3 else 'db8'}:{c:x}::{d:x}",
        }
        for i, (a, b, c, d) in enumerate(draws.integers(0, 256, (400, 4)).tolist())
    ]
    files = FileRun(_policy_of(tmp_path, attributes), records, suffix)
    assert files.anonymize() == 0
    text, rows = files.output.read_text(), files.released
    assert len(rows) == 400
    assert {row["ip"].rpartition("/")[2] for row in rows} <= {"*", "8", "16", "24"}
    assert any(row["office"].count(".") == 3 and "/" not in row["office"] for row in rows)
    assert any(row["host"] == "2001:db8::/32" for row in rows)
    assert files.audit() == 0
    files.output.write_text(text.replace("2001:db8::/32", "2001:DB8::/32"))
    assert files.audit() == 1


def test_the_census_as_csv_passes_the_audit(tmp_path: Path) -> None:
    folder = shared_data("arx-adult")
    names = folder.joinpath("adult.csv").read_text().partition("\n")[0].split(";")
    attributes: dict[str, Any] = {"salary-class": {"role": "sensitive"}}
    for name in names:
        if name not in ("salary-class", "age"):
            hierarchy = folder / "hierarchies" / f"adult_hierarchy_{name}.csv"
            attributes[name] = {"role": "quasi-identifier", "hierarchy": str(hierarchy)}
    attributes["age"] = {"role": "quasi-identifier", "numeric": {"min": 17, "max": 90}}
    privacy = {"k": 10, "individual": "every-record", "sensitive": {"salary-class": {"distinct_l": 2}}}
    policy = write_document(tmp_path, {"privacy": privacy, "attributes": attributes})
    target, proof = tmp_path / "out.csv", tmp_path / "certificates.jsonl"
    assert run("anonymize", "-c", policy, folder / "adult.csv", target, "--certificates", proof) == 0
    assert audited(policy, target, proof) == 0


def test_an_audit_of_nothing_is_refused(tmp_path: Path) -> None:
    policy = write_policy(tmp_path)
    assert audited(policy, tmp_path / "out.jsonl", tmp_path / "certificates.jsonl") == 2
    assert run("audit", "-c", policy) == 2
    assert run("audit") == 2
    assert run("audit", "--config", policy) == 2  # it has no section kafka


def test_windows_of_another_k_are_judged_under_their_own_and_the_change_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = FileRun(write_policy(tmp_path), people(120))
    assert files.anonymize("--k", 2) == 0
    capsys.readouterr()
    assert files.audit() == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "the settings file promises otherwise" in text
    assert "stronger: privacy.k" in text


def test_an_audit_with_the_options_of_anonymize_compares_with_what_they_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    files = FileRun(write_policy(tmp_path), people(120))
    options = ("--k", 2, "--max-records", 60, "--engine", "mondrian", "--seed", 5)
    assert files.anonymize(*options) == 0
    capsys.readouterr()
    assert files.audit(*options) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "with privacy.k: 2, window.max_records: 60, engine.name: mondrian, engine.seed: 5" in text
    assert "promises otherwise" not in text
    assert files.audit("--k", 2, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    Draft202012Validator(json.loads((ROOT / "schemas" / "audit.schema.json").read_text())).validate(report)
    assert report["overrides"] == {"privacy": {"k": 2}}
    assert report["policy"]["k"] == 2
    assert report["pending"] is None
    assert report["asked"] == {"k": 2, "least": 2, "holds": True}
    assert files.audit("--k", 5, "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["pending"]["stronger"] == ["privacy.k"]
    assert report["clean"]
    assert report["asked"] == {"k": 5, "least": 2, "holds": False}
    assert files.audit("--k", 1) == 2


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_ranges_and_words_are_published_and_read_back_by_an_audit(suffix: str, tmp_path: Path) -> None:
    wards = [f"house {house} floor {floor} room {room}" for house in "ab" for floor in "123" for room in "123"]
    attributes: dict[str, Any] = {
        "person": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 120, "cuts": [18, 30, 45, 65]}},
        "height": {"role": "quasi-identifier", "numeric": {"min": 0.5, "max": 2.5, "step": 0.1, "cuts": [1, 1.7]}},
        "weight": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 5000, "ranges": 9, "arity": 3}},
        "ward": {"role": "quasi-identifier", "hierarchy": {"texts": wards}},
    }
    draws = np.random.default_rng(3)
    records = [
        {"person": f"p{i}", "age": age % 90, "height": 0.6 + age % 19 / 10, "weight": age, "ward": wards[age % 18]}
        for i, age in enumerate(draws.integers(0, 5000, 400).tolist())
    ]
    files = FileRun(_policy_of(tmp_path, attributes), records, suffix)
    assert files.anonymize() == 0
    text, rows = files.output.read_text(), files.released
    assert len(rows) == 400
    ages = {age if isinstance(age, str) else json.dumps(age) for age in (row["age"] for row in rows)}
    assert any('"min": 30' in age or '"min":30' in age for age in ages)
    assert any(row["ward"].startswith("house a floor") and "room" not in row["ward"] for row in rows)
    assert files.audit() == 0
    files.output.write_text(text.replace("house a floor", "house a flat"))
    assert files.audit() == 1


@pytest.mark.parametrize("given", [("--config", "--output"), ("--config", "--certificates"), ("--output",), ()])
def test_an_audit_names_the_option_that_it_lacks(
    given: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write_policy(tmp_path)
    assert run("audit", *(each for option in given for each in (option, policy))) == 2
    lacks = next(each for each in ("--config", "--output", "--certificates") if each not in given)
    assert f"give {lacks}" in capsys.readouterr().err
