from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import pytest

from stream_anon.errors import SettingsError
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.json.record_parts import longest_form
from stream_anon.microdata.attributes import (
    Attribute,
    Identifier,
    Insensitive,
    Missing,
    PublishedForm,
    ScalarType,
    Sensitive,
    Unknown,
)
from stream_anon.microdata.batch import NO_ATTRIBUTE, Reason, Rejects
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.output.output_members import members_of
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import SUPPRESSED, Classes, Release
from stream_anon.service.closing.dead_letters import encode_dead_letters
from tests.support.hostile import broad_policy

AGES = NumericDomain(Decimal(0), Decimal(120), Decimal(1), 0)
COLORS = CategoricalDomain(Hierarchy.flat(["red", "green", "blue"]))


def policy_of(*attributes: Attribute) -> Policy:
    return Policy((Identifier("id"), *attributes), k=2, individual="id")


def release_of(
    values: Sequence[Sequence[Any]], class_of_row: list[int], order: list[int], payload: Sequence[Any]
) -> Release:
    count = len(values[0])
    bounds = np.zeros((len(values), count), np.int32)
    ones = np.ones(count, np.int64)
    classes = Classes(bounds, bounds, values, ones, ones, np.zeros((len(values), count)))
    return Release(
        classes=classes,
        class_of_row=np.array(class_of_row, np.int32),
        order=np.array(order, np.int64),
        payload=payload,
        suppressed={},
        rejects=Rejects.of([]),
        ranges=(),
        arrivals=(),
        opened_at=0.0,
        closed_at=1.0,
        achieved_k=2,
        achieved_l={},
        gcp=0.0,
    )


def test_fields_keep_their_order_and_their_path() -> None:
    policy = policy_of(
        Insensitive("note"),
        QuasiIdentifier("patient.age", AGES),
        Sensitive("result.name"),
        QuasiIdentifier("color", COLORS),
        Insensitive("patient.home.floor", ScalarType.INTEGER),
        Insensitive("patient.ward"),
    )
    values = [[{"min": 20, "max": 29}, "*"], [["red", "blue"], None]]
    payload = [("a", "x", 1, None), ("lost", "lost", 2, "lost"), ("ü%d", 'q"', None, "w")]
    records = JsonCodec(policy).encode(release_of(values, [0, SUPPRESSED, 1], [2, 0], payload))
    assert [record.decode() for record in records] == [
        '{"note":"ü%d","patient":{"age":"*","home":{"floor":null},"ward":"w"},"result":{"name":"q\\""},"color":null}',
        (
            '{"note":"a","patient":{"age":{"min":20,"max":29},"home":{"floor":1},"ward":null},"result":{"name":"x"}'
            ',"color":["red","blue"]}'
        ),
    ]


@pytest.mark.parametrize(
    ("shape", "anything", "set_of_two"),
    [
        (
            Shape.TYPED,
            '"age":{"min":0,"max":120},"home":{"floor":null}',
            '"age":{"min":20,"max":20},"home":{"floor":1}',
        ),
        (
            Shape.FLAT,
            '"patient_age_min":0,"patient_age_max":120,"patient_home_floor":null',
            '"patient_age_min":20,"patient_age_max":20,"patient_home_floor":1',
        ),
    ],
)
def test_typed_records_have_one_type_a_key(shape: Shape, anything: str, set_of_two: str) -> None:
    attributes = (
        QuasiIdentifier("patient.age", AGES),
        Insensitive("patient.home.floor", ScalarType.INTEGER),
        QuasiIdentifier("color", COLORS, publication=PublishedForm.VALUES),
        QuasiIdentifier("level", CategoricalDomain(Hierarchy.flat(["1", "2"])), type=ScalarType.INTEGER),
    )
    policy = replace(policy_of(*attributes), shape=shape)
    values = [["*", 20, None], ["red", ["red", "blue"], "*"], [2, "*", None]]
    release = release_of(values, [0, 1, 2], [0, 1, 2], [(None,), (1,), (2,)])
    records = [record.decode() for record in JsonCodec(policy).encode(release)]
    wrap = '{"patient":{%s},%s}' if shape is Shape.TYPED else "{%s,%s}"
    assert records[:2] == [
        wrap % (anything, '"color":["red"],"level":"2"'),
        wrap % (set_of_two, '"color":["red","blue"],"level":"*"'),
    ]
    missing = anything.replace(":0,", ":null,").replace(":120", ":null")
    missing = missing.replace('floor":null', 'floor":2')
    assert records[2] == wrap % (missing, '"color":["*"],"level":null')


def test_a_record_of_quasi_identifiers_alone_is_written() -> None:
    policy = policy_of(QuasiIdentifier("age", AGES))
    assert JsonCodec(policy).encode(release_of([[30, 31]], [1, 0, 1], [0, 1, 2], [()] * 3)) == [
        b'{"age":31}',
        b'{"age":30}',
        b'{"age":31}',
    ]


