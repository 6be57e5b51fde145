"""Auditing Parquet with a column for each end: it is read as the file with structs is, and no less strictly."""

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

from stream_anon.audit.formats.table_rows import TypedReader
from stream_anon.audit.verdict import Kind
from stream_anon.files.job import FileJob
from stream_anon.formats.tables.arrow.releases import ReleaseTables
from stream_anon.microdata.output.output_members import members_of
from stream_anon.microdata.output.shape import Shape
from stream_anon.operations.audit.auditing import audit_files
from stream_anon.operations.studied_records import read_released
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_document
from tests.unit.operations.audit import test_hours
from tests.unit.operations.audit.test_parquet import DOCUMENT, Release

SPELLINGS = [".", "_"]
spellings = pytest.mark.parametrize("joint", SPELLINGS)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release(tmp_path_factory.mktemp("parquet"))


def flat(table: pa.Table, joint: str = ".") -> pa.Table:
    """Return a table with two columns in place of each struct, and names joined as frames or flat records do it."""
    columns: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        spelled = name.replace(".", joint)
        if pa.types.is_struct(column.type):
            ends = column.combine_chunks().flatten()
            columns |= {f"{spelled}_{end}": cells for end, cells in zip(("min", "max"), ends, strict=True)}
        else:
            columns[spelled] = column
    return pa.table(columns)


def test_the_names_are_those_of_frames_and_of_flat_records(made: Release) -> None:
    assert flat(made.table).schema.equals(ReleaseTables(made.policy, flat=True).schema)
    paths = [member.path for member in members_of(made.policy.published, Shape.FLAT)]
    assert [(name,) for name in flat(made.table, "_").column_names] == paths


@spellings
def test_the_audit_says_the_same_of_a_flat_file(made: Release, tmp_path: Path, joint: str) -> None:
    path = tmp_path / "flat.parquet"
    pq.write_table(flat(made.table, joint), path)
    told = made.audit(path)
    assert told["clean"]
    assert told == made.audit(made.lines)


def test_a_flat_file_of_a_policy_with_flat_output_is_audited(made: Release, tmp_path: Path) -> None:
    policy, path = tmp_path / "policy.yaml", tmp_path / "flat.parquet"
    policy.write_text(made.policy_path.read_text() + "output: {shape: flat}\n")
    pq.write_table(flat(made.table, "_"), path)
    assert audit_files(policy, path, made.proof).verdict.clean


@spellings
def test_a_flat_file_is_measured_as_one_of_json_lines(made: Release, tmp_path: Path, joint: str) -> None:
    path = tmp_path / "flat.parquet"
    pq.write_table(flat(made.table, joint), path)
    both = [read_released(made.policy, one) for one in (path, made.lines)]
    assert both[0].records == both[1].records == len(made.records)
    assert np.array_equal(both[0].boxes.records, both[1].boxes.records)


def _update(**cells: Any) -> Callable[[list[dict[str, Any]]], object]:
    return lambda rows: rows[5].update({name.replace("age", "patient.age"): one for name, one in cells.items()})


