"""Lists of values: they pass as they came through every way in and out, in every shape, and pass the audit."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from stream_anon import Anonymizer, anonymize_frame
from stream_anon.audit.verdict import Kind
from stream_anon.errors import SettingsError
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.json.single_reading import SingleReader
from stream_anon.microdata.attributes import MOST_ITEMS
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.coding import CodedRecord
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.avro import avro_schema
from stream_anon.microdata.schemas.data_contract import data_contract
from stream_anon.microdata.schemas.json_schema import released_schema
from stream_anon.microdata.schemas.protobuf import protobuf_schema
from stream_anon.microdata.schemas.sql import sql_table
from stream_anon.operations.audit.auditing import audit_files
from stream_anon.settings.policy_file import load_policy
from tests.support.audited_files import Files
from tests.support.commands import run
from tests.support.policies import write_document, write_json_lines

ILLNESSES = ["flu", "gout", 'a "rare" one', "ague, too", "croup"]


def document(shape: Shape = Shape.NATURAL, **attributes: Any) -> dict[str, Any]:
    return {
        "privacy": {"k": 3, "individual": "id"},
        "window": {"max_records": 300},
        "engine": {"name": "mondrian", "seed": 1},
        "attributes": {
            "id": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
            "visit.illnesses": {"role": "sensitive", "type": "string[]", "accept_linkable": True},
            "doses": {"role": "insensitive", "type": "number[]", "accept_linkable": True},
            "rooms": {"role": "insensitive", "type": "integer[]", "accept_linkable": True},
            "asked": {"role": "insensitive", "type": "boolean[]", "accept_linkable": True},
            "row": {"role": "insensitive", "type": "integer", "accept_linkable": True},
            **attributes,
        },
        "input": {"null_values": ["n/a"]},
        "output": {"shape": str(shape)},
    }


def records(count: int = 300) -> list[dict[str, Any]]:
    draws = np.random.default_rng(2)
    found: list[dict[str, Any]] = []
    for i in range(count):
        held = draws.choice(ILLNESSES, int(draws.integers(4)), replace=False).tolist()
        doses = [[1, 2.5], [3], [], [-0.0, 1e20, 0.001], None][int(draws.integers(5))]
        record = {"id": i, "age": int(draws.integers(100)), "visit": {"illnesses": held}, "doses": doses, "row": i}
        found.append(
            record | {"rooms": [int(one) for one in draws.integers(0, 9, 2)], "asked": [True, bool(i % 2)]}
        )
    return found


RECORDS = records()
LISTS = ("rooms", "doses", "asked")


@pytest.fixture(scope="module", params=list(Shape))
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp(str(request.param)), document(request.param), RECORDS)


def test_lists_pass_as_they_came_in_every_shape(files: Files) -> None:
    assert len(files.lines) > 250
    flat = files.policy.shape is Shape.FLAT
    for record in map(json.loads, files.lines):
        given = RECORDS[record["row"] if isinstance(record["row"], int) else int(record["row"])]
        held = record["visit_illnesses"] if flat else record["visit"]["illnesses"]
        assert held == given["visit"]["illnesses"]
        assert record["doses"] == given["doses"]
        assert record["rooms"] == given["rooms"]
        assert record["asked"] == given["asked"]


def test_items_of_typed_numbers_have_one_type(files: Files) -> None:
    kinds = {type(item) for line in files.lines for item in json.loads(line)["doses"] or ()}
    assert kinds == ({float} if files.policy.shape is not Shape.NATURAL else {int, float})
    assert {type(item) for line in files.lines for item in json.loads(line)["rooms"]} == {int}


def test_an_audit_of_lists_is_clean_and_accuses_what_is_no_list(files: Files, tmp_path: Path) -> None:
    assert files.kinds() == set()
    for wrong in ("flu", [1.5, "x"], {"a": 1}, [[1]], [1] * (MOST_ITEMS + 1)):
        changed = files.copied(tmp_path)
        changed.lines[0] = json.dumps(json.loads(changed.lines[0]) | {"rooms": wrong}).encode()
        changed.write()
        assert changed.kinds() == {Kind.WRONG_TYPE}


def test_schemas_of_every_format_describe_lists(files: Files) -> None:
    validator = Draft7Validator(released_schema(files.policy))
    read = [json.loads(line) for line in files.lines]
    assert all(validator.is_valid(record) for record in read)
    assert not validator.is_valid(read[0] | {"rooms": ["x"]})
    assert not validator.is_valid(read[0] | {"rooms": [1] * (MOST_ITEMS + 1)})
    if files.policy.shape is Shape.NATURAL:
        return
    schema = fastavro.parse_schema(json.loads(json.dumps(avro_schema(files.policy))))
    room = io.BytesIO()
    fastavro.writer(room, schema, read, validator=True, strict=True)
    room.seek(0)
    assert list(fastavro.reader(room)) == read
    assert "repeated double doses" in protobuf_schema(files.policy)
    told = {one["name"]: one for one in data_contract(files.policy)["schema"][0]["properties"]}
    assert told["rooms"]["logicalType"] == "array"
    assert told["rooms"]["items"] == {"logicalType": "integer"}
    database = duckdb.connect()
    database.execute(sql_table(files.policy))
    database.execute("INSERT INTO released_records BY NAME SELECT * FROM read_json(?)", [str(files.output)])
    rows = database.execute("SELECT doses, rooms, typeof(doses) FROM released_records").fetchall()
    assert [list(row[:2]) for row in rows] == [[record["doses"], record["rooms"]] for record in read]
    assert {row[2] for row in rows} == {"DOUBLE[]"}


def _table() -> Any:
    columns = {name: [record[name] for record in RECORDS] for name in ("id", "age", "rooms", "asked", "row")}
    doses = [None if one["doses"] is None else list(map(float, one["doses"])) for one in RECORDS]
    held = [record["visit"]["illnesses"] for record in RECORDS]
    return pa.table(columns | {"doses": doses, "visit.illnesses": held})


CELLS: list[list[str] | None] = [["a", "b"], ["b"], [], None]
EMPTY: list[list[str] | None] = [[], [], [], None]
_ROOM = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.int32()), pa.array(["a", "b"]))
_KINDS = {
    "list_view": pa.array(CELLS, pa.list_view(pa.string())),
    "large_list_view": pa.array(CELLS, pa.large_list_view(pa.string())),
    "list of categories": pa.ListArray.from_arrays(
        [0, 2, 3, 3, 3], _ROOM, mask=pa.array([False, False, False, True])
    ),
}
_NOTHING = pa.array(EMPTY, pa.list_(pa.null()))


def _relation(columns: dict[str, Any]) -> Any:
    return duckdb.connect().from_arrow(pa.table(columns))


LIST_FRAMES: dict[str, tuple[Callable[[Any], Any], Any, list[list[str] | None]]] = {
    **{f"pyarrow {kind}": (pa.table, cells, CELLS) for kind, cells in _KINDS.items()},
    "pyarrow of nothing": (pa.table, _NOTHING, EMPTY),
    "polars": (pl.DataFrame, CELLS, CELLS),
    "polars of nothing": (pl.DataFrame, pl.Series(EMPTY, dtype=pl.List(pl.Null)), EMPTY),
    "polars categories": (pl.DataFrame, pl.Series(CELLS, dtype=pl.List(pl.Categorical)), CELLS),
    "polars enumeration": (pl.DataFrame, pl.Series(CELLS, dtype=pl.List(pl.Enum(["a", "b"]))), CELLS),
    "pandas": (pd.DataFrame, CELLS, CELLS),
    "pandas of nothing": (pd.DataFrame, EMPTY, EMPTY),
    "duckdb": (_relation, CELLS, CELLS),
    "duckdb of nothing": (_relation, _NOTHING, EMPTY),
}


@pytest.mark.parametrize("kind", LIST_FRAMES)
def test_lists_are_taken_whatever_type_a_frame_has_them_in(tmp_path: Path, kind: str) -> None:
    given = {
        **document(),
        "privacy": {"k": 2, "individual": "id", "max_share": 1.0},
        "attributes": {
            "id": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
            "held": {"role": "sensitive", "type": "string[]", "accept_linkable": True, "accept_missing": True},
        },
    }
    make, held, cells = LIST_FRAMES[kind]
    frame = make({"id": list("abcd"), "age": [1] * 4, "held": held})
    anonymizer = Anonymizer(load_policy(write_document(tmp_path, given)))
    (release,) = [*anonymizer.add(frame), *anonymizer.close()]
    assert release.rejected == []
    assert sorted(repr(record["held"]) for record in release.records) == sorted(map(repr, cells))


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "large"])
def test_columns_of_lists_come_out_of_frames_as_lists(tmp_path: Path, kind: str) -> None:
    policy, table = load_policy(write_document(tmp_path, document())), _table()
    if kind == "large":
        place = table.schema.get_field_index("rooms")
        table = table.set_column(place, "rooms", table["rooms"].cast(pa.large_list(pa.int32())))
    found = anonymize_frame(table.to_pandas() if kind == "pandas" else table, policy)
    out = pa.Table.from_pandas(found) if kind == "pandas" else found
    assert out.schema.field("rooms").type == pa.list_(pa.int64())
    assert out.schema.field("doses").type == pa.list_(pa.float64())
    assert out.schema.field("visit.illnesses").type == pa.list_(pa.string())
    assert len(out) > 250
    for row in out.to_pylist():
        given = RECORDS[row["row"]]
        assert row["rooms"] == given["rooms"]
        assert row["doses"] == given["doses"]
        assert row["visit.illnesses"] == given["visit"]["illnesses"]


@pytest.mark.parametrize("source", ["jsonl", "parquet", "csv"])
@pytest.mark.parametrize("target", ["jsonl", "parquet", "csv"])
def test_files_of_each_format_hold_lists_and_pass_the_audit(source: str, target: str, tmp_path: Path) -> None:
    policy, given = write_document(tmp_path, document()), tmp_path / f"in.{source}"
    if source == "jsonl":
        write_json_lines(given, RECORDS)
    elif source == "parquet":
        pq.write_table(_table(), given)
    else:
        cells = [{name: _cell(value) for name, value in row.items()} for row in _table().to_pylist()]
        pd.DataFrame(cells).to_csv(given, index=False)
    out, proof = tmp_path / f"out.{target}", tmp_path / "proof.jsonl"
    assert run("anonymize", "-c", policy, given, out, "--certificates", proof) == 0
    if target != "parquet":
        assert audit_files(policy, out, proof).verdict.clean
    if target == "csv":
        with out.open(newline="") as cells:
            texts = list(csv.DictReader(cells))
        rows = [{name: json.loads(row[name]) if row[name] else None for name in (*LISTS, "row")} for row in texts]
    else:
        rows = (
            pq.read_table(out).to_pylist()
            if target == "parquet"
            else list(map(json.loads, out.read_text().splitlines()))
        )
    assert len(rows) > 250
    for row in rows:
        given_row = RECORDS[row["row"]]
        assert (row["rooms"], row["doses"], row["asked"]) == tuple(
            given_row[n] for n in ("rooms", "doses", "asked")
        )


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list) else value


def test_records_of_python_may_hold_lists_tuples_and_arrays(tmp_path: Path) -> None:
    policy = load_policy(write_document(tmp_path, document()))
    changed = [{**one, "rooms": np.array(one["rooms"]), "asked": tuple(one["asked"])} for one in RECORDS]
    anonymizer = Anonymizer(policy)
    releases = (*anonymizer.add(changed), *anonymizer.close())
    rows = [row for release in releases for row in release.records]
    assert len(rows) > 250
    assert all(list(row["rooms"]) == RECORDS[row["row"]]["rooms"] for row in rows)


VALUES = [
    b"[]", b"null", b'["a"]', b'[ "a" , "b" ]', b'["a","a"]', b'["n/a","a"]', b'[null,"a"]', b'"a"', b"1", b"[1]",
    b'["\\u0061"]', b'["a\\n"]', b'[["a"]]', b'{"a":1}', b'["a",]', b"[", b'["\xff"]', b"true",
    b'["' + b'","'.join([b"x"] * MOST_ITEMS) + b'"]', b'["' + b'","'.join([b"x"] * (MOST_ITEMS + 1)) + b'"]',
]  # fmt: skip


@given(data=st.data())
def test_fast_and_slow_readers_agree_about_lists(data: st.DataObject) -> None:
    policy = POLICY
    chosen = data.draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=6))
    tags = data.draw(
        st.lists(st.sampled_from([b"[1]", b"[1, 2]", b"[1.0]", b"[1e3]", b"[1.5]", b"null"]), min_size=6)
    )
    texts = [
        b'{"id":%d,"tags":%s,"other":[1,{"x":[]}],"numbers":%s,"age":30}' % (i, one, tags[i % len(tags)])
        for i, one in enumerate(chosen)
    ]
    codec = JsonCodec(policy)
    batch = codec.decode(texts, 0, np.arange(len(texts)))
    single = [SingleReader(policy, 1 << 20).read(text) for text in texts]
    passed = [one.passed for one in single if isinstance(one, CodedRecord)]
    assert list(batch.payload) == passed
    assert batch.rejects.reasons.tolist() == [one.reason for one in single if not isinstance(one, CodedRecord)]


def _policy() -> Policy:
    from stream_anon.settings.loading import parse_settings
    from stream_anon.settings.policy_file import build_policy

    attributes = {
        "id": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
        "tags": {"role": "sensitive", "type": "string[]"},
        "numbers": {"role": "insensitive", "type": "integer[]"},
    }
    given = {"privacy": {"k": 2, "individual": "id"}, "attributes": attributes, "input": {"null_values": ["n/a"]}}
    return build_policy(parse_settings(given), Path("policy.yaml"))


POLICY = _policy()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("flu", Reason.WRONG_TYPE), ([1], Reason.WRONG_TYPE), ([["flu"]], Reason.WRONG_TYPE),
        (["flu"] * (MOST_ITEMS + 1), Reason.TOO_LARGE), ({"flu": 1}, Reason.WRONG_TYPE),
    ],
)  # fmt: skip
def test_what_is_no_list_of_the_type_is_rejected_with_its_attribute(value: Any, reason: Reason) -> None:
    text = json.dumps({"id": 1, "age": 3, "tags": value}).encode()
    rejects = JsonCodec(POLICY).decode([text], 0, np.arange(1)).rejects
    assert rejects.reasons.tolist() == [reason]
    assert POLICY.attributes[int(rejects.attributes[0])].name == "tags"


def test_lists_leave_the_fast_reader_on() -> None:
    codec = JsonCodec(POLICY)
    texts = [b'{"id":%d,"age":30,"tags":["a", "b"],"numbers":[1,2]}' % i for i in range(50)]
    assert len(codec.decode(texts, 0, np.arange(50))) == 50
    assert codec.read_singly == 0
    assert codec.slow_attributes == ()


def test_missing_items_are_left_out() -> None:
    text = b'{"id":1,"age":30,"tags":["n/a",null,"a"]}'
    assert JsonCodec(POLICY).decode([text], 0, np.arange(1)).payload[0] == (("a",), None)


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        (
            {"age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 9}, "type": "integer[]"}},
            "a list cannot be generalized: let the producer write",
        ),
        ({"rooms": {"role": "insensitive", "type": "integer[]", "coerce": True}}, "not for a list"),
        ({"id": {"role": "identifier", "type": "string[]"}}, "an identifier needs no type"),
    ],
)
def test_a_list_where_none_can_be_is_refused_with_what_to_do(
    tmp_path: Path, attributes: dict[str, Any], why: str
) -> None:
    with pytest.raises(SettingsError, match=why):
        load_policy(write_document(tmp_path, document(**attributes)))
