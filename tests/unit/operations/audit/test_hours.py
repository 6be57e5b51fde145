"""Hours and minutes from end to end: released in each shape, audited, read by schemas, in frames and files."""

from __future__ import annotations

import datetime as dt
import io
import json
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import fastavro
import numpy as np
import pyarrow as pa
import pytest
from jsonschema import Draft7Validator

from stream_anon import anonymize_frame
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.schemas.avro import avro_schema
from stream_anon.microdata.schemas.data_contract import data_contract
from stream_anon.microdata.schemas.json_schema import released_schema
from stream_anon.microdata.schemas.protobuf import protobuf_schema
from stream_anon.microdata.schemas.sql import sql_table
from stream_anon.settings.policy_file import load_policy
from tests.support.audited_files import Files
from tests.support.policies import write_document

BERLIN = ZoneInfo("Europe/Berlin")
AUTUMN = dt.datetime(2024, 10, 27, tzinfo=BERLIN)
QUASI = {"role": "quasi-identifier"}
RANGE = {"min": "2024-10-01", "max": "2024-10-31"}

MINUTES = RANGE | {"format": "epoch-ms", "zone": "Europe/Berlin", "finest": "minute"}


def settings_of(shape: Shape, **engine: Any) -> dict[str, Any]:
    return {
        "privacy": {"k": 3, "individual": "person"},
        "window": {"max_records": 400},
        "engine": {"name": "mondrian", "seed": 1, **engine},
        "attributes": {
            "person": {"role": "identifier"},
            "age": QUASI | {"numeric": {"min": 0, "max": 99}, "weight": 0.1},
            "seen": QUASI | {"date": MINUTES, "unknown": "root"},
            "told": QUASI | {"date": RANGE | {"format": "iso8601", "finest": "hour"}, "weight": 0.1},
            "row": {"role": "insensitive", "type": "integer", "accept_linkable": True},
        },
        "output": {"shape": str(shape)},
    }


def visits(count: int = 900) -> list[dict[str, Any]]:
    draws = np.random.default_rng(4)
    found = []
    for person in range(count):
        second = int(AUTUMN.timestamp()) + 60 * int(draws.integers(0, 6 * 60))
        moment = dt.datetime.fromtimestamp(second, dt.UTC)
        told = moment.isoformat() if person % 40 else None
        seen = second * 1000 + int(draws.integers(0, 60_000)) if person % 41 else 0
        found.append({"person": person, "age": int(draws.integers(3)), "seen": seen, "told": told, "row": person})
    return found


VISITS = visits()


@pytest.fixture(scope="module", params=list(Shape))
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp(str(request.param)), settings_of(request.param), VISITS)


def test_a_release_of_hours_passes_its_audit_and_a_later_hour_does_not(files: Files, tmp_path: Path) -> None:
    assert len(files.lines) > 700
    assert files.kinds() == set()
    tampered = files.copied(tmp_path)
    text = b"".join(line + b"\n" for line in tampered.lines)
    assert b"T02" in text
    tampered.lines = text.replace(b"T02", b"T05").split(b"\n")[:-1]
    tampered.write()
    assert tampered.kinds()


def test_records_show_hours_and_fit_the_printed_schema(files: Files) -> None:
    checker = Draft7Validator.FORMAT_CHECKER
    validator = Draft7Validator(released_schema(files.policy), format_checker=checker)
    records = [json.loads(line) for line in files.lines]
    assert all(validator.is_valid(record) for record in records)
    text = b"".join(files.lines)
    assert b"2024-10-27T02+02:00" in text or b"2024-10-27T02:00:00+02:00" in text
    assert b"2024-10-27T02+01:00" in text or b"2024-10-27T02:59:59+01:00" in text
    if files.policy.shape is Shape.FLAT:
        other = records[0] | {"seen_min": "2024-10-27 02:00:00"}
        assert not validator.is_valid(other)


