"""Auditing Parquet: a release says there what it says as JSON Lines, and what was tampered with is accused."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stream_anon import extras
from stream_anon.audit.verdict import Kind
from stream_anon.errors import InputError, SettingsError
from stream_anon.files.anonymizing import SOURCE, Anonymization
from stream_anon.files.job import FileJob
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.tables.arrow import parquet_input
from stream_anon.formats.tables.arrow.parquet_files import ParquetWriter
from stream_anon.formats.tables.format_names import Format, as_written
from stream_anon.operations.audit.audit_report import as_json
from stream_anon.operations.audit.auditing import audit_files
from stream_anon.operations.audit.released_files import released_records
from stream_anon.operations.studied_records import read_released
from stream_anon.settings.policy_file import load_policy
from tests.support.audited_files import SETTINGS, visits
from tests.support.policies import write_document

TWO_YEARS = {"role": "quasi-identifier", "date": {"min": "2024-01-01", "max": "2025-12-31"}}
ATTRIBUTES = SETTINGS["attributes"] | {"day": TWO_YEARS, "patient.name": {"role": "identifier"}}
DOCUMENT = SETTINGS | {"attributes": ATTRIBUTES}

Row = dict[str, Any]


class Release:
    """One release, written twice: as Parquet and as JSON Lines, record by record in the same order."""

    def __init__(self, folder: Path) -> None:
        self.policy_path, self.proof = write_document(folder, DOCUMENT), folder / "certificates.jsonl"
        self.parquet, self.lines = folder / "out.parquet", folder / "out.jsonl"
        self.policy = as_written(load_policy(self.policy_path), Format.PARQUET)
        codec, work = JsonCodec(self.policy), Anonymization(self.policy)
        values = [json.dumps(visit).encode() for visit in visits(700)]
        certified = [*work.add(codec.decode(values, SOURCE, np.arange(len(values)))), *work.close()]
        writer = ParquetWriter(self.parquet.open("wb"), self.policy)
        for one in certified:
            writer.write(one.release)
        writer.close()
        self.records = [json.loads(line) for one in certified for line in codec.encode(one.release)]
        self.parts = [*work.document.parts(), *(part for one in certified for part in one.certificate)]
        self.proof.write_bytes(b"".join(part + b"\n" for part in self.parts))
        self.table = pq.read_table(self.parquet)
        self.lines.write_text(_lines(self.records))

    def audit(self, released: Path) -> dict[str, Any]:
        told = as_json(audit_files(self.policy_path, released, self.proof))
        return {key: value for key, value in told.items() if key not in ("begun", "ended", "subject")}

    def kinds(self, table: pa.Table, folder: Path) -> set[Kind]:
        path = folder / "changed.parquet"
        pq.write_table(table, path)
        return {one.kind for one in audit_files(self.policy_path, path, self.proof).verdict.violations}

    def with_column(self, name: str, cells: Any) -> pa.Table:
        return self.table.set_column(self.table.column_names.index(name), name, cells)


def _lines(records: list[Row]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release(tmp_path_factory.mktemp("parquet"))


def test_a_row_is_the_record_that_json_lines_hold(made: Release) -> None:
    with released_records(made.parquet, made.policy) as records:
        assert list(records) == made.records
    published = json.dumps(made.records)
    # Sets, intervals, missing values, the root and nodes of days are among what was read.
    assert all(text in published for text in ('"plan": ["', '"min":', '"plan": null', '"*"', '"2024'))


def test_the_audit_of_a_release_says_the_same_of_both_formats(made: Release) -> None:
    told = made.audit(made.parquet)
    assert told["clean"]
    assert told["counts"]["records"] == len(made.records) > 300
    assert told == made.audit(made.lines)


def test_a_class_that_is_one_short_of_k_is_found_in_both_formats(made: Release, tmp_path: Path) -> None:
    # A record of a smallest class is gone, and its certificate says so: nothing but k is broken.
    parts = [json.loads(part) for part in made.parts]
    certificate = next(part for part in parts if "classes" in part)
    smallest = min(certificate["classes"], key=lambda one: one["records"])
    assert smallest["records"] == 4
    names = [attribute.name for attribute in made.policy.quasi_identifiers]
    tuples = [[_at(record, name) for name in names] for record in made.records[: certificate["released"]]]
    gone = tuples.index([smallest["values"].get(name) for name in names])
    kept = [place for place in range(len(made.records)) if place != gone]
    (tmp_path / "out.jsonl").write_text(_lines([made.records[place] for place in kept]))
    pq.write_table(made.table.take(pa.array(kept)), tmp_path / "out.parquet")
    both = [made.audit(tmp_path / f"out.{suffix}") for suffix in ("parquet", "jsonl")]
    assert both[0] == both[1]
    assert both[0]["kinds"]["too-few-records"] >= 1


def _at(record: Row, name: str) -> Any:
    for key in name.split("."):
        record = record[key]
    return record


def _age(low: Any, high: Any) -> Callable[[list[Row]], object]:
    return lambda rows: rows[5].update({"patient.age": {"min": low, "max": high}})


CHANGED: dict[str, tuple[Callable[[list[Row]], object], Kind]] = {
    "an interval that is no node": (_age(31, 32), Kind.ILLEGAL_VALUE),
    "ends the wrong way round": (_age(49, 25), Kind.ILLEGAL_VALUE),
    "half of a missing value": (_age(None, 49), Kind.ILLEGAL_VALUE),
    "a range that exceeds the domain": (_age(0, 120), Kind.ILLEGAL_VALUE),
    "no interval where one belongs": (lambda rows: rows[5].update({"patient.age": None}), Kind.ILLEGAL_VALUE),
    "no interval where days belong": (lambda rows: rows[5].update(day=None), Kind.ILLEGAL_VALUE),
    "another class": (_age(17, 17), Kind.UNCERTIFIED_CLASS),
    "days that are no node": (
        lambda rows: rows[5].update(day={"min": dt.date(2024, 1, 2), "max": dt.date(2024, 12, 31)}),
        Kind.ILLEGAL_VALUE,
    ),
    "an unknown category": (lambda rows: rows[5].update(ward="9"), Kind.ILLEGAL_VALUE),
    "a set in another order": (lambda rows: rows[5].update(plan=["c", "b"]), Kind.ILLEGAL_VALUE),
    "a number that JSON does not have": (lambda rows: rows[5].update(cost=float("nan")), Kind.WRONG_TYPE),
    "a record that is gone": (lambda rows: rows.pop(5), Kind.WRONG_CLASS_SIZE),
    "a record that stands twice": (lambda rows: rows.insert(5, rows[5]), Kind.WRONG_CLASS_SIZE),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_was_changed_is_accused(made: Release, tmp_path: Path, name: str) -> None:
    change, kind = CHANGED[name]
    rows = made.table.to_pylist()
    change(rows)
    assert kind in made.kinds(pa.Table.from_pylist(rows, made.table.schema), tmp_path)


def _ages_as(kind: pa.DataType) -> Callable[[Release], pa.Table]:
    struct = pa.struct([("min", kind), ("max", kind)])
    return lambda made: made.with_column("patient.age", made.table["patient.age"].cast(struct))


def _days_as_texts(made: Release) -> pa.Table:
    ends = [
        cell and {key: end and end.isoformat() for key, end in cell.items()}
        for cell in made.table["day"].to_pylist()
    ]
    return made.with_column("day", pa.array(ends))


def _without_utf8(made: Release) -> pa.Table:
    """Return the table with a text in `result` that is no UTF-8."""
    cells = [b"\xff\xfe", *[b"fine"] * (len(made.table) - 1)]
    buffers = pa.array(cells, pa.binary()).buffers()
    return made.with_column("result", pa.Array.from_buffers(pa.string(), len(cells), buffers))


TYPES: dict[str, tuple[Callable[[Release], pa.Table], Kind]] = {
    "decimals for whole numbers": (_ages_as(pa.float64()), Kind.ILLEGAL_VALUE),
    "texts for days": (_days_as_texts, Kind.ILLEGAL_VALUE),
    "numbers for texts": (
        lambda made: made.with_column("ward", pa.array([3] * len(made.table))),
        Kind.UNCERTIFIED_CLASS,
    ),
    "a time for a text": (
        lambda made: made.with_column(
            "result", pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC)] * len(made.table))
        ),
        Kind.WRONG_TYPE,
    ),
    "decimals for a whole number that passes": (
        lambda made: made.with_column("visits", made.table["visits"].cast(pa.float64())),
        Kind.WRONG_TYPE,
    ),
    "bytes for a text": (_without_utf8, Kind.WRONG_TYPE),
    "no column": (lambda made: made.table.drop_columns("day"), Kind.MISSING_FIELD),
    "an undeclared column": (
        lambda made: made.table.append_column("note", pa.array(["x"] * len(made.table))),
        Kind.UNDECLARED_FIELD,
    ),
    "the individual": (
        lambda made: made.table.append_column("person", pa.array(range(len(made.table)))),
        Kind.IDENTIFYING_FIELD,
    ),
    "an identifier under another field": (
        lambda made: made.table.append_column("patient.name", pa.array(["x"] * len(made.table))),
        Kind.IDENTIFYING_FIELD,
    ),
    "an identifier in a struct": (
        lambda made: made.table.append_column("patient", pa.array([{"name": "x"}] * len(made.table))),
        Kind.IDENTIFYING_FIELD,
    ),
    "a struct that hides behind a column": (
        lambda made: made.table.add_column(0, "patient", pa.array([{"age": 33, "zip": "123"}] * len(made.table))),
        Kind.MALFORMED_RECORD,
    ),
    "a struct with more in it before a column": (
        lambda made: made.table.add_column(0, "patient", pa.array([{"note": "x"}] * len(made.table))),
        Kind.UNDECLARED_FIELD,
    ),
    "a column that stands twice": (
        lambda made: made.table.append_column("visits", made.table["visits"]),
        Kind.MALFORMED_RECORD,
    ),
}


@pytest.mark.parametrize("name", TYPES)
def test_a_column_of_another_type_or_that_must_not_be_there_is_accused(
    made: Release, tmp_path: Path, name: str
) -> None:
    change, kind = TYPES[name]
    assert kind in made.kinds(change(made), tmp_path)


def test_a_file_is_read_in_pieces(made: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[int] = []
    values = parquet_input._values

    def counted(column: Any) -> list[Any]:
        pieces.append(len(column))
        return values(column)

    monkeypatch.setattr(parquet_input, "_RECORDS", 100)
    monkeypatch.setattr(parquet_input, "_values", counted)
    assert made.audit(made.parquet)["clean"]
    assert max(pieces) == 100
    assert sum(pieces) == len(made.records) * len(made.table.column_names)


def test_a_file_that_ends_too_early_is_no_release(made: Release, tmp_path: Path) -> None:
    path = tmp_path / "half.parquet"
    path.write_bytes(made.parquet.read_bytes()[:-50])
    with pytest.raises(InputError, match="not a Parquet file"):
        made.audit(path)


def test_days_of_one_year_are_refused_because_the_year_looks_like_anything(made: Release, tmp_path: Path) -> None:
    policy = write_document(tmp_path, SETTINGS)
    with pytest.raises(SettingsError, match=r"attributes\.day: all its days lie in one year"):
        audit_files(policy, made.parquet, made.proof)


def test_a_parquet_file_that_no_audit_would_take_is_not_written(made: Release, tmp_path: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.parquet"
    source.write_text(_lines(visits(10)))
    policy = load_policy(write_document(tmp_path, SETTINGS))
    with pytest.raises(SettingsError, match=r"attributes\.day: all its days lie in one year"):
        FileJob(policy, str(source), str(target)).run(lambda _: None)
    assert not target.exists()


def test_without_pyarrow_the_audit_says_what_to_install(made: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match="pip install pyarrow"):
        made.audit(made.parquet)


def test_a_parquet_release_is_measured_as_one_of_json_lines(made: Release) -> None:
    both = [read_released(made.policy, path) for path in (made.parquet, made.lines)]
    assert both[0].records == len(made.records)
    assert np.array_equal(both[0].boxes.records, both[1].boxes.records)
