"""The commands `anonymize` and `audit` one after the other, on files of every format."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from stream_anon.audit.verdict import Kind
from tests.support.data import shared_data
from tests.support.policies import people, write_json_lines, write_policy
from tests.unit.cli.run.test_anonymize import run
from tests.unit.operations.audit.test_auditing import SETTINGS, _visits


def _audit(monkeypatch: pytest.MonkeyPatch, policy: Path, target: Path, proof: Path) -> int:
    return run(monkeypatch, "audit", "--policy", policy, "--output", target, "--certificates", proof)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_what_anonymize_writes_is_accused(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    policy = tmp_path / "policy.yaml"
    policy.write_text(yaml.safe_dump(SETTINGS, sort_keys=False))
    source = write_json_lines(tmp_path / "in.jsonl", _visits(700))
    target, proof = tmp_path / f"out{suffix}", tmp_path / "certificates.jsonl"
    assert run(monkeypatch, "anonymize", policy, source, target, "--certificates", proof) == 0
    capsys.readouterr()
    assert _audit(monkeypatch, policy, target, proof) == 0
    assert "no violation found" in capsys.readouterr().out

    target.write_text(target.read_text().replace('"min":', '"Min":').replace('""min"":', '""Min"":'))
    assert _audit(monkeypatch, policy, target, proof) == 1
    text = capsys.readouterr().out
    document, certificate = map(json.loads, proof.read_text().splitlines()[:2])
    assert certificate["promises"] == document["promises"]
    assert certificate["batch"] in text
    assert Kind.UNCERTIFIED_CLASS.value in text


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_networks_are_published_and_read_back_by_an_audit(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attributes = {
        "person": {"role": "identifier"},
        "ip": {"role": "quasi-identifier", "ip": {"version": 4}},
        "office": {"role": "quasi-identifier", "ip": {"version": 4, "prefixes": [24, 28], "within": "10.0.0.0/16"}},
        "host": {"role": "quasi-identifier", "ip": {"version": 6}, "unknown": "root"},
    }
    document = {
        "privacy": {"k": 3, "individual": "person"},
        "window": {"max_records": 200},
        "attributes": attributes,
    }
    policy = tmp_path / "policy.yaml"
    policy.write_text(yaml.safe_dump(document, sort_keys=False))
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
    source = tmp_path / f"in{suffix}"
    if suffix == ".csv":
        with source.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(attributes))
            writer.writeheader()
            writer.writerows(records)
    else:
        write_json_lines(source, records)
    target, proof = tmp_path / f"out{suffix}", tmp_path / "certificates.jsonl"
    assert run(monkeypatch, "anonymize", policy, source, target, "--certificates", proof) == 0
    text = target.read_text()
    rows = list(csv.DictReader(text.splitlines())) if suffix == ".csv" else [*map(json.loads, text.splitlines())]
    assert len(rows) == 400
    assert {row["ip"].rpartition("/")[2] for row in rows} <= {"*", "8", "16", "24"}
    assert any(row["office"].count(".") == 3 and "/" not in row["office"] for row in rows)
    assert any(row["host"] == "2001:db8::/32" for row in rows)
    assert _audit(monkeypatch, policy, target, proof) == 0
    target.write_text(text.replace("2001:db8::/32", "2001:DB8::/32"))
    assert _audit(monkeypatch, policy, target, proof) == 1


def test_adult_as_csv_is_accused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shared_data("arx-adult")
    names = folder.joinpath("adult.csv").read_text().partition("\n")[0].split(";")
    attributes: dict[str, Any] = {"salary-class": {"role": "sensitive"}}
    for name in names:
        if name not in ("salary-class", "age"):
            hierarchy = folder / "hierarchies" / f"adult_hierarchy_{name}.csv"
            attributes[name] = {"role": "quasi-identifier", "hierarchy": str(hierarchy)}
    attributes["age"] = {"role": "quasi-identifier", "numeric": {"min": 17, "max": 90}}
    policy = tmp_path / "policy.yaml"
    privacy = {"k": 10, "individual": "every-record", "sensitive": {"salary-class": {"distinct_l": 2}}}
    policy.write_text(yaml.safe_dump({"privacy": privacy, "attributes": attributes}, sort_keys=False))
    target, proof = tmp_path / "out.csv", tmp_path / "certificates.jsonl"
    assert run(monkeypatch, "anonymize", policy, folder / "adult.csv", target, "--certificates", proof) == 0
    assert _audit(monkeypatch, policy, target, proof) == 0


def test_an_audit_of_nothing_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = write_policy(tmp_path)
    assert _audit(monkeypatch, policy, tmp_path / "out.jsonl", tmp_path / "certificates.jsonl") == 2
    assert run(monkeypatch, "audit", "--policy", policy) == 2
    assert run(monkeypatch, "audit") == 2
    assert run(monkeypatch, "audit", "--config", policy) == 2  # it has no section kafka


def test_windows_of_another_k_are_judged_under_their_own_and_the_change_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write_policy(tmp_path)
    source = write_json_lines(tmp_path / "in.jsonl", people(120))
    target, proof = tmp_path / "out.jsonl", tmp_path / "certificates.jsonl"
    arguments = ("anonymize", policy, source, target, "--certificates", proof, "--k", 2)
    assert run(monkeypatch, *arguments) == 0
    capsys.readouterr()
    assert _audit(monkeypatch, policy, target, proof) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "the settings file promises otherwise" in text
    assert "stronger: privacy.k" in text
