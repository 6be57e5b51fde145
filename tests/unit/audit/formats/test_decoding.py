"""The audit decodes what was written in every format to the record that JSON would show."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from stream_anon.audit.formats.decoding import WriterSchema, bodies_of, by_schemas, of_policy, schema_named
from stream_anon.audit.formats.moments import as_json
from stream_anon.audit.released_records import ReleasedRecordReader
from stream_anon.formats.avro.encoding import AvroEncoder
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.protobuf.encoding import ProtobufEncoder
from stream_anon.formats.registered_formats import described
from stream_anon.microdata.attributes import Identifier, Insensitive, QuasiIdentifier, ScalarType
from stream_anon.microdata.domains.calendar.calendar_cells import Finest
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from tests.conformance.test_codecs import release_of

FRAME = b"\0\0\0\1\2"
shapes = pytest.mark.parametrize("shape", [Shape.TYPED, Shape.FLAT])


def _policy(shape: Shape, zone: str) -> Policy:
    first, last = dt.date(2024, 1, 1), dt.date(2025, 12, 31)
    attributes = (
        Identifier("id"),
        QuasiIdentifier("at", DateDomain("iso8601", first, last, zone=zone, finest=Finest.HOUR)),
        QuasiIdentifier("day", DateDomain("%Y-%m-%d", first, last)),
        QuasiIdentifier("age", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0)),
        Insensitive("note", ScalarType.STRING),
    )
    return Policy(attributes, k=2, individual="id", shape=shape)


@shapes
@pytest.mark.parametrize("zone", ["", "Europe/Berlin", "UTC"])
def test_avro_is_decoded_to_what_json_shows(shape: Shape, zone: str) -> None:
    policy = _policy(shape, zone)
    codec, encoder = JsonCodec(policy), AvroEncoder(policy)
    moments = ["2024-05-13T10:11:12", "2024-10-27T02:30:00", "2025-12-31T23:59:59", None]
    texts = [
        json.dumps({"id": i, "at": at, "day": at and at[:10], "age": i, "note": f"n{i}"}).encode()
        for i, at in enumerate(moments * 3)
    ]
    batch = codec.decode(texts, 0, np.arange(len(texts)))
    assert len(batch) == len(texts)
    reader = ReleasedRecordReader(policy)
    decode, by_id = (
        of_policy(policy, "avro", described),
        by_schemas({258: WriterSchema.of("avro", encoder.schema, described)}, "avro"),
    )
    for seed in range(4):
        release = release_of(policy, batch, seed)
        for body, text in zip(encoder.encode(release), codec.encode(release), strict=True):
            assert body is not None
            stating = by_id(FRAME + body)
            assert stating is not None
            fields, wrong = reader.opened(stating)
            assert (decode(FRAME + body), wrong) == (fields, []) == (json.loads(text), [])
            assert stating.stated.own(policy) == stating.stated.said
            assert by_id(FRAME + body + b"\0") is None
            assert decode(FRAME + body + b"\0") is None, "what is behind a record would be published unseen"
            assert decode(body) is None or body[0] == 0
            assert by_id(b"\0\0\0\0\7" + body) is None


@shapes
def test_a_moment_reads_as_the_policy_of_its_window_writes_it_whatever_the_zone_is_by_now(shape: Shape) -> None:
    policies = [_policy(shape, zone) for zone in ("Europe/Berlin", "UTC", "America/Lima")]
    schemas = [AvroEncoder(policy).schema for policy in policies]
    assert len(set(schemas)) == 1, "a schema does not tell a zone: the certificate's policy does"
    by_id = by_schemas({258: WriterSchema.of("avro", schemas[0], described)}, "avro")
    for policy in policies:
        codec = JsonCodec(policy)
        texts = [json.dumps({"id": i, "at": "2024-05-13T10:11:12Z", "age": 1}).encode() for i in range(9)]
        release = release_of(policy, codec.decode(texts, 0, np.arange(9)), 0)
        reader = ReleasedRecordReader(policy)
        for body, text in zip(AvroEncoder(policy).encode(release), codec.encode(release), strict=True):
            stating = by_id(FRAME + (body or b""))
            assert stating is not None
            assert reader.opened(stating)[0] == json.loads(text)


def test_moments_at_the_ends_of_time_are_written_and_break_nothing_off() -> None:
    zones = {("at",): ZoneInfo("Europe/Berlin"), ("then",): ZoneInfo("America/Lima")}
    last, first = dt.datetime(9999, 12, 31, 23, 59, tzinfo=dt.UTC), dt.datetime(1, 1, 1, tzinfo=dt.UTC)
    assert as_json({"at": last, "then": first}, zones) == {"at": last.isoformat(), "then": first.isoformat()}


def test_days_and_moments_in_lists_and_objects_are_texts() -> None:
    berlin = {("inner", "at"): ZoneInfo("Europe/Berlin")}
    day, moment = dt.date(2024, 5, 13), dt.datetime(2024, 5, 13, 8, tzinfo=dt.UTC)
    local = moment.replace(tzinfo=None)
    assert as_json({"days": [day, None], "inner": {"at": [moment], "else": moment, "local": local}}, berlin) == {
        "days": ["2024-05-13", None],
        "inner": {
            "at": ["2024-05-13T10:00:00+02:00"],
            "else": "2024-05-13T08:00:00+00:00",
            "local": "2024-05-13T08:00:00",
        },
    }


def test_a_body_that_is_no_record_of_fields_is_none() -> None:
    assert bodies_of("avro", '"string"', described)(b"\x02x") is None
    assert bodies_of("avro", '{"type": "array", "items": "string"}', described)(b"\x00") is None
    assert bodies_of("avro", '{"type": "record", "name": "r", "fields": []}', described)(b"") == {}


@shapes
def test_protobuf_is_decoded_to_what_json_shows_and_nothing_stands_twice_or_unseen(shape: Shape) -> None:
    policy = _policy(shape, "Europe/Berlin")
    codec, encoder = JsonCodec(policy), ProtobufEncoder(policy)
    texts = [
        json.dumps({"id": i, "at": at, "day": at and at[:10], "age": i, "note": f"n{i}"}).encode()
        for i, at in enumerate(["2024-05-13T10:11:12", "2025-12-31T23:59:59", None] * 3)
    ]
    batch = codec.decode(texts, 0, np.arange(len(texts)))
    decode = of_policy(policy, "protobuf", described)
    by_id = by_schemas({258: WriterSchema.of("protobuf", encoder.schema, described)}, "protobuf")
    release = release_of(policy, batch, 1)
    for body, text in zip(encoder.encode(release), codec.encode(release), strict=True):
        assert body is not None
        assert decode(FRAME + b"\0" + body) == json.loads(text)
        stating = by_id(FRAME + b"\0" + body)
        assert stating is not None
        assert stating.fields == json.loads(text)
        assert by_id(FRAME + b"\2" + body) is None
        number = described(encoder.schema).fields_by_name["note"].number
        note = bytes([number << 3 | 2, 1]) + b"x"
        assert decode(FRAME + b"\0" + body + note) is None, "a text stands twice"
        assert decode(FRAME + b"\0" + body + bytes([0xF8, 0x3F, 1])) is None, "a field that the schema has not"
        assert decode(FRAME + b"\2" + body) is None
        assert decode(FRAME + b"\0" + body[:-1]) is None


def test_bytes_that_are_no_record_are_none() -> None:
    policy = _policy(Shape.TYPED, "")
    decode = of_policy(policy, "avro", described)
    for value in (None, b"", FRAME, FRAME + b"\xff" * 20, b"{}", b"\1" + FRAME):
        assert decode(value) is None
    for schema in ("{", '{"type": "record"}', '"unknown"', "5"):
        with pytest.raises(ValueError, match=r"."):
            bodies_of("avro", schema, described)


def test_json_behind_a_frame_is_read_by_the_reader_of_json() -> None:
    decode = of_policy(_policy(Shape.NATURAL, ""), "json-schema", described)
    assert decode(FRAME + b'{"a":1}') == {"a": 1}
    assert decode(FRAME + b'{"a":1,"a":2}') is None
    assert decode(b'{"a":1}') is None
    assert of_policy(_policy(Shape.NATURAL, ""), "json", described)(b'{"a":1}') == {"a": 1}


def test_a_record_names_a_schema_or_none() -> None:
    assert schema_named(FRAME + b"x") == 258
    assert schema_named(FRAME) == 258, "a record without a byte is one"
    assert schema_named(b"\0\1\2\3\4x") == 0x01020304
    assert schema_named(b"\0\xff\xff\xff\xff") == -1
    assert [schema_named(value) for value in (None, b"", b"\0\0\0\0", b"\1\0\0\0\7")] == [None] * 4
