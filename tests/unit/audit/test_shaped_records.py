"""Typed and flat records show the audit the tuples that natural ones show, and a tuple of nobody where they lie."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from stream_anon.audit import released_records as module
from stream_anon.audit.released_records import ReleasedRecordReader, ValueBook
from stream_anon.audit.verdict import Kind
from stream_anon.microdata.output.shape import Shape
from tests.support.releases import ward_policy
from tests.support.shapes import shaped_record

NATURAL: dict[str, Any] = {
    "patient.age": {"min": 25, "max": 49},
    "patient.zip": "123**",
    "illness": "heart",
    "day": "2024-Q2",
    "plan": ["a", "b"],
    "weight": {"min": 70.5, "max": 71.4},
    "result": "fine",
    "visits": 3,
}
OTHER = NATURAL | {"patient.age": None, "illness": "*", "plan": "*", "day": None, "weight": "*"}
SHAPES = [Shape.TYPED, Shape.FLAT]
shapes = pytest.mark.parametrize("shape", SHAPES)


def reader_of(shape: Shape) -> ReleasedRecordReader:
    return ReleasedRecordReader(replace(ward_policy(), shape=shape))


def written(shape: Shape, natural: dict[str, Any] = NATURAL) -> dict[str, Any]:
    """Return the record of a shape as a reader decodes it."""
    record: dict[str, Any] = json.loads(json.dumps(shaped_record(replace(ward_policy(), shape=shape), natural)))
    return record


@shapes
@pytest.mark.parametrize("natural", [NATURAL, OTHER], ids=["generalized", "missing or anything"])
def test_the_tuple_is_that_of_the_natural_record(shape: Shape, natural: dict[str, Any]) -> None:
    expected = reader_of(Shape.NATURAL).read(written(Shape.NATURAL, natural))
    reader = reader_of(shape)
    assert reader.read(written(shape, natural)) == expected
    assert reader.read(written(shape, natural)) == expected  # also when it is known already
    assert expected[1] == []
    assert expected[0].quasi == tuple(natural[name] for name in list(NATURAL)[:6])


@shapes
def test_what_is_remembered_is_bounded(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_REMEMBERED", 2)
    reader, natural = reader_of(shape), reader_of(Shape.NATURAL)
    for _ in range(2):
        for age in range(5):
            given = NATURAL | {"patient.age": age}
            assert reader.read(written(shape, given)) == natural.read(written(Shape.NATURAL, given))
            assert len(vars(reader)["_natural"]) <= 2


@shapes
def test_a_natural_record_is_not_taken_for_one_of_the_shape(shape: Shape) -> None:
    book = ValueBook(ward_policy())
    read, problems = reader_of(shape).read(written(Shape.NATURAL))
    illegal = [place for place, value in enumerate(read.quasi) if book.ncp(place, value) is None]
    if shape is Shape.TYPED:
        assert (illegal, problems) == ([3], [])  # a quarter of a year is written as its days
    else:
        assert {kind for kind, _ in problems} == {Kind.MISSING_FIELD, Kind.UNDECLARED_FIELD}


@pytest.mark.parametrize("gone", ["patient_age_min", "patient_age_max"])
def test_half_an_interval_is_missing_and_no_value(gone: str) -> None:
    record = written(Shape.FLAT)
    del record[gone]
    read, problems = reader_of(Shape.FLAT).read(record)
    assert problems == [(Kind.MISSING_FIELD, "patient.age")]
    assert ValueBook(ward_policy()).ncp(0, read.quasi[0]) is None


def test_the_ends_of_a_flat_interval_are_told_apart() -> None:
    record = written(Shape.FLAT)
    record["patient_age_min"], record["patient_age_max"] = record["patient_age_max"], record["patient_age_min"]
    read, problems = reader_of(Shape.FLAT).read(record)
    assert problems == []
    assert ValueBook(ward_policy()).ncp(0, read.quasi[0]) is None


@pytest.mark.parametrize("shape", list(Shape))
def test_an_identifier_is_named_under_its_keys_and_flat_under_its_column(shape: Shape) -> None:
    policy = ward_policy()
    deep = replace(policy.attributes[0], keys=("patient", "person"))
    reader = ReleasedRecordReader(replace(policy, attributes=(deep, *policy.attributes[1:]), shape=shape))
    nested = written(shape)
    nested["patient"] = {**nested.get("patient", {}), "person": "p1"}
    assert reader.read(nested)[1] == [(Kind.IDENTIFYING_FIELD, "person")]
    column = written(shape) | {"patient_person": "p1"}
    expected = (Kind.IDENTIFYING_FIELD, "person") if shape is Shape.FLAT else (Kind.UNDECLARED_FIELD, None)
    assert reader.read(column)[1] == [expected]
