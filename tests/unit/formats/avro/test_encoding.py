"""Released bodies against the typed JSON of the same release, read by programs that are not ours."""

from __future__ import annotations

import datetime as dt
import io
import json
import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import fastavro
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_anon.errors import SettingsError
from stream_anon.formats.avro.encoding import AvroEncoder
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.writing.binary import write_values
from stream_anon.formats.writing.odd_values import odd_cells
from stream_anon.formats.writing.record_writing import write_records
from stream_anon.formats.writing.varints import zigzag
from stream_anon.microdata.attributes import Identifier, Insensitive, ScalarType
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.domains.calendar.calendar_cells import Finest
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Classes, Release
from stream_anon.microdata.schemas.output_fields import Field, fields_of
from tests.conformance.test_codecs import fitting, release_of
from tests.support import avro_records, hostile
from tests.support.effort import examples

SHAPES = [Shape.TYPED, Shape.FLAT]
NAMES = list(hostile.FITTING)
shapes = pytest.mark.parametrize("shape", SHAPES)
slowly = settings(examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
records = st.lists(hostile.objects(NAMES), max_size=8)


@cache
def policy_of(shape: Shape) -> Policy:
    """Return the policy of the conformance suite, with names that Avro knows."""
    policy = hostile.shaped_policy(shape)
    attributes = [
        replace(a, keys=tuple(key.replace(".", "_") for key in a.path)) if a.name.endswith("dotted.key") else a
        for a in policy.attributes
    ]
    return replace(policy, attributes=tuple(attributes))


@cache
def json_codec_of(shape: Shape) -> JsonCodec:
    return JsonCodec(policy_of(shape))


@cache
def encoder_of(shape: Shape) -> tuple[JsonCodec, AvroEncoder]:
    return json_codec_of(shape), AvroEncoder(policy_of(shape))


def released(
    encoder: Any, shape: Shape, given_records: list[dict[str, Any]], seed: int
) -> tuple[CodedBatch, Release]:
    """Return what an encoder admits of some records and of four that fit, and a release of it."""
    texts = [hostile.text_of(record) for record in given_records] + [fitting("json", i) for i in range(4)]
    batch = encoder.admitted(json_codec_of(shape).decode(texts, 0, np.arange(len(texts))))
    return batch, release_of(policy_of(shape), batch, seed)


def check_bounds(encoder: Any, batch: CodedBatch, release: Release) -> None:
    """An encoder names the rows whose bodies are too large, and no body is larger than it says."""
    sizes = dict(zip(release.order.tolist(), map(len, encoder.encode(release)), strict=True))
    for most in {0, 10_000, *sizes.values(), *(size - 1 for size in sizes.values())}:
        assert encoder.larger_than(release, most).tolist() == [
            row for row in release.order.tolist() if sizes[row] > most
        ]
    for row, size in sizes.items():
        kept = sum(len(json.dumps(value, ensure_ascii=False).encode()) for value in batch.payload[row])
        assert size <= encoder.most_around + kept


def expected(fields: tuple[Field, ...], value: dict[str, Any]) -> dict[str, Any]:
    return {field.name: _expected(field, value[field.name]) for field in fields}


def _expected(field: Field, value: Any) -> Any:
    if field.fields:
        return expected(field.fields, value)
    if value is None:
        return value
    if field.many:
        return [_expected(replace(field, many=False), item) for item in value]
    if field.type == "number":
        return float(value)
    if field.type == "integer":
        return int(value)
    if field.type == "timestamp":
        return dt.datetime.fromisoformat(value).astimezone(dt.UTC)
    if field.type == "local-timestamp":
        return dt.datetime.fromisoformat(value)
    return dt.date.fromisoformat(value) if field.type == "date" else value


def read(schema: Any, body: bytes) -> Any:
    file = io.BytesIO(body)
    found = fastavro.schemaless_reader(file, schema, None)
    assert file.tell() == len(body)
    return found


@shapes
@slowly
@given(given_records=records, seed=st.integers(0, 2**16))
def test_bodies_say_what_the_json_of_the_same_release_says(
    shape: Shape, given_records: list[dict[str, Any]], seed: int
) -> None:
    policy, (json_codec, encoder) = policy_of(shape), encoder_of(shape)
    _, release = released(encoder, shape, given_records, seed)
    schema = fastavro.parse_schema(json.loads(encoder.schema))
    texts = json_codec.encode(release)
    bodies = list(encoder.encode(release))
    assert len(bodies) == len(texts)
    for body, text in zip(bodies, texts, strict=True):
        assert body is not None
        wanted = expected(fields_of(policy), json.loads(text))
        found = read(schema, body)
        assert repr(found) == repr(wanted)
        plain = avro_records.PlainReader(body, avro_records.named_types(json.loads(encoder.schema)), logical=False)
        assert plain.whole(json.loads(encoder.schema)) is not None


@shapes
@slowly
@given(given_records=records, seed=st.integers(0, 2**16))
def test_bounds_on_bodies_are_true(shape: Shape, given_records: list[dict[str, Any]], seed: int) -> None:
    _, encoder = encoder_of(shape)
    check_bounds(encoder, *released(encoder, shape, given_records, seed))


@shapes
def test_polars_reads_what_is_released(shape: Shape) -> None:
    policy, (json_codec, encoder) = policy_of(shape), encoder_of(shape)
    _, release = released(encoder, shape, [], 1)
    bodies = [body or b"" for body in encoder.encode(release)]
    frame = pl.read_avro(io.BytesIO(container(_without_defaults(encoder.schema), bodies)))
    wanted = [expected(fields_of(policy), json.loads(text)) for text in json_codec.encode(release)]
    assert frame.to_dicts() == wanted


def _without_defaults(schema: str) -> str:
    """Return a schema whose records read alike: Polars takes no default of a record."""

    def bare(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: bare(one) for key, one in part.items() if key != "default"}
        return list(map(bare, part)) if isinstance(part, list) else part

    return json.dumps(bare(json.loads(schema)))


def container(schema: str, bodies: list[bytes]) -> bytes:
    """Return an Avro file of one block."""
    sync, block = bytes(16), b"".join(bodies)
    meta = avro_records._text("avro.schema") + avro_records._text(schema)
    head = b"Obj\x01" + avro_records.zigzag(1) + meta + b"\x00" + sync
    return head + avro_records.zigzag(len(bodies)) + avro_records.zigzag(len(block)) + block + sync


PASSING = (
    Insensitive("text"),
    Insensitive("whole", ScalarType.INTEGER),
    Insensitive("number", ScalarType.NUMBER),
    Insensitive("flag", ScalarType.BOOLEAN),
    Insensitive("texts", many=True),
    Insensitive("wholes", ScalarType.INTEGER, many=True),
    Insensitive("numbers", ScalarType.NUMBER, many=True),
)
AGE = QuasiIdentifier("age", NumericDomain(Decimal(0), Decimal(120), Decimal(1), 0))
SMALL = Policy((Identifier("id"), AGE, *PASSING), k=2, individual="id", shape=Shape.FLAT)
NUMBERS = (
    st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300)
)
WHOLE = st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300) | st.integers(-300, 300).map(float)

