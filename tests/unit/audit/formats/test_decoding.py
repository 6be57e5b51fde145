"""The audit decodes what was written in every format to the record that JSON would show."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pytest

from stream_anon.adapters.avro.encoding import AvroEncoder
from stream_anon.adapters.codecs import described
from stream_anon.adapters.json.codec import JsonCodec
from stream_anon.adapters.protobuf.encoding import ProtobufEncoder
from stream_anon.audit.formats.decoding import WriterSchema, bodies_of, by_schemas, of_policy, schema_named
from stream_anon.microdata.attributes import Identifier, Insensitive, QuasiIdentifier, ScalarType
from stream_anon.microdata.domains.calendar.cells import Finest
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
    decode, by_id = (
        of_policy(policy, "avro", described),
        by_schemas({258: WriterSchema.of("avro", encoder.schema, policy, described)}, "avro"),
    )
    for seed in range(4):
        release = release_of(policy, batch, seed)
        for body, text in zip(encoder.encode(release), codec.encode(release), strict=True):
            assert body is not None
            stating = by_id(FRAME + body)
            assert stating is not None
            assert decode(FRAME + body) == stating.fields == json.loads(text)
            assert stating.stated.own(policy) == stating.stated.said
            assert by_id(FRAME + body + b"\0") is None
            assert decode(FRAME + body + b"\0") is None, "what is behind a record would be published unseen"
            assert decode(body) is None or body[0] == 0
            assert by_id(b"\0\0\0\0\7" + body) is None


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
    release = release_of(policy, batch, 1)
    for body, text in zip(encoder.encode(release), codec.encode(release), strict=True):
        assert body is not None
        assert decode(FRAME + b"\0" + body) == json.loads(text)
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
            bodies_of("avro", schema, policy, described)


def test_json_behind_a_frame_is_read_by_the_reader_of_json() -> None:
    decode = of_policy(_policy(Shape.NATURAL, ""), "json-schema", described)
    assert decode(FRAME + b'{"a":1}') == {"a": 1}
    assert decode(FRAME + b'{"a":1,"a":2}') is None
    assert decode(b'{"a":1}') is None
    assert of_policy(_policy(Shape.NATURAL, ""), "json", described)(b'{"a":1}') == {"a": 1}


def test_a_record_names_a_schema_or_none() -> None:
    assert schema_named(FRAME + b"x") == 258
    assert [schema_named(value) for value in (None, b"", b"\0\0\0\0", b"\1\0\0\0\7")] == [None] * 4
