from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.json.single_reading import too_deep
from stream_anon.microdata.attributes import Identifier, Insensitive, Missing, ScalarType, Sensitive, Unknown
from stream_anon.microdata.batch import NO_ATTRIBUTE, CodedBatch, Reason
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

COLORS = CategoricalDomain(Hierarchy.flat(["red", "green", "blue"]))
AGES = NumericDomain(Decimal(0), Decimal(120), Decimal(1), 0)
PLACES = ["id", "patient.age", "color", "zip", "score", "visits"]


def clinic(missing: Missing = Missing.LEAF, unknown: Unknown = Unknown.REJECT) -> Policy:
    attributes = (
        Identifier("id"),
        QuasiIdentifier("patient.age", AGES, missing=missing, unknown=unknown),
        QuasiIdentifier("color", COLORS, missing=missing, unknown=unknown),
        QuasiIdentifier("zip", PrefixDomain(5, "0123456789", 5, pad=True), missing=missing, unknown=unknown),
        Sensitive("score", ScalarType.NUMBER),
        Insensitive("visits", ScalarType.INTEGER),
    )
    return Policy(attributes, k=2, individual="id", diversity={"score": Diversity(2)})


CODEC = JsonCodec(clinic(), max_record_bytes=2000)


def record(**changes: Any) -> bytes:
    fields = {"id": "p1", "patient": {"age": 30}, "color": "green", "zip": "01234", "score": 1.5, "visits": 2}
    return json.dumps({name: value for name, value in (fields | changes).items() if value is not ...}).encode()


def decode(*values: bytes | None, codec: JsonCodec = CODEC) -> CodedBatch:
    return codec.decode(values, 7, np.arange(10, 10 + len(values)))


def test_codes_stand_in_the_row_of_their_record() -> None:
    batch = decode(record(), record(patient={"age": 0}, color="blue", zip="99999"))
    assert batch.codes.tolist() == [[30, 0], [1, 2], [1234, 99999]]
    assert batch.codes.dtype == np.int32
    assert batch.sources.tolist() == [7, 7]
    assert batch.offsets.tolist() == [10, 11]
    assert list(batch.payload) == [(1.5, 2), (1.5, 2)]


@pytest.mark.parametrize(
    ("value", "reason", "attribute"),
    [
        (None, Reason.EMPTY, None),
        (b"", Reason.EMPTY, None),
        (b" ", Reason.MALFORMED, None),
        (b"{", Reason.MALFORMED, None),
        (b"[1", Reason.MALFORMED, None),
        (record() + b",", Reason.MALFORMED, None),
        (record()[:-1] + b',"x":NaN}', Reason.MALFORMED, None),
        (record()[:-1] + b',"visits":Infinity}', Reason.MALFORMED, None),
        (b"[]", Reason.NOT_AN_OBJECT, None),
        (b"null", Reason.NOT_AN_OBJECT, None),
        (record(x="a" * 2000), Reason.TOO_LARGE, None),
        (record()[:-1] + b',"x":"\xff"}', Reason.NOT_UTF8, None),
        (record()[:-1] + b',"x":"\xed\xa0\x80"}', Reason.NOT_UTF8, None),
        (record()[:-1] + b',"x":"\\ud800"}', Reason.MALFORMED, None),
        (record()[:-1] + b',"x":' + b"[" * 64 + b"]" * 64 + b"}", Reason.TOO_DEEP, None),
        (record(id=...), Reason.NO_INDIVIDUAL, "id"),
        (record(id=None), Reason.NO_INDIVIDUAL, "id"),
        (record(id=""), Reason.NO_INDIVIDUAL, "id"),
        (record(id=True), Reason.WRONG_TYPE, "id"),
        (record(id=[1]), Reason.WRONG_TYPE, "id"),
        (record(id=1.5), Reason.WRONG_TYPE, "id"),
        (record(patient={"age": True}), Reason.WRONG_TYPE, "patient.age"),
        (record(patient={"age": "30"}), Reason.WRONG_TYPE, "patient.age"),
        (record(patient={"age": 30.5}), Reason.WRONG_TYPE, "patient.age"),
        (record(patient=5), Reason.WRONG_TYPE, "patient.age"),
        (record(patient={"age": 121}), Reason.OUT_OF_RANGE, "patient.age"),
        (record(patient={"age": -1}), Reason.OUT_OF_RANGE, "patient.age"),
        (record(patient={"age": 10**400}), Reason.OUT_OF_RANGE, "patient.age"),
        (record()[:-1] + b',"patient":{"age":1e999}}', Reason.WRONG_TYPE, "patient.age"),
        (record(color="pink"), Reason.UNKNOWN_VALUE, "color"),
        (record(color={"a": 1}), Reason.WRONG_TYPE, "color"),
        (record(zip="1234"), Reason.UNKNOWN_VALUE, "zip"),
        (record(zip="1234x"), Reason.UNKNOWN_VALUE, "zip"),
        (record(zip=1.5), Reason.WRONG_TYPE, "zip"),
        (record(score="1"), Reason.WRONG_TYPE, "score"),
        (record(visits=1.5), Reason.WRONG_TYPE, "visits"),
        (record(visits=True), Reason.WRONG_TYPE, "visits"),
        (record(color="pink", patient={"age": 500}), Reason.OUT_OF_RANGE, "patient.age"),
    ],
)
def test_a_bad_record_is_rejected_alone_with_its_reason(
    value: bytes | None, reason: Reason, attribute: str | None
) -> None:
    batch = decode(record(), value, record(zip="99999"))
    assert batch.offsets.tolist() == [10, 12]
    assert batch.codes.tolist() == [[30, 30], [1, 1], [1234, 99999]]
    rejects = batch.rejects
    place = NO_ATTRIBUTE if attribute is None else PLACES.index(attribute)
    found = (Reason(int(rejects.reasons[0])), int(rejects.attributes[0]))
    assert found == (reason, place)
    assert (rejects.sources.tolist(), rejects.offsets.tolist()) == ([7], [11])