def test_numbers_that_are_equal_are_written_alike() -> None:
    policy = policy_of(QuasiIdentifier("age", AGES), Insensitive("n", ScalarType.NUMBER))
    numbers: list[Any] = [1, 1.0, 0.0, -0.0, 1e22, 10**30, None]
    payload = [(number,) for number in numbers]
    records = JsonCodec(policy).encode(release_of([[30]], [0] * 7, list(range(7)), payload))
    assert [repr(json.loads(record)["n"]) for record in records] == list(map(repr, numbers))


def test_any_name_of_an_attribute_is_written_and_read_back_as_a_plain_key() -> None:
    policy = policy_of(QuasiIdentifier("a'}%s{r}[0]", AGES), Sensitive("ü __import__"), Insensitive("class"))
    (record,) = JsonCodec(policy).encode(release_of([[30]], [0], [0], [("v", "w")]))
    assert json.loads(record) == {"a'}%s{r}[0]": 30, "ü __import__": "v", "class": "w"}
    batch = JsonCodec(policy).decode([b'{"id":1,"class":"w",' + record[1:]], 0, np.arange(1))
    assert (batch.codes.tolist(), list(batch.payload)) == ([[30]], [("v", "w")])


@pytest.mark.parametrize("name", ['a"', "a\\b", "a.b\n"])
def test_a_name_that_cannot_be_a_key_is_a_settings_error(name: str) -> None:
    with pytest.raises(SettingsError, match=r"must hold no quote, backslash or control character"):
        JsonCodec(policy_of(QuasiIdentifier(name, AGES)))


def test_an_empty_release_is_written_as_no_records() -> None:
    policy = policy_of(QuasiIdentifier("age", AGES), Sensitive("s"))
    assert JsonCodec(policy).encode(release_of([[]], [SUPPRESSED], [], [("x",)])) == []


def test_a_dead_letter_holds_its_reason_and_place_only() -> None:
    policy = policy_of(QuasiIdentifier("patient.age", AGES))
    rejects = Rejects.of([(Reason.OUT_OF_RANGE, 1, 1, 55), (Reason.NOT_UTF8, NO_ATTRIBUTE, 0, 2**40)])
    letters = encode_dead_letters(rejects, [("people", 0), ("people", 3)], policy)
    assert [json.loads(letter) for letter in letters] == [
        {
            "schema": 1,
            "reason": "out-of-range",
            "topic": "people",
            "partition": 3,
            "offset": 55,
            "attribute": "patient.age",
        },
        {"schema": 1, "reason": "not-utf8", "topic": "people", "partition": 0, "offset": 2**40, "attribute": None},
    ]


@pytest.mark.parametrize("shape", list(Shape))
@pytest.mark.parametrize("missing", list(Missing))
def test_no_published_value_is_longer_than_the_longest_form_of_its_attribute(
    missing: Missing, shape: Shape
) -> None:
    draws = np.random.default_rng(1)
    (color,) = (a for a in broad_policy(missing, Unknown.ROOT).quasi_identifiers if a.name == "color")
    sets = replace(color, publication=PublishedForm.VALUES)
    tight = QuasiIdentifier("t", NumericDomain(Decimal("-0.3"), Decimal("1e6"), Decimal("0.1"), None, tight=True))
    for attribute in (*broad_policy(missing, Unknown.ROOT).quasi_identifiers, sets, tight):
        members = members_of([attribute], shape)
        for low, high in np.sort(draws.integers(0, attribute.size, (300, 2))).tolist():
            values = [attribute.publish(*attribute.node(low, high)), attribute.publish(*attribute.node(low, low))]
            if attribute.publication is PublishedForm.VALUES:
                values.append(attribute.publish_set(range(low, high + 1)))
            for member in members:
                written = values if member.write is None else list(map(member.write, values))
                for value in written:
                    assert len(msgspec.json.encode(value)) <= longest_form(member), attribute.name


def test_exactly_the_records_that_are_written_larger_than_the_bound_are_named() -> None:
    policy = policy_of(QuasiIdentifier("age", AGES), Insensitive("note"))
    codec = JsonCodec(policy)
    notes = [("x" * n,) for n in range(0, 400, 7)]
    classes = [i % 3 - 1 for i in range(len(notes))]
    order = [i for i, own in enumerate(classes) if own != SUPPRESSED][::-1]
    release = release_of([["*", {"min": 0, "max": 9}]], classes, order, notes)
    sizes = dict(zip(order, map(len, codec.encode(release)), strict=True))
    for most in (0, 100, 101, 102, 200, 10_000):
        assert codec.larger_than(release, most).tolist() == [row for row in order if sizes[row] > most]
    assert codec.larger_than(release_of([[]], [], [], []), 0).tolist() == []