def test_every_value_that_is_published_holds_its_record(files: Files) -> None:
    form = files.policy.shape
    told = {"minute": 0, "hour": 0}
    for record in map(json.loads, files.lines):
        visit = VISITS[record["row"]]
        if not visit["seen"] or form is not Shape.NATURAL or record["seen"] == "*":
            continue
        moment = dt.datetime.fromtimestamp(visit["seen"] / 1000, BERLIN)
        day, offset = f"{moment:%Y-%m-%d}", moment.isoformat()[-6:]
        names = {"hour": f"{day}T{moment:%H}", "minute": f"{day}T{moment:%H:%M}"}
        if moment.hour == 2:
            names = {kind: name + offset for kind, name in names.items()}
        assert record["seen"] in (*names.values(), day, "2024-10", "2024-Q4", "2024")
        for kind, name in names.items():
            told[kind] += record["seen"] == name
    assert form is not Shape.NATURAL or min(told.values()) > 10


def test_programs_that_are_not_ours_read_typed_hours_as_timestamps(files: Files) -> None:
    if files.policy.shape is Shape.NATURAL:
        return
    flat = files.policy.shape is Shape.FLAT

    def moments(record: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for key, value in record.items():
            if isinstance(value, dict):
                found[key] = moments(value)
            else:
                found[key] = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
        return found

    records = [moments(json.loads(line)) for line in files.lines]
    schema = fastavro.parse_schema(json.loads(json.dumps(avro_schema(files.policy))))
    room = io.BytesIO()
    fastavro.writer(room, schema, records, validator=True, strict=True)
    room.seek(0)
    read = list(fastavro.reader(room))
    assert read == records  # an instant in another zone is the same one
    assert "such as 2024-05-13T08:00:00+02:00" in protobuf_schema(files.policy)
    contract = json.dumps(data_contract(files.policy))
    assert '"logicalType": "timestamp"' in contract
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    database.execute(sql_table(files.policy))
    path = str(files.output)
    database.execute("INSERT INTO released_records BY NAME SELECT * FROM read_json(?)", [path])
    column = "seen_min" if flat else "seen.min"
    told = column.replace("seen", "told")
    asked = f"epoch({column}), typeof({column}), typeof({told})"
    rows = database.execute(f"SELECT {asked} FROM released_records").fetchall()  # noqa: S608 - columns of ours
    starts = [record["seen_min"] if flat else record["seen"]["min"] for record in records]
    assert [row[0] for row in rows] == [start.timestamp() for start in starts]
    assert {row[1:] for row in rows} == {("TIMESTAMP WITH TIME ZONE", "TIMESTAMP")}


def _frame(kind: str) -> Any:
    rows = VISITS
    seen = [dt.datetime.fromtimestamp(row["seen"] / 1000, dt.UTC) if row["seen"] else None for row in rows]
    told = [None if row["told"] is None else dt.datetime.fromisoformat(row["told"]) for row in rows]
    plain = [None if moment is None else moment.replace(tzinfo=None) for moment in told]
    table = pa.table(
        {
            "person": [row["person"] for row in rows],
            "age": [row["age"] for row in rows],
            "seen": pa.array(seen, pa.timestamp("ms", "UTC")),
            "told": pa.array(plain, pa.timestamp("us")),
            "row": [row["row"] for row in rows],
        }
    )
    return table.to_pandas() if kind == "pandas" else table


@pytest.mark.parametrize("kind", ["pyarrow", "pandas"])
def test_timestamps_of_frames_have_the_hours_of_the_zone(tmp_path: Path, kind: str) -> None:
    path = write_document(tmp_path, settings_of(Shape.NATURAL))
    found = anonymize_frame(_frame(kind), load_policy(path))
    table = pa.Table.from_pandas(found) if kind == "pandas" else found
    ends = table.schema.field("seen").type
    assert {ends.field(i).type for i in range(2)} == {pa.timestamp("s", "Europe/Berlin")}
    told = table.schema.field("told").type
    assert {told.field(i).type for i in range(2)} == {pa.timestamp("s")}
    firsts = [row["min"] for row in table.column("seen").to_pylist() if row["min"] is not None]
    assert len(firsts) > 700
    assert any(first.utcoffset() == dt.timedelta(hours=2) and first.hour == 2 for first in firsts)
    assert any(first.utcoffset() == dt.timedelta(hours=1) and first.hour == 2 for first in firsts)
