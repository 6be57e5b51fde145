"""Released bodies against the typed JSON of the same release, read by Google's own readers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.protobuf.encoding import ProtobufEncoder
from stream_anon.formats.protobuf.message_reader import MessageReader
from stream_anon.formats.protobuf.proto_files import message_of
from stream_anon.formats.writing.binary import write_values
from stream_anon.microdata.attributes import Insensitive, ScalarType
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.output_fields import Field, fields_of
from tests.support import hostile, protobuf_java
from tests.unit.formats.avro.test_encoding import (
    AGE,
    NOTHING,
    ODD,
    PASSING,
    SMALL,
    VALUES,
    bodies_of,
    check_bounds,
    check_warm,
    json_codec_of,
    policy_of,
    records,
    released,
    shapes,
    slowly,
)


@cache
def encoder_of(shape: Shape) -> tuple[JsonCodec, ProtobufEncoder, Any]:
    encoder = ProtobufEncoder(policy_of(shape))
    return json_codec_of(shape), encoder, GetMessageClass(message_of(encoder.schema, [0], {}))


def said(fields: tuple[Field, ...], message: Any) -> dict[str, Any]:
    """Return what a message says, in the JSON of typed records."""
    found: dict[str, Any] = {}
    for field in fields:
        value = getattr(message, field.name)
        if field.many:
            found[field.name] = list(value)
        elif not message.HasField(field.name):
            found[field.name] = None
        else:
            found[field.name] = said(field.fields, value) if field.fields else value
    return found


def expected(fields: tuple[Field, ...], record: dict[str, Any]) -> dict[str, Any]:
    return {field.name: _expected(field, record[field.name]) for field in fields}


def _expected(field: Field, value: Any) -> Any:
    if field.many:
        return [_expected(replace(field, many=False), item) for item in value or ()]
    if field.fields:
        return expected(field.fields, value)
    if value is None:
        return None
    return {"number": float, "integer": int}.get(field.type, lambda same: same)(value)


@shapes
@slowly
@given(given_records=records, seed=st.integers(0, 2**16))
def test_bodies_say_what_the_json_of_the_same_release_says(
    shape: Shape, given_records: list[dict[str, Any]], seed: int
) -> None:
    policy, (json_codec, encoder, kind) = policy_of(shape), encoder_of(shape)
    _, release = released(encoder, shape, given_records, seed)
    texts, bodies = json_codec.encode(release), list(encoder.encode(release))
    assert len(bodies) == len(texts)
    for body, text in zip(bodies, texts, strict=True):
        record = json.loads(text)
        message = kind.FromString(body)
        assert repr(said(fields_of(policy), message)) == repr(expected(fields_of(policy), record))
        assert message == json_format.ParseDict(record, kind())
        assert kind.FromString(message.SerializeToString()) == message


@shapes
@slowly
@given(given_records=records, seed=st.integers(0, 2**16))
def test_bounds_on_bodies_are_true(shape: Shape, given_records: list[dict[str, Any]], seed: int) -> None:
    _, encoder, _ = encoder_of(shape)
    check_bounds(encoder, *released(encoder, shape, given_records, seed))


@shapes
def test_our_own_reader_reads_what_is_released(shape: Shape) -> None:
    json_codec, encoder, kind = encoder_of(shape)
    _, release = released(encoder, shape, [], 1)
    bodies = encoder.encode(release)
    found = MessageReader(kind.DESCRIPTOR, [()], 10_000).unwrap(bodies)
    for text, wanted in zip(found.texts, json_codec.encode(release), strict=True):
        assert json_format.Parse(text or b"", kind()) == json_format.Parse(wanted, kind())


# Passing values beside a quasi-identifier and on their own, in objects of one and of two levels.
DEEP = Policy(
    (
        replace(AGE, keys=("person", "age")),
        *(replace(one, keys=("person", "told", one.name)) for one in PASSING),
        Insensitive("alone", keys=("else", "alone")),
        Insensitive("person.name"),
    ),
    k=2,
    individual="every-record",
    shape=Shape.TYPED,
)


def kind_of(policy: Policy) -> Any:
    """Return the class of released messages."""
    return GetMessageClass(message_of(ProtobufEncoder(policy).schema, [0], {}))


def passed_through(policy: Policy, rows: list[tuple[Any, ...]], ages: tuple[Any, ...] = ("*",)) -> list[Any]:
    return list(map(kind_of(policy).FromString, bodies_of(ProtobufEncoder(policy), policy, rows, ages)))


def check_values(found: Any, row: tuple[Any, ...]) -> None:
    for attribute, value in zip(PASSING, row, strict=False):
        of = {ScalarType.NUMBER: float, ScalarType.INTEGER: int}.get(attribute.type, lambda same: same)
        got = getattr(found, attribute.name)
        if attribute.many:
            assert repr(list(got)) == repr([of(item) for item in value or ()])
        else:
            assert found.HasField(attribute.name) == (value is not None)
            assert value is None or repr(got) == repr(of(value))
            assert not isinstance(value, float) or math.copysign(1, got) == math.copysign(1, value)


@slowly
@given(st.lists(VALUES, max_size=10))
def test_values_that_pass_are_what_they_were(rows: list[tuple[Any, ...]]) -> None:
    for found, row in zip(passed_through(SMALL, rows), rows, strict=True):
        check_values(found, row)


TEXTS = st.none() | st.text(max_size=300)


@slowly
@given(st.lists(st.tuples(VALUES, TEXTS, TEXTS), max_size=10))
def test_values_in_objects_are_one_message_with_what_their_class_shares(rows: list[tuple[Any, ...]]) -> None:
    flat = [(*values, alone, name) for values, alone, name in rows]
    ages = (7, "*", None)
    for place, (found, (values, alone, name)) in enumerate(
        zip(passed_through(DEEP, flat, ages), rows, strict=True)
    ):
        check_values(found.person.told, values)
        for message, key, value in ((getattr(found, "else"), "alone", alone), (found.person, "name", name)):
            assert message.HasField(key) == (value is not None)
            assert value is None or getattr(message, key) == value
        assert found.HasField("else")
        assert found.person.HasField("told")
        age = found.person.age
        wanted = [(7, 7), (0, 120), (None, None)][place % 3]
        assert (age.min if age.HasField("min") else None, age.max if age.HasField("max") else None) == wanted


@pytest.mark.slow
@pytest.mark.skipif(bool(protobuf_java.missing_parts()), reason=protobuf_java.missing_parts())
def test_google_reads_in_java_what_google_reads_in_python() -> None:
    texts = ('a"', 2.0, 1e300, None, ("a", "b"), (1, -2), (1.5, 2))
    rows = [
        (*texts, "alone", "name"),
        (*(None for _ in PASSING), None, None),
        ("b", 1, 0.5, True, *NOTHING, "", "n"),
    ]
    kind, bodies = kind_of(DEEP), bodies_of(ProtobufEncoder(DEEP), DEEP, rows, (7, "*", None))
    file = FileDescriptorProto()
    kind.DESCRIPTOR.file.CopyToProto(file)
    written = protobuf_java.reread(file.SerializeToString(), bodies)
    assert len(written) == len(bodies)
    for again, body in zip(written, bodies, strict=True):
        message = kind.FromString(body)
        assert again == message.SerializeToString(deterministic=True)  # each object once
        assert kind.FromString(again) == message
    assert written[0] != bodies[0]


def test_no_records_are_no_bodies() -> None:
    assert passed_through(SMALL, []) == []


def test_natural_records_and_names_that_protobuf_does_not_know_are_refused() -> None:
    with pytest.raises(SettingsError, match="natural"):
        ProtobufEncoder(replace(SMALL, shape=Shape.NATURAL))
    with pytest.raises(SettingsError, match="not a name that Protobuf knows"):
        ProtobufEncoder(hostile.shaped_policy(Shape.TYPED))


@pytest.mark.skipif(not hasattr(write_values, "signatures"), reason="kernels are not compiled here")
def test_what_is_warm_compiles_nothing_for_any_release() -> None:
    check_warm(ProtobufEncoder(SMALL), write_values, lambda: passed_through(DEEP, [(*ODD, "a", None)]))
