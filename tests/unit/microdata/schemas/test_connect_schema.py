"""Pairs of schema and payload, as Kafka Connect's JSON converter reads them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.audit.released_records import ReleasedRecordReader
from stream_anon.errors import SettingsError
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.envelopes.wrapping import EnvelopeKind, Wrapping
from stream_anon.microdata.attributes import Missing, Unknown
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.connect_schema import connect_schema
from stream_anon.ports import Codec
from tests.conformance.test_codecs import fitting, release_of
from tests.support import hostile

SHAPES = [Shape.TYPED, Shape.FLAT]
shapes = pytest.mark.parametrize("shape", SHAPES)
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "int64": (int,),
    "double": (float,),
    "boolean": (bool,),
    "struct": (dict,),
    "array": (list,),
}


def pairing(policy: Policy) -> Codec:
    return codec_of(policy, wrapping=Wrapping(pairs=True))


def written(codec: Codec, policy: Policy) -> list[bytes]:
    batch = codec.decode([fitting("json", turn) for turn in range(30)], 0, np.arange(30))
    return codec.encode(release_of(policy, batch, 1))


def check(schema: dict[str, Any], value: Any) -> None:
    """Check a value as the converter does: each field of a struct is there and has its type."""
    if value is None:
        assert schema["optional"], schema
        return
    assert type(value) in TYPES[schema["type"]], schema
    if schema["type"] == "struct":
        assert [field["field"] for field in schema["fields"]] == list(value)
        for field in schema["fields"]:
            check(field, value[field["field"]])
    for item in value if schema["type"] == "array" else ():
        check(schema["items"], item)


@shapes
def test_every_released_value_has_the_type_that_the_schema_says(shape: Shape) -> None:
    policy = hostile.shaped_policy(shape)
    texts = written(pairing(policy), policy)
    assert len(texts) > 10
    for text in texts:
        pair = json.loads(text)
        assert list(pair) == ["schema", "payload"]
        assert pair["schema"] == connect_schema(policy)
        check(pair["schema"], pair["payload"])


@shapes
def test_a_payload_is_the_record_as_it_is_written_without_a_schema(shape: Shape) -> None:
    policy = hostile.shaped_policy(shape)
    bare = written(codec_of(policy), policy)
    pairs = written(pairing(policy), policy)
    before, behind = Wrapping(pairs=True).around(policy)
    assert pairs == [before + text + behind for text in bare]


@shapes
def test_bounds_on_the_bytes_of_a_record_hold_for_pairs(shape: Shape) -> None:
    policy = hostile.shaped_policy(shape)
    codec = pairing(policy)
    read = [fitting("json", turn) for turn in range(30)]
    release = release_of(policy, codec.decode(read, 0, np.arange(30)), 1)
    sizes = dict(zip(release.order.tolist(), map(len, codec.encode(release)), strict=True))
    assert all(size <= codec.most_released(len(read[row])) for row, size in sizes.items())
    most = sorted(sizes.values())[len(sizes) // 2]
    assert set(codec.larger_than(release, most).tolist()) == {row for row, size in sizes.items() if size > most}


@shapes
def test_what_is_written_as_a_pair_is_read_as_one(shape: Shape) -> None:
    policy = hostile.shaped_policy(shape)
    reading = codec_of(policy, 100_000, wrapping=Wrapping(EnvelopeKind.CONNECT))
    assert list(reading.inner(written(pairing(policy), policy))) == written(codec_of(policy), policy)


def test_natural_records_have_no_such_schema() -> None:
    with pytest.raises(SettingsError, match="several types"):
        pairing(hostile.plain_policy(Missing.LEAF, Unknown.ROOT))


# The audit. ---------------------------------------------------------------------------------------------------


@shapes
def test_the_audit_reads_the_payload_of_a_pair_with_the_schema_of_the_policy(shape: Shape) -> None:
    policy = hostile.shaped_policy(shape)
    reader = ReleasedRecordReader(policy)
    for text in written(pairing(policy), policy):
        record = decode_record(text)
        assert record is not None
        fields, stated = reader.opened(record)
        read, problems = reader.read(fields)
        assert stated == problems == []
        assert read.key == reader.read(record["payload"])[0].key


@shapes
@pytest.mark.parametrize(
    "change",
    [
        lambda pair: pair["schema"].update(doc="Mrs Smith"),
        lambda pair: pair["schema"]["fields"][0].update(optional=1),
        lambda pair: pair["schema"]["fields"].reverse(),
        lambda pair: pair.update(note="Mrs Smith"),
        lambda pair: pair.update(payload=[]),
        lambda pair: pair.pop("schema"),
    ],
)
def test_the_audit_accuses_a_pair_that_is_not_as_the_service_writes_it(shape: Shape, change: Any) -> None:
    policy = hostile.shaped_policy(shape)
    reader = ReleasedRecordReader(policy)
    pair = json.loads(written(pairing(policy), policy)[0])
    change(pair)
    fields, stated = reader.opened(pair)
    assert [*stated, *reader.read(fields)[1]]


def test_fields_that_are_named_as_those_of_a_pair_are_fields() -> None:
    policy = hostile.shaped_policy(Shape.TYPED)
    names = iter(("schema", "payload"))
    passed = {a.name for a in policy.passed[:2]}
    own = tuple(replace(a, name=next(names), keys=()) if a.name in passed else a for a in policy.attributes)
    both = replace(policy, attributes=own, diversity={})
    record = {"schema": "x", "payload": {"a": 1}}
    assert ReleasedRecordReader(both).opened(record) == (record, [])