CHANGED: dict[str, tuple[Callable[[list[dict[str, Any]]], object], Kind]] = {
    "an interval that is no node": (_update(age_min=31, age_max=32), Kind.ILLEGAL_VALUE),
    "ends the wrong way round": (_update(age_min=49, age_max=25), Kind.ILLEGAL_VALUE),
    "half of a missing value": (_update(age_min=None, age_max=49), Kind.ILLEGAL_VALUE),
    "another class": (_update(age_min=17, age_max=17), Kind.UNCERTIFIED_CLASS),
    "days that are no node": (
        _update(day_min=dt.date(2024, 1, 2), day_max=dt.date(2024, 12, 31)),
        Kind.ILLEGAL_VALUE,
    ),
    "a record that is gone": (lambda rows: rows.pop(5), Kind.WRONG_CLASS_SIZE),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_was_changed_is_accused(made: Release, tmp_path: Path, name: str) -> None:
    change, kind = CHANGED[name]
    table = flat(made.table)
    rows = table.to_pylist()
    change(rows)
    assert kind in made.kinds(pa.Table.from_pylist(rows, table.schema), tmp_path)


def _texts(table: pa.Table) -> pa.Table:
    return table.set_column(table.column_names.index("day_min"), "day_min", table["day_min"].cast(pa.string()))


COLUMNS: dict[str, tuple[Callable[[pa.Table, Release], pa.Table], Kind]] = {
    "one end alone": (lambda table, _: table.drop_columns("day_max"), Kind.MISSING_FIELD),
    "no end": (lambda table, _: table.drop_columns(["day_min", "day_max"]), Kind.MISSING_FIELD),
    "the other end undeclared": (lambda table, _: table.drop_columns("day_max"), Kind.UNDECLARED_FIELD),
    "texts for days": (lambda table, _: _texts(table), Kind.ILLEGAL_VALUE),
    "a struct beside its ends": (
        lambda table, made: table.append_column("day", made.table["day"]),
        Kind.MALFORMED_RECORD,
    ),
    "a struct before its ends": (
        lambda table, made: table.add_column(0, "day", made.table["day"]),
        Kind.MALFORMED_RECORD,
    ),
    "a struct in place of its ends": (
        lambda table, made: table.drop_columns(["day_min", "day_max"]).append_column("day", made.table["day"]),
        Kind.ILLEGAL_VALUE,
    ),
    "ends beside a struct": (
        lambda table, made: made.table.append_column("day_min", table["day_min"]),
        Kind.UNDECLARED_FIELD,
    ),
    "ends in place of a struct": (
        lambda table, made: (
            made.table.drop_columns("day")
            .append_column("day_min", table["day_min"])
            .append_column("day_max", table["day_max"])
        ),
        Kind.MISSING_FIELD,
    ),
    "names of days in place of their ends": (
        lambda table, made: table.drop_columns(["day_min", "day_max"]).append_column(
            "day", pa.array([record["day"] for record in made.records])
        ),
        Kind.ILLEGAL_VALUE,
    ),
    "an end that stands twice": (
        lambda table, _: table.append_column("day_min", table["day_min"]),
        Kind.MALFORMED_RECORD,
    ),
    "an identifier": (
        lambda table, _: table.append_column("patient.name", pa.array(["x"] * len(table))),
        Kind.IDENTIFYING_FIELD,
    ),
    "an identifier named as flat records do": (
        lambda _, made: flat(made.table, "_").append_column("patient_name", pa.array(["x"] * len(made.table))),
        Kind.IDENTIFYING_FIELD,
    ),
    "an end of what has none": (
        lambda table, _: table.append_column("ward_min", pa.array([1] * len(table))),
        Kind.UNDECLARED_FIELD,
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_too_many_or_too_few_is_accused(made: Release, tmp_path: Path, name: str) -> None:
    change, kind = COLUMNS[name]
    assert kind in made.kinds(change(flat(made.table), made), tmp_path)


def test_names_that_would_mean_two_things_are_read_as_structs_alone(tmp_path: Path) -> None:
    """A field that passes has the name of an end: such a policy has no flat file."""
    attributes = dict(DOCUMENT["attributes"])
    attributes["day_min"] = attributes.pop("visits")
    policy = load_policy(write_document(tmp_path, DOCUMENT | {"attributes": attributes}))
    day = dt.date(2024, 1, 2)
    whole = TypedReader(policy, ["day", "day_min"]).read([{"min": day, "max": day}, 3])
    assert whole == {"day": "2024-01-02", "day_min": 3}
    ends = TypedReader(policy, ["day_min", "day_max"]).read([day, day])
    assert ends is not None
    assert "day" not in ends


class Hours:
    """A release of minutes and hours as Parquet."""

    def __init__(self, folder: Path) -> None:
        document = test_hours.settings_of(Shape.NATURAL)
        for name in ("seen", "told"):  # in one year the whole range has a name
            document["attributes"][name]["date"] |= {"max": "2025-01-31"}
        self.policy = write_document(folder, document)
        source, self.parquet, self.proof = folder / "in.jsonl", folder / "out.parquet", folder / "proof.jsonl"
        source.write_text("".join(json.dumps(visit) + "\n" for visit in test_hours.visits()))
        report = FileJob(load_policy(self.policy), str(source), str(self.parquet), self.proof).run(lambda _: None)
        assert report.released > 500
        self.table = pq.read_table(self.parquet)

    def kinds(self, table: pa.Table, folder: Path) -> set[Kind]:
        pq.write_table(table, folder / "changed.parquet")
        report = audit_files(self.policy, folder / "changed.parquet", self.proof)
        return {one.kind for one in report.verdict.violations}


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> Hours:
    return Hours(tmp_path_factory.mktemp("hours"))


def test_hours_and_minutes_are_audited_in_one_column_and_in_two(hours: Hours, tmp_path: Path) -> None:
    assert hours.kinds(hours.table, tmp_path) == set()
    assert hours.kinds(flat(hours.table), tmp_path) == set()


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(pa.timestamp("ms"), id="without a zone"),
        pytest.param(pa.timestamp("ms", "UTC"), id="of another zone"),
        pytest.param(pa.date32(), id="days alone"),
        pytest.param(pa.string(), id="texts"),
        pytest.param(pa.int64(), id="numbers"),
    ],
)
def test_times_of_another_type_are_accused(hours: Hours, tmp_path: Path, kind: pa.DataType) -> None:
    table = flat(hours.table)
    changed = table.set_column(
        table.column_names.index("seen_max"), "seen_max", table["seen_max"].cast(kind, safe=False)
    )
    assert Kind.ILLEGAL_VALUE in hours.kinds(changed, tmp_path)


def test_a_second_that_ends_no_minute_is_accused(hours: Hours, tmp_path: Path) -> None:
    table = flat(hours.table)
    rows = table.to_pylist()
    rows[3]["seen_max"] = rows[3]["seen_max"] - dt.timedelta(seconds=1)
    assert Kind.ILLEGAL_VALUE in hours.kinds(pa.Table.from_pylist(rows, table.schema), tmp_path)
