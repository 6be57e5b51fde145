from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stream_anon import extras
from stream_anon.cli.run.anonymize import FileNames, file_job
from stream_anon.formats.tables.arrow.parquet_files import ParquetReader
from stream_anon.formats.tables.format_names import Format
from stream_anon.settings.policy_file import load_policy
from tests.support.commands import run
from tests.support.data import ROOT
from tests.support.policies import people, write_policy

MONDRIAN = {"engine": {"name": "mondrian", "seed": 1}}


def files(folder: Path, count: int = 120, **sections: dict[str, Any]) -> tuple[Path, Path, Path]:
    """Write a policy and people; return it, them, and where to write what is released."""
    policy = write_policy(folder, **{**MONDRIAN, **sections})
    source = folder / "in.parquet"
    pq.write_table(pa.Table.from_pylist(people(count)), source, row_group_size=50)
    return policy, source, folder / "out.parquet"


def test_a_parquet_file_is_released_as_one_with_a_type_for_each_column(tmp_path: Path) -> None:
    policy, source, target = files(tmp_path)
    report, proof = tmp_path / "r.json", tmp_path / "c.jsonl"
    command = ("anonymize", "-c", policy, source, target, "--report", report, "--certificates", proof)
    assert run(*command) == 0
    told, released = json.loads(report.read_text()), pq.read_table(target)
    assert told["records_in"] == 120
    assert told["released"] == len(released) > 100
    assert released.schema.field("age").type == pa.struct([("min", pa.int64()), ("max", pa.int64())])
    assert released.column_names == ["age", "home.city", "visits", "illness"]
    classes = Counter(str(row) for row in released.select(["age", "home.city"]).to_pylist())
    assert min(classes.values()) >= 3


def test_windows_share_row_groups(tmp_path: Path) -> None:
    policy, source, target = files(tmp_path, 500)
    assert run("anonymize", "-c", policy, source, target) == 0
    assert pq.ParquetFile(target).num_row_groups == 1


def test_formats_may_be_mixed(tmp_path: Path) -> None:
    policy, source, _ = files(tmp_path)
    for name in ("out.jsonl", "out.csv"):
        assert run("anonymize", "-c", policy, source, tmp_path / name) == 0
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {"city"} == set(records[0]["home"])
    assert len((tmp_path / "out.csv").read_text().splitlines()) == len(records) + 1


