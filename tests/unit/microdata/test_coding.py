from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from stream_anon.errors import Unfit
from stream_anon.microdata.attributes import Identifier, Insensitive, ScalarType
from stream_anon.microdata.batch import NO_ATTRIBUTE, Reason
from stream_anon.microdata.coding import UNREADABLE, BatchBuilder, CodedRecord, Misfit, find, individual_key
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.sensitive_keys import sensitive_keys
from tests.support.object_coder import ObjectCoder

POLICY = Policy(
    (
        Identifier("name"),
        Identifier("id"),
        QuasiIdentifier("a.age", NumericDomain(Decimal(0), Decimal(9), Decimal(1), 0)),
        Insensitive("note"),
        Insensitive("n", ScalarType.NUMBER),
    ),
    k=2,
    individual="id",
)


def code(**fields: Any) -> CodedRecord | Misfit:
    return ObjectCoder(POLICY).code_object({"id": "p", "a": {"age": 3}, "note": "x", "n": 1} | fields)


def test_a_record_that_fits_is_taken_apart_by_attribute() -> None:
    assert code(name=[{}]) == CodedRecord((3,), (), individual_key("p"), ("x", 1))


@pytest.mark.parametrize(
    ("fields", "misfit"),
    [
        ({"a": {"age": 10**5000}}, Misfit(Reason.WRONG_TYPE, 2)),
        ({"a": {"age": 10**4000}}, Misfit(Reason.OUT_OF_RANGE, 2)),
        ({"a": {"age": float("nan")}}, Misfit(Reason.WRONG_TYPE, 2)),
        ({"a": [3]}, Misfit(Reason.WRONG_TYPE, 2)),
        ({"note": "\ud800"}, Misfit(Reason.WRONG_TYPE, 3)),
        ({"n": float("inf")}, Misfit(Reason.WRONG_TYPE, 4)),
        ({"n": 10**5000}, Misfit(Reason.WRONG_TYPE, 4)),
        ({"id": "\udc00"}, Misfit(Reason.WRONG_TYPE, 1)),
        ({"id": 10**5000}, Misfit(Reason.WRONG_TYPE, 1)),
        ({"id": ""}, Misfit(Reason.NO_INDIVIDUAL, 1)),
    ],
)
def test_a_python_value_that_json_cannot_hold_is_rejected(fields: dict[str, Any], misfit: Misfit) -> None:
    assert code(**fields) == misfit


def test_a_parent_that_is_a_scalar_counts_as_missing() -> None:
    assert find({"a": {"b": 1}}, ("a", "b")) == 1
    assert find({"a": None}, ("a", "b")) is None
    assert find({}, ("a", "b")) is None
    assert find({"a": {"b": None}}, ("a", "b", "c")) is None
    assert find({"a": "text"}, ("a", "b")) is UNREADABLE
    assert find({"a": {"b": []}}, ("a", "b", "c")) is UNREADABLE


def test_ids_of_one_person_have_one_key() -> None:
    assert individual_key("12") == individual_key(12) == individual_key(12.0)
    assert individual_key("0") == individual_key(-0.0)
    assert individual_key("-1") != individual_key("-2")
    for wrong in (True, 1.5, [], {}, UNREADABLE, b"1"):
        with pytest.raises(Unfit) as raised:
            individual_key(wrong)
        assert raised.value.reason == Reason.WRONG_TYPE


def test_sensitive_values_that_differ_have_different_keys() -> None:
    one, same = sensitive_keys([1, 1.0])
    assert one == same
    numbers = [-(10**400), -1e300, -2, -1.5, -1e-300, 0, 1e-300, 0.5, 1, 2, 3.25, 1e300, 10**400]
    ordered = sensitive_keys(numbers, True).tolist()
    assert ordered == sorted(set(ordered))
    zero, negative, nothing = sensitive_keys([0, -0.0, None], True)
    assert zero == negative
    assert nothing == sensitive_keys([None])[0]
    keys = sensitive_keys([-1, -2, 0, None, "", 2**61 - 1, 1.5, True]).tolist()
    assert len(set(keys)) == len(keys)


def test_a_batch_keeps_records_and_rejects_apart() -> None:
    builder = BatchBuilder(POLICY, 6)
    builder.add(code(), 3)
    builder.add(Misfit(Reason.EMPTY), 4)
    builder.add(code(a={"age": 9}), 5)
    batch = builder.build(numbers=100)
    assert len(builder) == 3
    assert (batch.codes.tolist(), batch.offsets.tolist()) == ([[3, 9]], [3, 5])
    assert batch.individuals.tolist() == [100, 101]
    assert batch.rejects.attributes.tolist() == [NO_ATTRIBUTE]
    assert BatchBuilder(POLICY, 6).build().codes.shape == (1, 0)
