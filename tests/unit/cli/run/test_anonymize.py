from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numba
import pytest
from numba.core import event

from stream_anon.cli import compiling
from stream_anon.cli.compiling import saying_when_compiling
from tests.support.commands import FileRun, run
from tests.support.data import shared_data
from tests.support.policies import people, write_document, write_json_lines, write_policy


def test_output_report_and_certificates_agree(tmp_path: Path) -> None:
    records = people(120)
    records[3]["home"] = {"city": "Atlantis"}
    files = FileRun(write_policy(tmp_path), records)
    assert files.anonymize("--k", 4, "--by-arrival") == 0
    told, released = files.report, files.released
    document, *certificates = files.parts
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


@pytest.mark.parametrize(
    ("options", "windows"), [((), 1), (("--by-arrival",), 3), (("--max-records", 60), 2)], ids=str
)
def test_a_file_is_one_window_unless_windows_by_arrival_are_asked_for(
    options: tuple[object, ...], windows: int, tmp_path: Path
) -> None:
    files = FileRun(write_policy(tmp_path), people(120))
    assert files.anonymize(*options) == 0
    assert files.report["windows"] == windows


def test_csv_loses_no_record_and_publishes_no_small_class(tmp_path: Path) -> None:
    policy = write_policy(tmp_path)
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    with source.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["person", "age", "home.city", "visits", "illness", "secret"])
        for record in people(90):
            writer.writerow(
                [record["person"], record["age"], record["home"]["city"], record["visits"], record["illness"], "x"]
            )
    assert run("anonymize", "-c", policy, source, target) == 0
    rows = list(csv.reader(target.read_text().splitlines(), delimiter=";"))
    assert rows[0] == ["age", "home.city", "visits", "illness"]
    assert len(rows) == 91
    assert min(Counter(tuple(row[:2]) for row in rows[1:]).values()) >= 3


def test_json_lines_pass_through_standard_streams(tmp_path: Path) -> None:
    policy = write_policy(tmp_path)
    lines = "".join(json.dumps(record) + "\n" for record in people(60))
    done = subprocess.run(
        [sys.executable, "-m", "stream_anon.cli.main", "anonymize", "-c", str(policy), "-", "-"],
        input=lines, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert len([json.loads(line) for line in done.stdout.splitlines()]) == 60
    assert "60 released" in done.stderr


def command(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "stream_anon.cli.main", *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def csv_text(count: int) -> str:
    rows = (f"{r['person']},{r['age']},{r['home']['city']},{r['visits']},{r['illness']}" for r in people(count))
    return "\n".join(["person,age,home.city,visits,illness", *rows, ""])


def piped(monkeypatch: pytest.MonkeyPatch, text: str, *arguments: object) -> int:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode()))))
    return run("anonymize", *arguments, "-", "-")


def test_csv_passes_through_standard_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert piped(monkeypatch, csv_text(60), "-c", write_policy(tmp_path), "--format", "csv") == 0
    rows = list(csv.reader(capfd.readouterr().out.splitlines()))
    assert rows[0] == ["age", "home.city", "visits", "illness"]
    assert len(rows) == 61


def test_csv_that_is_read_as_json_lines_says_how_to_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert piped(monkeypatch, csv_text(60), "-c", write_policy(tmp_path)) == 1
    out, told = capfd.readouterr()
    assert out == ""
    assert "say --format csv" in " ".join(told.split())


def unfit(folder: Path, *options: object) -> int:
    """Anonymize 100 records, ten of which do not fit: 6 at age, 3 at home.city, and one that is no JSON."""
    records = people(100)
    for place in range(6):
        records[place]["age"] = "Zyxwvut"
    for place in range(6, 9):
        records[place]["home"] = {"city": "Zyxwvut"}
    source = write_json_lines(folder / "in.jsonl", records)
    lines = source.read_text().splitlines()
    source.write_text("\n".join([*lines[:9], "", "Zyxwvut", *lines[10:]]) + "\n")
    return run("anonymize", "-c", write_policy(folder), source, folder / "out.jsonl", *options)


