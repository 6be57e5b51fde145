"""Programs that are not ours read typed output as the printed schemas say: Avro, Protobuf, SQL, ODCS, frames."""

from __future__ import annotations

import datetime as dt
import io
import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import pandas as pd
import pyarrow as pa
import pyarrow.json as pa_json
import pytest
import yaml
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.schema import make_avsc_object
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc_tools import protoc
from jsonschema import Draft201909Validator
from typer.testing import CliRunner

from stream_anon.cli.main import app
from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Insensitive
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.schemas.avro import avro_schema
from stream_anon.microdata.schemas.data_contract import data_contract
from stream_anon.microdata.schemas.output_fields import Field, fields_of
from stream_anon.microdata.schemas.protobuf import protobuf_schema
from stream_anon.microdata.schemas.sql import sql_table
from stream_anon.settings.policy_file import load_policy
from tests.support.audited_files import Files, visits
from tests.support.hostile import grid
from tests.support.policies import write_document
from tests.unit.operations.audit.test_shapes import settings_of

SHAPES = [Shape.TYPED, Shape.FLAT]
shapes = pytest.mark.parametrize("shape", SHAPES)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> dict[Shape, Files]:
    return {shape: Files(tmp_path_factory.mktemp(str(shape)), settings_of(shape), visits(300)) for shape in SHAPES}


def records_of(files: Files) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in files.lines]
    assert len(records) > 150
    return records


