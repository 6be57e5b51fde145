"""Avro and Protobuf of released records whose values were foreign bytes, read back by other people's readers."""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import Any

import fastavro
import numpy as np

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.schemas.output_fields import fields_of
from tests.conformance.test_codecs import release_of
from tests.fuzz import json_inputs
from tests.fuzz.cases import Case, Fault, Kind, Limits
from tests.fuzz.poison import FILLS, poisoned
from tests.unit.formats.avro import test_encoding as avro
from tests.unit.formats.protobuf import test_encoding as protobuf

_SHAPES = (Shape.TYPED, Shape.FLAT)


class WritingTarget:
    """JSON records that are released in a binary format; the setting is the number of the shape."""

    def __init__(self, form: str) -> None:
        self._form = form

    def draw(self, draws: Random, count: int) -> Case:
        number = draws.randrange(len(_SHAPES))
        return Case(
            b"%d" % number, tuple(json_inputs.records(avro.policy_of(_SHAPES[number]), draws, max(count // 5, 1)))
        )

    def check(self, case: Case, limits: Limits) -> None:
        shape = _SHAPES[int(case.setting)]
        fill, other = Random(len(case.records)).sample(FILLS, 2)
        bodies, texts = self._written(shape, case, fill)
        if self._written(shape, case, other) != (bodies, texts):
            raise Fault(Kind.GARBAGE)
        if len(bodies) != len(texts):
            raise Fault(Kind.LOST)
        for body, text in zip(bodies, texts, strict=True):
            said, wanted = _read(self._form, shape, body or b"", json.loads(text))
            if repr(said) != repr(wanted):
                raise Fault(Kind.UNDECLARED)

    def _written(self, shape: Shape, case: Case, fill: int) -> tuple[list[bytes | None], list[bytes]]:
        codec, encoder = _codec_and_encoder(self._form, shape)
        with poisoned(fill):
            batch = codec.decode(case.records, 0, np.arange(len(case.records)))
            release = release_of(avro.policy_of(shape), encoder.admitted(batch), 1)
            return list(encoder.encode(release)), codec.encode(release)


def _codec_and_encoder(form: str, shape: Shape) -> tuple[JsonCodec, Any]:
    return avro.encoder_of(shape) if form == "avro" else protobuf.encoder_of(shape)[:2]


def _read(form: str, shape: Shape, body: bytes, record: dict[str, Any]) -> tuple[Any, Any]:
    """Return what a body says and what it should say, both as the tests of the format compare them."""
    fields = fields_of(avro.policy_of(shape))
    if form == "avro":
        return avro.read(_schema(shape), body), avro.expected(fields, record)
    kind = protobuf.encoder_of(shape)[2]
    return protobuf.said(fields, kind.FromString(body)), protobuf.expected(fields, record)


@cache
def _schema(shape: Shape) -> Any:
    return fastavro.parse_schema(json.loads(avro.encoder_of(shape)[1].schema))