VALUES = st.tuples(
    st.none() | st.text() | st.sampled_from(['"', "\\", "\n\t\x00", "/", "😀", "a" * 127, "b" * 20_000]),
    st.none() | WHOLE,
    st.none() | NUMBERS,
    st.none() | st.booleans(),
    st.none() | st.lists(st.text(max_size=3), max_size=5).map(tuple),
    st.none() | st.lists(WHOLE, max_size=5).map(tuple),
    st.none() | st.lists(NUMBERS, max_size=5).map(tuple),
)
TYPES = (str, int, float)
NOTHING = (None, None, None)


def bodies_of(
    encoder: Any, policy: Policy, rows: list[tuple[Any, ...]], ages: tuple[Any, ...] = ("*",)
) -> list[bytes]:
    """Return the bodies of rows in classes of these ages."""
    bounds, ones = np.zeros((1, len(ages)), np.int32), np.ones(len(ages), np.int64)
    release = replace(
        release_of(policy, CodedBatch.none(1, 0), 0),
        classes=Classes(bounds, bounds, [list(ages)], ones, ones, np.zeros((1, len(ages)))),
        class_of_row=(np.arange(len(rows)) % len(ages)).astype(np.int32),
        order=np.arange(len(rows)),
        payload=rows,
    )
    return [body or b"" for body in encoder.encode(release)]


