"""How much text a body may stand for, in the formats whose schemas name what is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.formats.avro.avro_reader import AvroReader
from stream_anon.formats.avro.avro_schemas import parsed
from stream_anon.formats.avro.program import program_of
from stream_anon.formats.protobuf.message_reader import MessageReader
from stream_anon.formats.unwrapping import FITS, MOST_TEXT, TooMuchAtOnce, Unwrapper
from stream_anon.formats.writing.text_buffer import TEXT_A_BYTE, free_text
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.texts import Texts
from tests.support.avro_records import zigzag
from tests.support.effort import examples
from tests.support.protobuf_records import F, descriptors
from tests.support.traced import traced

PATHS = [("f",)]
MOST = 10_000_000
FREE = free_text(PATHS)


def avro(kind: Any, paths: Sequence[tuple[str, ...]] = PATHS, others: Sequence[Any] = ()) -> AvroReader:
    """Return a reader of records with a field `f` of a type, behind fields of other types."""
    fields = [{"name": f"other{place}", "type": other} for place, other in enumerate(others)]
    schema = {"type": "record", "name": "R", "fields": [*fields, {"name": "f", "type": kind}]}
    return AvroReader(json.dumps(schema), paths, MOST)


def symbol(name: str) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": [name]}


def nulls(*names: str) -> dict[str, Any]:
    return {"type": "record", "name": "N", "fields": [{"name": name, "type": "null"} for name in names]}


def protobuf(
    names: Sequence[str], *, many: bool = False, within: str = "", syntax: str = "proto3"
) -> MessageReader:
    """Return a reader of messages with a field `f`: an enum of these names, or a message with one in a field."""
    file = FileDescriptorProto(name="long.proto", package="long", syntax="proto3")
    enum = file.enum_type.add(name="E")
    for number, name in enumerate(names):
        enum.value.add(name=name, number=number)
    outer = file.message_type.add(name="Outer")
    label = F.LABEL_REPEATED if many else F.LABEL_OPTIONAL
    field = outer.field.add(name="f", number=1, type=F.TYPE_ENUM, type_name=".long.E", label=label)
    if within:
        inner = file.message_type.add(name="Inner")
        inner.field.add(name=within, number=1, type=F.TYPE_ENUM, type_name=".long.E", label=F.LABEL_OPTIONAL)
        field.type, field.type_name = F.TYPE_MESSAGE, ".long.Inner"
    return MessageReader(descriptors(file)[0], PATHS, MOST)


def read(reader: Unwrapper, *bodies: bytes) -> tuple[list[bytes | None], list[int]]:
    found = reader.unwrap(Texts.of(bodies))
    return list(found.texts), found.outcomes.tolist()


def peak_of(reader: Unwrapper, values: Texts) -> int:
    """Return the bytes that reading takes meanwhile."""
    with traced() as memory:
        reader.unwrap(values)
        return memory()[1]


READERS: Mapping[str, tuple[Callable[[str], Unwrapper], bytes]] = {
    "avro: a field of type null": (lambda name: avro(nulls(name), others=["boolean"]), b"\0"),
    "avro: a symbol": (lambda name: avro(symbol(name)), b"\0"),
    "avro: a symbol in a list": (lambda name: avro({"type": "array", "items": symbol(name)}), b"\2\0\0"),
    "protobuf: a field": (lambda name: protobuf(["A"], within=name), b"\x0a\0"),
    "protobuf: a symbol": (lambda name: protobuf([name]), b"\x08\0"),
    "protobuf: a default": (lambda name: protobuf([name]), b""),
    "protobuf: a symbol in a list": (lambda name: protobuf([name], many=True), b"\x0a\1\0"),
}
"""Readers of records in which a name is written once, and a body of each."""


kinds = pytest.mark.parametrize("kind", READERS)


def bound(body: bytes) -> int:
    return FREE + TEXT_A_BYTE * len(body)


@kinds
def test_a_record_stands_for_as_much_text_as_its_bytes_account_for_and_no_more(kind: str) -> None:
    make, body = READERS[kind]
    around = len(read(make("n"), body)[0][0] or b"") - 1
    most = bound(body) - around
    texts, outcomes = read(make("n" * most), body)
    assert (len(texts[0] or b""), outcomes) == (bound(body), [FITS])
    assert read(make("n" * (most + 1)), body) == ([None], [Reason.TOO_LARGE])


@kinds
@settings(examples(20), deadline=None)
@given(size=st.integers(1, 30_000), drawn=st.lists(st.binary(max_size=30), max_size=4))
def test_no_text_is_longer_than_the_bytes_of_its_record_account_for(
    kind: str, size: int, drawn: list[bytes]
) -> None:
    make, body = READERS[kind]
    bodies = [body, *drawn, body]
    texts, outcomes = read(make("n" * size), *bodies)
    for own, text, outcome in zip(bodies, texts, outcomes, strict=True):
        assert len(text or b"") <= bound(own)
        assert outcome == FITS or text is None


@kinds
def test_a_name_of_megabytes_is_not_even_copied_for_a_record_that_may_not_hold_it(kind: str) -> None:
    make, body = READERS[kind]
    read(make("n"), body)  # and compile
    assert peak_of(make("n" * 3_000_000), Texts.of([body] * 100)) < 1_000_000


def test_the_keys_of_the_policy_may_be_as_long_as_they_are() -> None:
    path = ("f" * 20_000, "g" * 20_000)
    inner = {"type": "record", "name": "I", "fields": [{"name": path[1], "type": "int"}]}
    schema = {"type": "record", "name": "R", "fields": [{"name": path[0], "type": inner}]}
    reader = AvroReader(json.dumps(schema), [path], MOST)
    assert read(reader, b"\2")[1] == [FITS]


def test_several_records_that_take_too_much_room_are_refused_and_a_single_one_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader, body = avro("string"), zigzag(5_000) + b"\1" * 5_000
    monkeypatch.setattr("stream_anon.formats.writing.text_buffer.MOST_TEXT", 10_000)
    with pytest.raises(TooMuchAtOnce):
        read(reader, body, body)
    assert read(reader, body)[1] == [FITS]
    assert read(reader, body[:2] + b"\1" * 2)[1] == [Reason.MALFORMED]


def test_fractions_take_room_for_themselves_only() -> None:
    """Each record has a hundred, in a tenth of the bytes that all of them may stand for."""
    body = zigzag(100) + np.arange(100, dtype="<f8").tobytes() + b"\0"
    values = Texts.of([body] * 1_300)
    assert 24 * 100 * len(values) < MOST_TEXT / 10
    assert peak_of(avro({"type": "array", "items": "double"}), values) < MOST_TEXT


def test_fields_of_type_null_that_nobody_declares_take_no_step() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": f"n{number}", "type": "null"} for number in range(5_000)]
        + [{"name": "f", "type": "int"}],
    }
    assert len(program_of(parsed(json.dumps(schema), {}), PATHS).steps) < 10
    assert read(AvroReader(json.dumps(schema), PATHS, MOST), b"\2") == ([b'{"f":1}'], [FITS])


def test_values_that_take_no_bytes_take_few_steps() -> None:
    empty = {"type": "record", "name": "E", "fields": []}
    for count, outcome in ((400, FITS), (5_000, Reason.TOO_LARGE)):
        assert read(avro("int", others=[empty, *["E"] * (count - 1)]), b"\2")[1] == [outcome]