def test_progress_reaches_the_size_of_the_file(tmp_path: Path) -> None:
    policy, source, target = files(tmp_path)
    seen: list[int] = []
    job = file_job(policy, {}, FileNames(str(source), str(target)), "5%", Format.JSONL)
    job.run(seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == source.stat().st_size


def test_rejects_name_rows(tmp_path: Path) -> None:
    policy, source, target = files(tmp_path)
    records = people(120)
    records[3]["home"] = {"city": "Atlantis"}
    pq.write_table(pa.Table.from_pylist(records), source)
    rejects = tmp_path / "rejects.jsonl"
    assert run("anonymize", "-c", policy, source, target, "--rejects", rejects) == 0
    (told,) = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert told == {"line": 4, "reason": "unknown-value", "attribute": "home.city"}


def test_what_is_no_parquet_is_refused_and_leaves_no_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, source, target = files(tmp_path)
    whole = source.read_bytes()
    for content in (b"", b"person,age\np1,30\n", whole[: len(whole) // 2]):
        source.write_bytes(content)
        assert run("anonymize", "-c", policy, source, target) == 2
        assert "in.parquet: cannot be opened (it is not a Parquet file)" in capsys.readouterr().err
    source.unlink()
    assert run("anonymize", "-c", policy, source, target) == 2
    assert "No such file" in capsys.readouterr().err
    assert not target.exists()


def test_a_damaged_page_ends_the_run_without_output_and_without_a_value_in_the_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, source, target = files(tmp_path)
    pq.write_table(pa.Table.from_pylist(people(5000)), source, use_dictionary=False, compression="zstd")
    content = bytearray(source.read_bytes())
    content[1000:3000] = bytes(2000)
    source.write_bytes(content)
    assert run("anonymize", "-c", policy, source, target) == 2
    message = capsys.readouterr().err
    assert "cannot be read to its end" in message
    assert not target.exists()


def test_a_missing_column_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy, source, target = files(tmp_path)
    pq.write_table(pq.read_table(source).drop_columns("age"), source)
    assert run("anonymize", "-c", policy, source, target) == 2
    assert "has no column 'age'" in capsys.readouterr().err


def test_a_text_that_is_no_utf8_is_rejected(tmp_path: Path) -> None:
    policy, source, _ = files(tmp_path)
    table = pq.read_table(source)
    spoilt = [b"flu", b"\xff\xfe", *[b"cold"] * 118]
    cells = pa.Array.from_buffers(pa.string(), 120, pa.array(spoilt, pa.binary()).buffers())
    pq.write_table(table.set_column(table.column_names.index("illness"), "illness", cells), source)
    (batch,) = ParquetReader(str(source), load_policy(policy))
    assert len(batch) == 119
    assert batch.rejects.offsets.tolist() == [1]


def test_without_pyarrow_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, source, target = files(tmp_path)
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    assert run("anonymize", "-c", policy, source, target) == 2
    assert "pip install pyarrow" in capsys.readouterr().err
    assert not target.exists()


def test_parquet_has_no_standard_stream(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy, _, target = files(tmp_path)
    assert run("anonymize", "-c", policy, "-", target, "--format", "parquet") == 2
    assert "Parquet needs a file" in capsys.readouterr().err


def test_what_is_released_as_parquet_passes_the_audit_and_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, source, target = files(tmp_path)
    proof = tmp_path / "c.jsonl"
    assert run("anonymize", "-c", policy, source, target, "--certificates", proof) == 0
    assert run("audit", "-c", policy, "--output", target, "--certificates", proof) == 0
    capsys.readouterr()
    assert run("utility", "-c", policy, source, target, "--json") == 0
    assert run("leakage", "-c", policy, "--input", source, "--released", target) == 0
    rows = pq.read_table(target).to_pylist()
    rows[0]["age"] = {"min": 1, "max": 1}
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(target)), target)
    assert run("audit", "-c", policy, "--output", target, "--certificates", proof) == 1


def test_anatomy_writes_no_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    method = {"name": "anatomy", "target": "illness"}
    privacy = {"sensitive": {"illness": {"distinct_l": 2}}, "k": 3, "individual": "person"}
    policy, source, target = files(tmp_path, method=method, privacy=privacy)
    assert run("anonymize", "-c", policy, source, target) == 2
    assert "CSV or JSON Lines" in capsys.readouterr().err


_MOST_MEMORY = """
import re, sys
from pathlib import Path
from stream_anon.files.job import FileJob
from stream_anon.settings.policy_file import load_policy
report = FileJob(load_policy(Path(sys.argv[1])), sys.argv[2], sys.argv[3], by_arrival=True).run(lambda _: None)
status = Path("/proc/self/status").read_text()
print(report.released, int(re.search("VmHWM:[^0-9]*([0-9]+)", status)[1]) // 1024)
"""


@pytest.mark.soak
@pytest.mark.slow
def test_by_arrival_memory_does_not_grow_with_a_parquet_file(tmp_path: Path) -> None:
    """Eight times the rows, all of them in one row group, with a text in each that no other row has."""
    policy = write_policy(tmp_path, **MONDRIAN, window={"max_records": 2000})
    most = []
    for rows in (200_000, 1_600_000):
        source = tmp_path / f"{rows}.parquet"
        draws = np.random.default_rng(0)
        columns = {
            "person": pa.array(np.char.add("person-", np.arange(rows).astype(str))),
            "age": pa.array(draws.integers(0, 100, rows)),
            "home.city": pa.array(np.array(["Oslo", "Bergen", "Rome", "Bari"])[draws.integers(0, 4, rows)]),
            "visits": pa.array(draws.integers(0, 9, rows)),
            "illness": pa.array(np.char.add("illness-", draws.integers(0, 10**9, rows).astype(str))),
        }
        pq.write_table(pa.table(columns), source, row_group_size=rows)
        command = [sys.executable, "-c", _MOST_MEMORY, policy, source, tmp_path / "out.parquet"]
        made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
        released, peak = map(int, made.stdout.split())
        assert released > 0.95 * rows
        most.append(peak)
    small, large = most
    assert large - small < 50, most  # MiB; the larger table is 95 in memory, the smaller one 11