@pytest.mark.parametrize(
    ("value", "row", "code"),
    [
        (record(patient=None), 0, 121),
        (record(patient=...), 0, 121),
        (record(patient={}), 0, 121),
        (record(patient={"age": None}), 0, 121),
        (record(patient={"age": 25.0}), 0, 25),
        (record(color=None), 1, 3),
        (record(color=...), 1, 3),
        (record(zip=None), 2, 100_000),
        (record(zip=1234), 2, 1234),
        (record()[:-1] + b',"color":"pink","color":"red"}', 1, 0),
        (record(color="pink")[:-1] + b',"\\u0063olor":"red"}', 1, 0),
        (record(color=5)[:-1] + b',"color":"r\\u0065d"}', 1, 0),
        (record()[:-1] + b',"patient":{"age":7},"patient":{}}', 0, 121),
        (record()[:-1] + b',"x":1e999,"y":' + b"1" * 900 + b"}", 0, 30),
        (record()[:-1] + b',"x":' + b"[" * 63 + b"]" * 63 + b"}", 0, 30),
        (record(x="[" * 100), 0, 30),
        (b"\n " + record() + b" \r\n", 0, 30),
    ],
)
def test_a_good_record_is_read_as_it_was_written(value: bytes, row: int, code: int) -> None:
    batch = decode(record(), value, record())
    assert not len(batch.rejects)
    assert batch.codes[row].tolist()[1] == code


def test_missing_and_unknown_values_are_treated_as_the_policy_says() -> None:
    values = [record(patient=...), record(color=...), record(zip=None), record(color="pink"), record(zip="x")]
    strict = decode(*values, codec=JsonCodec(clinic(Missing.REJECT, Unknown.ROOT)))
    assert strict.rejects.offsets.tolist() == [10, 11, 12]
    assert set(strict.rejects.reasons.tolist()) == {Reason.MISSING}
    assert strict.codes[1].tolist() == [4, 1]
    assert strict.codes[2].tolist() == [1234, 100_001]
    lenient = decode(*values, codec=JsonCodec(clinic(Missing.LEAF, Unknown.ROOT)))
    assert lenient.codes[1].tolist() == [1, 3, 1, 4, 1]


def test_a_number_and_its_digits_are_one_person() -> None:
    same = decode(record(id="1"), record(id=1), record(id=1.0), record(id="2"), record(id=2))
    assert len(set(same.individuals[:3].tolist())) == 1
    assert same.individuals.tolist()[3:] == [same.individuals[3]] * 2
    assert same.individuals[0] != same.individuals[3]
    assert decode(record(id=1)).individuals[0] == same.individuals[0]


def test_sensitive_values_are_equal_exactly_where_their_values_are() -> None:
    batch = decode(*(record(score=score) for score in (1, 1.0, -1, -2, None, 0)), record(score=...))
    one, also_one, minus_one, minus_two, missing, zero, absent = batch.sensitive[0].tolist()
    assert one == also_one
    assert missing == absent
    assert len({one, minus_one, minus_two, missing, zero}) == 5


def test_the_payload_holds_neither_ids_nor_quasi_identifiers() -> None:
    batch = decode(record(id="a-person", zip="99999"))
    assert list(batch.payload) == [(1.5, 2)]


def test_integral_floats_become_integers_where_integers_are_declared() -> None:
    assert [repr(p) for p in decode(record(visits=25.0), record(visits=1)).payload] == ["(1.5, 25)", "(1.5, 1)"]


def test_a_batch_may_hold_rejects_only() -> None:
    batch = decode(b"{", None)
    assert len(batch) == 0
    assert batch.codes.shape == (3, 0)
    assert len(batch.rejects) == 2


def test_brackets_in_strings_are_no_levels_and_long_texts_are_counted_in_linear_time() -> None:
    assert not too_deep(b'{"a":"' + b"[" * 100 + b'\\""}')
    assert too_deep(b'{"a":' + b"[ " * 64 + b"]" * 64 + b"}")
    assert too_deep(b'{"a":"\\\\",' + b'"b":[' * 65)
    assert not too_deep(b'"' + b'\\"[' * 300_000 + b"\\")
    assert not too_deep(b"[]" * 300_000)
