"""Reading by columns must be reading one by one, whatever the bytes."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_anon.adapters.json_codec.codec import JsonCodec
from stream_anon.adapters.json_codec.single import SingleReader
from stream_anon.microdata.attributes import Missing, Unknown
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.coding import BatchBuilder, CodedRecord, Misfit, RecordCoder
from stream_anon.microdata.policy import Policy
from tests.support import hostile

POLICIES = [hostile.broad_policy(missing, unknown) for missing in Missing for unknown in Unknown]
CODECS = [JsonCodec(policy, max_record_bytes=8000) for policy in POLICIES]
NAMES = list(hostile.FITTING)

chosen = st.integers(0, len(POLICIES) - 1)
slowly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)


def one_by_one(policy: Policy, values: list[bytes | None], offsets: np.ndarray) -> CodedBatch:
    reader, builder = SingleReader(policy, 8000), BatchBuilder(policy, 3)
    for value, offset in zip(values, offsets.tolist(), strict=True):
        builder.add(reader.read(value), offset)
    return builder.build()


def assert_same(batch: CodedBatch, expected: CodedBatch) -> None:
    for name in ("codes", "sensitive", "individuals", "sources", "offsets"):
        column, wanted = getattr(batch, name), getattr(expected, name)
        assert column.dtype == wanted.dtype, name
        assert column.shape == wanted.shape, name
        assert (column == wanted).all(), name
    assert [repr(p) for p in batch.payload] == [repr(p) for p in expected.payload]
    for name in ("reasons", "attributes", "sources", "offsets"):
        assert getattr(batch.rejects, name).tolist() == getattr(expected.rejects, name).tolist(), name


@slowly
@given(chosen, st.lists(hostile.values(NAMES), max_size=12))
def test_columns_say_something_else_than_a_single_look(which: int, values: list[bytes | None]) -> None:
    offsets = np.arange(100, 100 + 2 * len(values), 2)
    assert_same(CODECS[which].decode(values, 3, offsets), one_by_one(POLICIES[which], values, offsets))


@slowly
@given(chosen, st.lists(hostile.objects(NAMES), min_size=1, max_size=6))
def test_a_record_fools_the_columns_in_good_company(which: int, records: list[dict[str, Any]]) -> None:
    good = {name: choices[0] for name, choices in hostile.FITTING.items()}
    values: list[bytes | None] = [nested(good), *map(hostile.text_of, records), nested(good)]
    offsets = np.arange(len(values))
    batch = CODECS[which].decode(values, 3, offsets)
    assert {0, len(values) - 1} <= set(batch.offsets.tolist())
    assert_same(batch, one_by_one(POLICIES[which], values, offsets))


@pytest.mark.parametrize("name", NAMES)
def test_one_field_fools_the_columns(name: str) -> None:
    """A try alone goes through the strict tables; all together go through the lenient ones."""
    good = {name: choices[0] for name, choices in hostile.FITTING.items()}
    tries: list[bytes | None] = [nested(good | {name: value}) for value in hostile.TRICKY]
    offsets = np.arange(len(tries))
    for codec, policy in zip(CODECS, POLICIES, strict=True):
        assert_same(codec.decode(tries, 3, offsets), one_by_one(policy, tries, offsets))
        for value in tries:
            assert_same(codec.decode([value], 3, offsets[:1]), one_by_one(policy, [value], offsets[:1]))


def nested(record: dict[str, Any]) -> bytes:
    tree: dict[str, Any] = {}
    for name, value in record.items():
        *parents, last = name.split(".")
        place = tree
        for key in parents:
            place = place.setdefault(key, {})
        place[last] = value
    return json.dumps(tree).encode()


@slowly
@given(chosen, hostile.objects(NAMES))
def test_a_single_look_reads_json_unlike_the_standard_library(which: int, record: dict[str, Any]) -> None:
    text = hostile.text_of(record)
    result = SingleReader(POLICIES[which], 100_000).read(text)
    try:
        plain = json.loads(text.decode())  # fails on what is no text and on integers without end
    except ValueError:
        assert isinstance(result, Misfit)
        return
    if _has_what_json_forbids(plain):
        assert isinstance(result, Misfit)
    else:
        assert repr(result) == repr(RecordCoder(POLICIES[which]).code_object(plain))


def _has_what_json_forbids(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_what_json_forbids, [*value, *value.values()]))
    if isinstance(value, list):
        return any(map(_has_what_json_forbids, value))
    return isinstance(value, float) and not math.isfinite(value)


@slowly
@given(st.lists(st.sampled_from([b'{"age":1}', b'{"age":null}', b'{"age":true}', b"{}", None]), max_size=8))
def test_every_record_is_not_an_individual_of_its_own(values: list[bytes | None]) -> None:
    codec = JsonCodec(hostile.every_record_policy())
    batches = [codec.decode(values, 0, np.arange(len(values))) for _ in range(2)]
    individuals = np.concatenate([batch.individuals for batch in batches])
    assert len(set(individuals.tolist())) == len(individuals)
    assert len(individuals) == 2 * sum(value in (b'{"age":1}', b'{"age":null}', b"{}") for value in values)


@slowly
@given(st.binary(max_size=200))
def test_bytes_make_a_single_look_raise(value: bytes) -> None:
    result = SingleReader(POLICIES[0], 100).read(value)
    assert isinstance(result, CodedRecord | Misfit)
    if len(value) > 100:
        assert result == Misfit(Reason.TOO_LARGE)


@pytest.mark.parametrize("codec", CODECS)
def test_the_columns_are_never_asked(codec: JsonCodec) -> None:
    good = {name: choices[0] for name, choices in hostile.FITTING.items()}
    assert not codec._columns.decode([nested(good)]).left.any()


@pytest.mark.parametrize("codec", CODECS)
def test_no_records_are_an_error(codec: JsonCodec) -> None:
    assert len(codec.decode([], 0, np.arange(0))) == 0
