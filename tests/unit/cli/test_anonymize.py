from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from stream_anon.cli import main as cli
from tests.support.data import shared_data
from tests.support.policies import people, write_document, write_json_lines, write_policy


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["stream-anon", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return int(left.value.code or 0)


def test_output_report_and_certificates_disagree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = write_policy(tmp_path)
    records = people(120)
    records[3]["home"] = {"city": "Atlantis"}
    source = write_json_lines(tmp_path / "in.jsonl", records)
    target, proof, report = tmp_path / "out.jsonl", tmp_path / "c.jsonl", tmp_path / "r.json"
    code = run(
        monkeypatch, "anonymize", policy, source, target, "--certificates", proof, "--report", report, "--k", 4
    )
    assert code == 0
    released = [json.loads(line) for line in target.read_text().splitlines()]
    told = json.loads(report.read_text())
    document, *certificates = [json.loads(line) for line in proof.read_text().splitlines()]
    assert {c["promises"] for c in certificates} == {document["promises"]}
    assert told["records_in"] == 120
    assert told["released"] == len(released) == sum(c["released"] for c in certificates)
    assert told["rejected"] == {"unknown-value": 1}
    assert told["windows"] == len(certificates) == 3
    assert told["classes"] == sum(len(c["classes"]) for c in certificates)
    assert told["achieved_k"] == min(c["achieved"]["k"] for c in certificates) >= 4
    assert 0 < told["gcp"] < 1
    assert told["seconds"] > 0
    assert told["engine"] == "forest"
    assert all(c["asked"]["k"] == 4 for c in certificates)


def test_csv_loses_records_or_publishes_small_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = write_policy(tmp_path)
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    with source.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["person", "age", "home.city", "visits", "illness", "secret"])
        for record in people(90):
            writer.writerow(
                [record["person"], record["age"], record["home"]["city"], record["visits"], record["illness"], "x"]
            )
    assert run(monkeypatch, "anonymize", policy, source, target) == 0
    rows = list(csv.reader(target.read_text().splitlines(), delimiter=";"))
    assert rows[0] == ["age", "home.city", "visits", "illness"]
    assert len(rows) == 91
    assert min(Counter(tuple(row[:2]) for row in rows[1:51]).values()) >= 3


def test_standard_streams_are_not_json_lines(tmp_path: Path) -> None:
    policy = write_policy(tmp_path)
    lines = "".join(json.dumps(record) + "\n" for record in people(60))
    done = subprocess.run(
        [sys.executable, "-m", "stream_anon.cli.main", "anonymize", str(policy), "-", "-"],
        input=lines, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert len([json.loads(line) for line in done.stdout.splitlines()]) == 60
    assert "60 released" in done.stderr


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"privacy": {"k": 1}}, "privacy.k"),
        ({"privacy": {"kk": 3}}, "privacy.kk"),
        ({"window": {"max_records": 2}}, "window.max_records"),
        ({"attributes": {"shoe": {"numeric": {"min": 1, "max": 9}}}}, "attributes.shoe.role"),
        (
            {"attributes": {"shoe": {"role": "quasi-identifier", "hierarchy": "gone.csv"}}},
            "attributes.shoe.hierarchy",
        ),
        ({"engine": {"name": "magic"}}, "engine.name"),
        ({"surprise": {}}, "surprise"),
    ],
)
def test_bad_settings_end_in_a_traceback_or_name_no_key(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, dict[str, object]],
    key: str,
) -> None:
    policy = write_policy(tmp_path, **change)
    source = write_json_lines(tmp_path / "in.jsonl", people(3))
    assert run(monkeypatch, "anonymize", policy, source, tmp_path / "out.jsonl") == 2
    told = capsys.readouterr().err
    assert key in told
    assert str(policy) in told
    assert "Traceback" not in told


def test_the_output_overwrites_the_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", people(5))
    before = source.read_bytes()
    assert run(monkeypatch, "anonymize", write_policy(tmp_path), source, source) == 2
    assert source.read_bytes() == before


def test_the_seed_or_the_shuffle_repeats_an_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed governs classes only: two runs give the same classes in another order."""
    policy = write_policy(tmp_path)
    source = write_json_lines(tmp_path / "in.jsonl", people(50))
    outputs = []
    for name in ("a.jsonl", "b.jsonl"):
        assert run(monkeypatch, "anonymize", policy, source, tmp_path / name, "--seed", 7) == 0
        outputs.append((tmp_path / name).read_text().splitlines())
    assert sorted(outputs[0]) == sorted(outputs[1])
    assert outputs[0] != outputs[1]


def test_the_census_file_breaks_k_or_loses_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shared_data("arx-adult")
    names = ["sex", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    hierarchies = {
        name: {
            "role": "quasi-identifier",
            "hierarchy": str(folder / "hierarchies" / f"adult_hierarchy_{name}.csv"),
        }
        for name in names
    }
    document = {
        "privacy": {"k": 10, "individual": "every-record"},
        "window": {"max_records": 10_000},
        "attributes": {
            "age": {"role": "quasi-identifier", "numeric": {"min": 17, "max": 90, "publish": "tight"}},
            **hierarchies,
            "salary-class": {"role": "sensitive"},
        },
    }
    policy = write_document(tmp_path, document)
    report = tmp_path / "r.json"
    assert run(
        monkeypatch, "anonymize", policy, folder / "adult.csv", tmp_path / "out.csv", "--report", report
    ) == 0  # fmt: skip
    told = json.loads(report.read_text())
    assert (told["records_in"], told["released"], told["achieved_k"]) == (30_162, 30_162, 10)
    assert told["gcp"] < 0.21