def test_rejects_are_written_by_line_reason_and_attribute(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rejects, report = tmp_path / "rejects.jsonl", tmp_path / "report.json"
    options = ("--rejects", rejects, "--report", report, "--max-rejected", "10%")
    assert unfit(tmp_path, *options) == 0
    told = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [each["line"] for each in told] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]
    assert told[0] == {"line": 1, "reason": "wrong-type", "attribute": "age"}
    assert told[-1] == {"line": 11, "reason": "malformed", "attribute": None}
    said = capsys.readouterr().err
    assert "10 rejected (wrong-type in age 6, unknown-value in home.city 3, malformed 1)" in said
    assert json.loads(report.read_text())["rejects"][0] == {
        "reason": "wrong-type",
        "attribute": "age",
        "records": 6,
    }
    assert "Zyxwvut" not in said + rejects.read_text() + report.read_text()
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 90


@pytest.mark.parametrize("bound", [(), ("--max-rejected", "9.9%"), ("--max-rejected", "9")])
def test_too_many_rejects_leave_no_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], bound: tuple[str, ...]
) -> None:
    rejects = tmp_path / "rejects.jsonl"
    options = ("--rejects", rejects, "--certificates", tmp_path / "c.jsonl", *bound)
    assert unfit(tmp_path, *options) == 1
    written = {path.name for path in tmp_path.iterdir()} - {"policy.yaml.draws-key"}
    assert written == {"policy.yaml", "in.jsonl", "rejects.jsonl"}
    assert len(rejects.read_text().splitlines()) == 10
    said = capsys.readouterr().err
    assert "10 of 100 records were rejected (10.0%)" in said
    assert "nothing was written to" in said
    assert f"The lines are in {rejects}" in said


@pytest.mark.parametrize("bound", ["101%", "-1", "many", "5 percent"])
def test_a_bound_of_rejects_that_is_no_share_is_refused(tmp_path: Path, bound: str) -> None:
    assert unfit(tmp_path, f"--max-rejected={bound}") == 2


def test_a_stopped_run_leaves_no_file(tmp_path: Path) -> None:
    """Windows have been written when SIGTERM comes, and more input is awaited."""
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    options = ("--certificates", outputs / "c.jsonl", "--rejects", outputs / "r.jsonl", "--by-arrival")
    with command("anonymize", "-c", write_policy(tmp_path), "-", outputs / "out.jsonl", *options) as running:
        assert running.stdin is not None
        running.stdin.write("".join(json.dumps(record) + "\n" for record in people(120)))
        running.stdin.flush()
        await_windows(outputs)
        running.terminate()
        assert running.wait(60) == 130
        assert running.stderr is not None
        told = running.stderr.read()
    assert "interrupted; nothing was written to" in " ".join(told.split())
    assert list(outputs.iterdir()) == []


def await_windows(folder: Path) -> None:
    """Return once a window lies in the unfinished output."""
    for _ in range(2400):
        if any(path.stat().st_size for path in folder.glob(".out.jsonl.*.part")):
            return
        time.sleep(0.1)
    raise AssertionError("no window was written")


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
def test_bad_settings_are_named_by_file_and_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, dict[str, object]], key: str
) -> None:
    policy = write_policy(tmp_path, **change)
    source = write_json_lines(tmp_path / "in.jsonl", people(3))
    assert run("anonymize", "-c", policy, source, tmp_path / "out.jsonl") == 2
    told = capsys.readouterr().err
    assert key in told
    assert str(policy) in told
    assert "Traceback" not in told


def test_the_output_cannot_overwrite_the_input(tmp_path: Path) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", people(5))
    before = source.read_bytes()
    assert run("anonymize", "-c", write_policy(tmp_path), source, source) == 2
    assert source.read_bytes() == before


