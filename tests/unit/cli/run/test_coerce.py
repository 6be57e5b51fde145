"""Texts that counted as numbers and truth values: the summary and the report of a file tell how many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import run, told
from tests.support.policies import write_document, write_json_lines

# Of five records one is rejected; what it holds is not counted.
ROWS: list[dict[str, Any]] = [
    {"id": "a", "age": "40", "weight": "70,5", "smoker": "true"},
    {"id": "b", "age": "41", "weight": "71.5", "smoker": "FALSE"},
    {"id": "c", "age": "42", "weight": "72", "smoker": None},
    {"id": "d", "age": "43", "weight": "73,0", "smoker": "false"},
    {"id": "e", "age": "44", "weight": "many", "smoker": "true"},
]


def _policy(folder: Path, *, coerce: bool = True) -> Path:
    attributes = {
        "id": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}, "coerce": coerce},
        "weight": {"role": "insensitive", "type": "number", "coerce": coerce, "accept_linkable": True},
        "smoker": {"role": "insensitive", "type": "boolean", "coerce": coerce, "accept_linkable": True},
    }
    engine = {"name": "mondrian"}
    return write_document(
        folder, {"privacy": {"k": 2, "individual": "id"}, "engine": engine, "attributes": attributes}
    )


def _written(folder: Path, form: str) -> Path:
    if form == "jsonl":
        return write_json_lines(folder / "in.jsonl", ROWS)
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    if form == "parquet":
        pq.write_table(pa.table(columns), folder / "in.parquet")
        return folder / "in.parquet"
    lines = [";".join("" if cell is None else str(cell) for cell in row.values()) for row in ROWS]
    (folder / "in.csv").write_text("\n".join([";".join(columns), *lines]) + "\n")
    return folder / "in.csv"


@pytest.mark.parametrize(("form", "coerced"), [("jsonl", 11), ("parquet", 11), ("csv", 2)])
def test_the_summary_of_a_file_tells_how_many_texts_counted_as_another_type(
    form: str, coerced: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, report = _written(tmp_path, form), tmp_path / "r.json"
    options = ("--max-rejected", "1", "--report", report)
    assert run("anonymize", "-c", _policy(tmp_path), source, tmp_path / "out.jsonl", *options) == 0
    found = json.loads(report.read_text())
    assert (found["released"], found["rejected"]) == (4, {"wrong-type": 1})
    assert found["coerced"] == coerced
    assert f"{coerced} texts counted as numbers or truth values" in told(capfd)


def test_numbers_that_are_numbers_are_not_mentioned(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": i, "age": 40 + i, "weight": 70.5, "smoker": True} for i in range(6)]
    source, report = write_json_lines(tmp_path / "in.jsonl", rows), tmp_path / "r.json"
    files = (source, tmp_path / "out.jsonl", "--report", report)
    assert run("anonymize", "-c", _policy(tmp_path), *files) == 0
    assert json.loads(report.read_text())["coerced"] == 0
    assert "texts counted" not in told(capfd)