def with_days(fields: tuple[Field, ...], record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with dates in place of their texts."""
    found = {}
    for field in fields:
        value = record[field.name]
        if field.fields:
            value = with_days(field.fields, value)
        elif field.type == "date" and value is not None:
            value = dt.date.fromisoformat(value)
        found[field.name] = value
    return found


@shapes
def test_avro_holds_every_record(released: dict[Shape, Files], shape: Shape) -> None:
    policy = released[shape].policy
    schema = fastavro.parse_schema(json.loads(json.dumps(avro_schema(policy))))
    records = [with_days(fields_of(policy), record) for record in records_of(released[shape])]
    file = io.BytesIO()
    fastavro.writer(file, schema, records, validator=True, strict=True)
    file.seek(0)
    assert list(fastavro.reader(file)) == records


@pytest.mark.filterwarnings("ignore::avro.errors.IgnoredLogicalType")
@shapes
@pytest.mark.parametrize("added", ["numeric", "date", "hour", "below", "category", "list"])
def test_an_attribute_may_be_added_anywhere_and_readers_of_either_schema_take_records_of_the_other(
    shape: Shape, added: str, tmp_path: Path
) -> None:
    """As Confluent's FULL asks, by the rules of fastavro and of Avro's own library."""
    days = {"min": "2024-01-01", "max": "2024-12-31"}
    role = {"role": "quasi-identifier"}
    more: dict[str, Any] = {
        "numeric": {"x": role | {"numeric": {"min": 0, "max": 9}}},
        "date": {"x": role | {"date": days}},
        "hour": {"x": role | {"date": days | {"finest": "hour", "format": "iso8601"}}},
        "below": {"x.y.z": role | {"numeric": {"min": 0, "max": 9}}, "x.y.word": {"role": "sensitive"}},
        "category": {"x": role | {"hierarchy": {"all": ["a", "b"]}}},
        "list": {"x": {"role": "sensitive", "type": "string[]"}},
    }
    old, new = (
        avro_schema(load_policy(write_document(tmp_path, _document(shape, attributes))))
        for attributes in ({}, more[added])
    )
    assert new["fields"][0]["name"].startswith("x")
    for reader, writer in ((new, old), (old, new)):
        parsed = make_avsc_object(reader), make_avsc_object(writer)
        found = ReaderWriterCompatibilityChecker().get_compatibility(*parsed)
        assert found.compatibility is SchemaCompatibilityType.compatible, found.messages
    record = {"age": {"min": 3, "max": None}} if shape is Shape.TYPED else {"age_min": 3, "age_max": None}
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(old), record)
    body.seek(0)
    read = fastavro.schemaless_reader(body, fastavro.parse_schema(old), fastavro.parse_schema(new))
    assert isinstance(read, dict)
    assert {name: read.pop(name) for name in record} == record
    assert read
    assert _leaves(read) == {None}


def _document(shape: Shape, more: dict[str, Any]) -> dict[str, Any]:
    age = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 9}}
    privacy = {"k": 2, "individual": "every-record"}
    return {"privacy": privacy, "output": {"shape": str(shape)}, "attributes": {**more, "age": age}}


def _leaves(value: Any) -> set[Any]:
    return {leaf for each in value.values() for leaf in _leaves(each)} if isinstance(value, dict) else {value}


def message_class(text: str, folder: Path) -> Any:
    source, compiled = folder / "record.proto", folder / "record.bin"
    source.write_text(text)
    assert protoc.main(["protoc", f"-I{folder}", f"--descriptor_set_out={compiled}", str(source)]) == 0
    files = descriptor_pb2.FileDescriptorSet.FromString(compiled.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)  # type: ignore[no-untyped-call]
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("stream_anon.ReleasedRecord"))


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    return value


@shapes
def test_protobuf_holds_every_record(released: dict[Shape, Files], tmp_path: Path, shape: Shape) -> None:
    kind = message_class(protobuf_schema(released[shape].policy), tmp_path)
    for record in records_of(released[shape]):
        message = json_format.ParseDict(record, kind())
        again = kind.FromString(message.SerializeToString())
        printed = json.loads(json_format.MessageToJson(again))
        assert _numbers(printed) == _numbers(without_nulls(record))


def _numbers(value: Any) -> Any:
    """Return a record with its integers as the texts that JSON of Protobuf writes."""
    if isinstance(value, dict):
        return {key: _numbers(one) for key, one in value.items()}
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


@shapes
def test_a_sql_table_takes_every_record(released: dict[Shape, Files], shape: Shape) -> None:
    files, database = released[shape], duckdb.connect()
    database.execute(sql_table(files.policy))
    path = str(files.output)
    database.execute("INSERT INTO released_records BY NAME SELECT * FROM read_json(?)", [path])
    columns = [row[0] for row in database.execute("DESCRIBE released_records").fetchall()]
    expected = [with_days(fields_of(files.policy), record) for record in records_of(files)]
    rows = [dict(zip(columns, row, strict=True)) for row in database.execute("FROM released_records").fetchall()]
    assert rows == expected
    if shape is Shape.FLAT:
        # What a reader gets without the table, by looking at the records, has the same types.
        looked = database.execute("DESCRIBE SELECT * FROM read_json(?)", [path]).fetchall()
        wanted = database.execute("DESCRIBE released_records").fetchall()
        assert [row[:2] for row in looked] == [row[:2] for row in wanted]


@shapes
def test_a_data_contract_fits_the_standard(released: dict[Shape, Files], shape: Shape) -> None:
    standard = json.loads(resources.files("open_data_contract_standard").joinpath("schema.json").read_text())
    contract = yaml.safe_load(yaml.safe_dump(data_contract(released[shape].policy)))
    assert list(map(str, Draft201909Validator(standard).iter_errors(contract))) == []
    told = {one["name"]: one["logicalType"] for one in contract["schema"][0]["properties"]}
    assert told["plan"] == "array"
    assert told["day" if shape is Shape.TYPED else "day_min"] == ("object" if shape is Shape.TYPED else "date")
    assert not Draft201909Validator(standard).is_valid(contract | {"kind": "Treaty"})


def test_a_data_contract_without_k_says_what_shields_promise_and_that_nothing_else_is(
    released: dict[Shape, Files],
) -> None:
    policy = released[Shape.TYPED].policy
    first, *others = (attribute.name for attribute in policy.quasi_identifiers)
    bare = replace(policy, k=None, max_share=1.0, shields=(Shield((first,), 9),))
    told = data_contract(bare)["description"]
    assert "k-anonymous" not in told["purpose"]
    assert f"9 of {first}. " in told["limitations"]
    assert f"nothing protects {', '.join(others)}" in told["limitations"]
    assert "at least" in data_contract(policy)["description"]["limitations"]


def test_pyarrow_reads_flat_records_in_one_type_a_column(released: dict[Shape, Files]) -> None:
    files = released[Shape.FLAT]
    # Small blocks: what one block holds does not say what the next ones hold.
    table = pa_json.read_json(files.output, read_options=pa_json.ReadOptions(block_size=4096))
    assert table.num_rows == len(files.lines)
    assert table.schema.field("patient_age_min").type == pa.int64()
    assert table.schema.field("weight_max").type == pa.float64()
    assert table.schema.field("cost").type == pa.float64()
    assert table.schema.field("plan").type == pa.list_(pa.string())
    assert table.schema.field("ward").type == pa.string()
    assert table.to_pylist()[0]["patient_age_min"] == json.loads(files.lines[0])["patient_age_min"]


def test_pyarrow_reads_typed_records_in_one_type_a_column(released: dict[Shape, Files]) -> None:
    files = released[Shape.TYPED]
    table = pa_json.read_json(files.output, read_options=pa_json.ReadOptions(block_size=4096))
    age = table.schema.field("patient").type.field("age").type
    assert {age.field(i).name: age.field(i).type for i in range(2)} == {"min": pa.int64(), "max": pa.int64()}
    assert table.num_rows == len(files.lines)


def test_pandas_reads_flat_records_in_one_type_a_column(released: dict[Shape, Files]) -> None:
    files = released[Shape.FLAT]
    frame = pd.read_json(files.output, lines=True, dtype_backend="numpy_nullable")
    assert len(frame) == len(files.lines)
    assert str(frame["patient_age_min"].dtype) == "Int64"
    assert str(frame["weight_min"].dtype) == "Float64"
    assert str(frame["patient_zip"].dtype) == "string"
    assert (frame["patient_age_min"] <= frame["patient_age_max"]).all()


@shapes
def test_pandas_makes_days_of_the_texts_of_either_shape(released: dict[Shape, Files], shape: Shape) -> None:
    files = released[shape]
    frame = pd.read_json(files.output, lines=True)
    ends = [frame[f"day_{end}"] if shape is Shape.FLAT else frame["day"].str[end] for end in ("min", "max")]
    least, greatest = map(pd.to_datetime, ends)
    assert least.dtype.kind == "M"
    known = least.notna()
    assert known.sum() > 100
    assert (least[known] <= greatest[known]).all()


@pytest.mark.parametrize("schema", [avro_schema, protobuf_schema, sql_table, data_contract])
def test_natural_records_have_no_other_schema_than_json_schema(released: dict[Shape, Files], schema: Any) -> None:
    with pytest.raises(SettingsError, match="set it to typed or flat"):
        schema(replace(released[Shape.TYPED].policy, shape=Shape.NATURAL))


@pytest.mark.parametrize("schema", [avro_schema, protobuf_schema])
def test_a_name_that_the_format_does_not_know_is_refused(schema: Any, tmp_path: Path) -> None:
    age = QuasiIdentifier("person.home town", grid("0", "9", "1", 0))
    policy = Policy((age,), k=2, individual="every-record", shape=Shape.TYPED)
    with pytest.raises(SettingsError, match="only letters a-z, digits and _ are"):
        schema(policy)
    # SQL quotes any name.
    database = duckdb.connect()
    database.execute(sql_table(policy))
    assert database.execute("DESCRIBE released_records").fetchall()[0][1].startswith('STRUCT("home town"')


def test_objects_of_one_key_and_fields_named_like_their_types_are_told_apart(tmp_path: Path) -> None:
    quasi = [QuasiIdentifier(name, grid("0", "9", "1", 0)) for name in ("a.x", "b.x", "released_record")]
    policy = Policy(
        (*quasi, Insensitive("a_object"), Insensitive("b.x_object")),
        k=2,
        individual="every-record",
        shape=Shape.TYPED,
    )
    fastavro.parse_schema(avro_schema(policy))
    record = {"a": {"x": {"min": 1}}, "b": {"x": {"max": 2}, "x_object": "v"}, "a_object": "w"}
    kind = message_class(protobuf_schema(policy), tmp_path)
    message = json_format.ParseDict(record, kind())
    assert _numbers(json.loads(json_format.MessageToJson(message))) == _numbers(record)


@pytest.mark.parametrize(
    ("kind", "beginning"),
    [
        ("json-schema", '{\n  "$schema"'),
        ("avro", '{\n  "type": "record"'),
        ("protobuf", "// A record released by stream-anon.\n"),
        ("sql", "-- Records released by stream-anon.\n"),
        ("odcs", "apiVersion: v3.1.0"),
    ],
)
def test_the_command_prints_each_schema(released: dict[Shape, Files], kind: str, beginning: str) -> None:
    files = released[Shape.FLAT]
    result = CliRunner().invoke(app, ["schema", "-c", str(files.policy_path), "--format", kind])
    assert result.exit_code == 0
    assert result.output.startswith(beginning)