def test_a_seed_repeats_the_classes_and_never_the_order(tmp_path: Path) -> None:
    """A seed governs classes only: two runs without a key give the same classes in another order."""
    policy = write_policy(tmp_path)
    source = write_json_lines(tmp_path / "in.jsonl", people(50))
    outputs = []
    for name in ("a.jsonl", "b.jsonl"):
        assert run("anonymize", "-c", policy, source, tmp_path / name, "--seed", 7, "--fresh-draws") == 0
        outputs.append((tmp_path / name).read_text().splitlines())
    assert sorted(outputs[0]) == sorted(outputs[1])
    assert outputs[0] != outputs[1]


def test_the_census_file_is_published_whole_at_the_k_asked_for(tmp_path: Path) -> None:
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
    assert run("anonymize", "-c", policy, folder / "adult.csv", tmp_path / "out.csv", "--report", report
    ) == 0  # fmt: skip
    told = json.loads(report.read_text())
    assert (told["records_in"], told["released"], told["achieved_k"]) == (30_162, 30_162, 10)
    assert told["gcp"] < 0.21


def test_compiling_is_told_only_when_it_happens_and_as_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))

    def told() -> str:
        with saying_when_compiling():
            event.broadcast(event.Event("numba:compile", event.EventStatus.START))
            event.broadcast(event.Event("numba:compile", event.EventStatus.START))
        return capsys.readouterr().err

    with saying_when_compiling():
        pass
    assert capsys.readouterr().err == ""
    assert told() == f"stream-anon: {compiling.FIRST}\n"
    (folder,) = (tmp_path / "cache").iterdir()
    (folder / "engine").mkdir()
    (folder / "engine" / "some.nbi").touch()
    assert told() == f"stream-anon: {compiling.MORE}\n"
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder / "engine" / "some.nbi" / "below"))
    assert told() == f"stream-anon: {compiling.NOT_KEPT}\n"


def test_missing_values_are_told_by_report_summary_and_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [record | {"visits": None, "age": None if i % 4 == 0 else 30} for i, record in enumerate(people(40))]
    files = FileRun(write_policy(tmp_path), records)
    assert files.anonymize("--accept-risk", "missing-field", "--accept-risk", "rare-values") == 0
    assert files.report["missing"] == files.parts[-1]["missing"] == {"visits": 40, "age": 10}
    assert "without a value: visits 100.0%" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_texts_that_mean_a_missing_value_are_published_as_missing(suffix: str, tmp_path: Path) -> None:
    policy = write_policy(
        tmp_path,
        input={"null_values": ["NA", "-"]},
        attributes={"visits": {"role": "insensitive", "type": "integer"}},
    )
    rows = [{"person": f"p{i}", "age": "NA" if i % 2 else 30, "visits": "NA", "illness": "-"} for i in range(39)]
    rows.append({"person": "NA", "age": 30, "visits": 1, "illness": "flu"})
    city = {"home.city": "Oslo"} if suffix == ".csv" else {"home": {"city": "Oslo"}}
    files = FileRun(policy, [row | city for row in rows], suffix)
    assert files.anonymize("--accept-risk", "missing-field") == 0
    told = files.report
    assert (told["released"], told["rejected"]) == (39, {"no-individual": 1})
    assert told["missing"] == {"visits": 39, "illness": 39, "age": 19}
    assert files.audit() == 0


def test_flat_keys_with_dots_keep_their_form_in_json_and_in_csv(tmp_path: Path) -> None:
    flat = {"role": "insensitive", "type": "integer", "path": ["after.visits"], "accept_linkable": True}
    policy = write_policy(tmp_path, attributes={"visits": flat})
    nested = [record | {"after.visits": i} for i, record in enumerate(people(40))]
    flat_rows = [
        {"person": f"p{i}", "age": 30, "home.city": "Oslo", "after.visits": i, "illness": "flu"} for i in range(40)
    ]
    for records, suffix in ((nested, ".jsonl"), (flat_rows, ".csv")):
        files = FileRun(policy, records, suffix)
        assert files.anonymize() == 0
        assert {int(record["after.visits"]) for record in files.released} == set(range(40))
        assert files.audit() == 0
    assert list(files.released[0]) == ["age", "home.city", "after.visits", "illness"]
