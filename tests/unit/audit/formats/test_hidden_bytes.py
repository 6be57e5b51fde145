"""The audit accepts one writing of a record only: another could tell readers of bytes what it does not show."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pytest

from stream_anon.audit.formats.decoding import bodies_of, of_policy
from stream_anon.audit.formats.protobuf import protobuf_bodies
from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.formats.avro.encoding import AvroEncoder
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.protobuf.encoding import ProtobufEncoder
from stream_anon.formats.registered_formats import described
from stream_anon.microdata.attributes import Identifier, Insensitive, QuasiIdentifier, ScalarType
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from tests.conformance.test_codecs import release_of

FRAME = b"\0\0\0\1\2"
ODD_TEXTS = [
    "",
    "a",
    '"\\/\b\f\n\r\t',
    "\x00\x01\x1f\x7f\x80",
    "äßλ",
    "\U0001f600",
    "</script>",
    "\u2028",
    "x" * 300,
]
ODD_NUMBERS = [0, -0.0, 1.5, 1e16, 1e22, 1.7e308, 5e-324, -1e-7, 0.1, 123456789.125, None]
ODD_INTEGERS = [0, -1, 63, 64, -64, -65, 2**31, 2**53 + 1, -(2**63), 2**63 - 1, None]


def _policy(shape: Shape) -> Policy:
    attributes = (
        Identifier("id"),
        QuasiIdentifier("age", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0)),
        Insensitive("of.note", ScalarType.STRING),
        Insensitive("of.weight", ScalarType.NUMBER),
        Insensitive("count", ScalarType.INTEGER),
        Insensitive("sure", ScalarType.BOOLEAN),
        Insensitive("tags", ScalarType.STRING, many=True),
        Insensitive("counts", ScalarType.INTEGER, many=True),
        Insensitive("weights", ScalarType.NUMBER, many=True),
    )
    return Policy(attributes, k=2, individual="id", shape=shape)


@pytest.mark.parametrize("shape", [Shape.NATURAL, Shape.TYPED, Shape.FLAT])
def test_whatever_is_released_is_written_in_the_one_way(shape: Shape) -> None:
    policy = _policy(shape)
    draws = np.random.default_rng(5)

    def one_of(values: list[object]) -> object:
        return values[int(draws.integers(len(values)))]

    def some(values: list[object]) -> list[object] | None:
        found = [one_of(values) for _ in range(int(draws.integers(0, 5)))]
        return None if draws.random() < 0.2 else [item for item in found if item is not None]

    records = [
        {
            "id": number,
            "age": number % 7,
            "of": {"note": one_of([*ODD_TEXTS, None]), "weight": one_of([*ODD_NUMBERS])},
            "count": one_of([*ODD_INTEGERS]),
            "sure": one_of([True, False, None]),
            "tags": some([*ODD_TEXTS]),
            "counts": some([*ODD_INTEGERS]),
            "weights": some([*ODD_NUMBERS]),
        }
        for number in range(300)
    ]
    texts = [json.dumps(record).encode() for record in records]
    texts += [json.dumps(record, ensure_ascii=False).encode() for record in records]
    codec = JsonCodec(policy)
    batch = codec.decode(texts, 0, np.arange(len(texts)))
    assert len(batch) == len(texts)
    release = release_of(policy, batch, 3)
    shown = [decode_record(text) for text in codec.encode(release)]
    assert None not in shown
    if shape is not Shape.NATURAL:
        for form, encoder, frame in (
            ("avro", AvroEncoder(policy), FRAME),
            ("protobuf", ProtobufEncoder(policy), FRAME + b"\0"),
        ):
            decode = of_policy(policy, form, described)
            assert None not in [decode(frame + (body or b"")) for body in encoder.encode(release)]


AVRO = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "count", "type": ["null", "long"]},
        ],
    }
)


@pytest.mark.parametrize(
    "body",
    [
        b"\x02\x02a\x02\x02b\x00\x02\x06",  # two blocks
        b"\x03\x08\x02a\x02b\x00\x02\x06",  # a block with its size, which readers do not compare
        b"\x04\x82\x00a\x02b\x00\x02\x06",  # a length in more bytes than need be
        b"\x04\x02a\x02b\x00\x02\x86\x00",  # a number likewise
        b"\x04\x02a\x02b\x00\x82\x00\x06",  # and the branch of a union
        b"\x04\x02a\x02b\x80\x00\x02\x06",  # and the end of the list
    ],
)
def test_avro_that_is_written_in_another_way_is_no_record(body: bytes) -> None:
    decode = bodies_of("avro", AVRO, described)
    assert decode(b"\x04\x02a\x02b\x00\x02\x06") == {"tags": ["a", "b"], "count": 3}
    assert decode(body) is None


PROTOBUF = """syntax = "proto3";
message R { optional int64 n = 1; optional bool sure = 2; repeated int64 ns = 3; optional string s = 4;
  optional R of = 5; optional int32 small = 6; repeated double ds = 7; }"""


@pytest.mark.parametrize(
    "body",
    [
        b"\x08\x83\x00",  # a number in more bytes than need be
        b"\x88\x00\x03",  # a tag likewise
        b"\x22\x81\x00a",  # and a length
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03",  # bits beyond the 64th
        b"\x10\x05",  # a truth value of 5
        b"\x30\x81\x80\x80\x80\x10",  # bits beyond the 32nd
        b"\x1a\x02\x83\x00",  # in a list
        b"\x1a\x01\x03\x1a\x01\x04",  # a list in two pieces
        b"\x1a\x01\x03\x1a\x00",  # of which one is empty
        b"\x18\x03\x18\x04",  # a list that is not packed
        b"\x2a\x02\x08\x03\x2a\x00",  # an empty part of an object
    ],
)
def test_protobuf_that_is_written_in_another_way_is_no_record(body: bytes) -> None:
    decode = protobuf_bodies(described(PROTOBUF))
    negative = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    for plain in (b"\x08\x03", b"\x08" + negative, b"\x30" + negative, b"\x1a\x02\x03\x04", b"\x2a\x02\x08\x03"):
        assert decode(plain) is not None
    assert decode(body) is None