def passed_through(rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    encoder = AvroEncoder(SMALL)
    schema = fastavro.parse_schema(json.loads(encoder.schema))
    return [read(schema, body) for body in bodies_of(encoder, SMALL, rows)]


@given(st.lists(VALUES, max_size=10))
def test_values_that_pass_are_what_they_were(rows: list[tuple[Any, ...]]) -> None:
    for found, (text, whole, number, flag, *lists) in zip(passed_through(rows), rows, strict=True):
        assert (found["text"], found["whole"], found["flag"]) == (text, whole, flag)
        assert found["number"] == (None if number is None else float(number))
        wanted = [
            None if items is None else list(map(type_of, items))
            for items, type_of in zip(lists, TYPES, strict=True)
        ]
        assert repr([found["texts"], found["wholes"], found["numbers"]]) == repr(wanted)
        assert number is None or math.copysign(1, found["number"]) == math.copysign(1, float(number))


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_integers_are_written_as_avro_says(numbers: list[int]) -> None:
    for number in numbers:
        assert zigzag(number) == avro_records.zigzag(number)


def test_numbers_that_avro_cannot_hold_are_rejected_and_name_their_attribute() -> None:
    codec, encoder = JsonCodec(SMALL), AvroEncoder(SMALL)
    values = [
        b'{"id":1,"age":1,"whole":9223372036854775807,"number":1e308}',
        b'{"id":2,"age":1,"whole":9223372036854775808}',
        b'{"id":3,"age":1,"whole":1e22}',
        b'{"id":4,"age":200}',
        b'{"id":5,"age":1,"whole":-9223372036854775808}',
        b'{"id":6,"age":1,"whole":-9223372036854775809}',
        b'{"id":7,"age":1,"number":1' + b"0" * 400 + b"}",
        b'{"id":8,"age":1,"number":1' + b"0" * 305 + b',"whole":2.0}',
        b'{"id":9,"age":1,"wholes":[1,9223372036854775808]}',
        b'{"id":9,"age":1,"numbers":[1,1' + b"0" * 400 + b"]}",
        b'{"id":9,"age":1,"numbers":[1,1e300],"wholes":[9223372036854775807],"texts":["x"]}',
    ]
    batch = encoder.admitted(codec.decode(values, 3, np.arange(10, 21)))
    assert batch.offsets.tolist() == [10, 14, 17, 20]
    assert batch.rejects.offsets.tolist() == [11, 12, 13, 15, 16, 18, 19]
    assert batch.rejects.reasons.tolist() == [Reason.OUT_OF_RANGE] * 7
    names = [SMALL.attributes[at].name for at in batch.rejects.attributes.tolist()]
    assert names == ["whole", "whole", "age", "whole", "number", "wholes", "numbers"]
    assert set(batch.rejects.sources.tolist()) == {3}
    assert len(batch.payload) == 4


def test_a_batch_without_such_numbers_is_admitted_as_it_is() -> None:
    batch = JsonCodec(SMALL).decode([b'{"id":1,"age":1,"whole":3}', b"{"], 0, np.arange(2))
    assert AvroEncoder(SMALL).admitted(batch) is batch


def test_no_records_are_no_bodies() -> None:
    assert passed_through([]) == []


def test_natural_records_and_names_that_avro_does_not_know_are_refused() -> None:
    with pytest.raises(SettingsError, match="natural"):
        AvroEncoder(replace(SMALL, shape=Shape.NATURAL))
    with pytest.raises(SettingsError, match="not a name that Avro knows"):
        AvroEncoder(hostile.shaped_policy(Shape.TYPED))


ODD = ('"', 2.0, 1e300, None, ("a", "b"), (1, 2), (1.5,))


def check_warm(encoder: Any, write: Any, also: Callable[[], object] = lambda: None) -> None:
    """What was compiled ahead suffices for records of all kinds of values, and for none."""
    encoder.warm_up()
    kernels: list[Any] = [write, odd_cells, write_records]
    compiled = [list(kernel.signatures) for kernel in kernels]
    bodies_of(encoder, SMALL, [])
    bodies_of(encoder, SMALL, [("a", 1, 1.5, True, *NOTHING), ODD])
    batch = encoder.admitted(JsonCodec(SMALL).decode([b'{"id":1,"age":1,"whole":3,"text":"\\n"}'], 0, np.arange(1)))
    encoder.encode(release_of(SMALL, batch, 0))
    also()
    assert [list(kernel.signatures) for kernel in kernels] == compiled


@pytest.mark.skipif(not hasattr(write_values, "signatures"), reason="kernels are not compiled here")
def test_what_is_warm_compiles_nothing_for_any_release() -> None:
    check_warm(AvroEncoder(SMALL), write_values)


@pytest.mark.parametrize("zone", ["", "Europe/Berlin"])
@shapes
def test_hours_are_written_as_their_first_and_last_second(shape: Shape, zone: str) -> None:
    days = DateDomain("iso8601", dt.date(2024, 1, 1), dt.date(2025, 12, 31), zone=zone, finest=Finest.HOUR)
    policy = Policy((Identifier("id"), QuasiIdentifier("at", days)), k=2, individual="id", shape=shape)
    json_codec, encoder = JsonCodec(policy), AvroEncoder(policy)
    moments = ["2024-05-13T10:11:12", "2024-10-27T02:30:00", "2025-12-31T23:59:59", None]
    texts = [json.dumps({"id": i, "at": moment}).encode() for i, moment in enumerate(moments)]
    batch = json_codec.decode(texts, 0, np.arange(len(texts)))
    assert len(batch) == len(moments)
    schema = fastavro.parse_schema(json.loads(encoder.schema))
    for seed in range(5):
        release = release_of(policy, batch, seed)
        for body, text in zip(encoder.encode(release), json_codec.encode(release), strict=True):
            assert read(schema, body or b"") == expected(fields_of(policy), json.loads(text))
            assert len(body or b"") <= encoder.most_around
