"""One type an attribute: the typed value is computed from the natural one and read back, to the letter."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.demo.pairing import natural_record
from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import (
    Identifier,
    Insensitive,
    Missing,
    PublishedForm,
    QuasiIdentifier,
    ScalarType,
    Unknown,
)
from stream_anon.microdata.domains.calendar.calendar_cells import Finest
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.output.output_members import members_of
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.output.typed import read_typed, typed_form
from stream_anon.microdata.policy import Policy
from stream_anon.settings.policy_file import load_policy
from tests.support import hostile
from tests.support.data import ROOT
from tests.support.effort import examples
from tests.support.shapes import shaped_record, typed_value
from tests.unit.microdata.test_read import DIGITS, DOMAINS, STRANGERS, _attributes, _everything, _neighbours

AGES = NumericDomain(Decimal(0), Decimal(120), Decimal(1), 0)
YEAR = DateDomain("%Y-%m-%d", dt.date(2024, 1, 1), dt.date(2024, 12, 31))


def policy_of(*attributes: Any, shape: Shape = Shape.TYPED) -> Policy:
    return Policy((Identifier("id"), *attributes), k=2, individual="id", shape=shape)


POLICIES = {shape: hostile.shaped_policy(shape) for shape in Shape}
NUMBERS = "numbers of a hierarchy"
NAMES = [*DOMAINS, NUMBERS]


def shaped(name: str) -> Iterator[QuasiIdentifier]:
    """Yield the attributes over a domain as typed records have them."""
    whole = QuasiIdentifier("x", CategoricalDomain(DIGITS), type=ScalarType.INTEGER)
    sets = (PublishedForm.NODES, PublishedForm.VALUES)
    for attribute in [replace(whole, publication=one) for one in sets] if name == NUMBERS else _attributes(name):
        yield policy_of(attribute).quasi_identifiers[0]


@pytest.mark.parametrize("name", NAMES)
def test_typed_and_natural_say_the_same(name: str) -> None:
    seen = 0
    for attribute in shaped(name):
        form, written = typed_form(attribute), set()
        for text in _everything(attribute):
            natural = json.loads(text)
            typed = form.write(natural)
            assert repr(typed) == repr(typed_value(attribute, natural))
            assert repr(read_typed(form, json.loads(json.dumps(typed)))) == repr(natural)
            written.add(json.dumps(typed))
            seen += 1
        assert len(written) == len(_everything(attribute))  # no two classes of a window are written alike
    assert seen


@pytest.mark.parametrize("name", NAMES)
def test_what_nobody_wrote_is_published_by_no_attribute(name: str) -> None:
    for attribute in shaped(name):
        form, possible = typed_form(attribute), {}
        for text in _everything(attribute):
            possible[json.dumps(form.write(json.loads(text)))] = text
        tries = [*STRANGERS, *(json.loads(text) for text in _everything(attribute))]
        for typed in map(json.loads, possible):
            if isinstance(typed, dict) and typed["min"] is None:
                tries += [typed | {"more": None}, {"max": None, "min": None}, {"min": None}]
            elif not (isinstance(typed, dict) and isinstance(typed["min"], str)):
                tries += _neighbours(typed)
            else:
                low, high = typed["min"], typed["max"]
                tries += [{"min": high, "max": low}, {"min": low[:-1], "max": high}, {"max": high, "min": low}]
                tries += [{"min": low, "max": None}, {"min": low.replace("-", ""), "max": high}, typed | {"x": 1}]
                tries += [{"min": low, "max": "2024-03-30"}, {"min": "2024-02-04", "max": high}]
        for tried in tries:
            natural = read_typed(form, tried)
            if json.dumps(tried) in possible:
                assert json.dumps(natural) == possible[json.dumps(tried)]
            else:
                assert attribute.read(natural) is None, (attribute, tried)


@pytest.mark.parametrize("name", NAMES)
def test_every_value_of_an_attribute_has_one_type(name: str) -> None:
    def kind(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: kind(one) for key, one in value.items() if one is not None} or None
        return type(value[0]) if isinstance(value, list) else type(value)

    for attribute in shaped(name):
        found = [typed_form(attribute).write(json.loads(text)) for text in _everything(attribute)]
        kinds = [kind(value) for value in found if value is not None]
        assert len({str(one) for one in kinds if one is not None}) == 1


@examples(300)
@given(data=st.data())
def test_values_of_large_domains_are_read_back(data: st.DataObject) -> None:
    attribute = data.draw(st.sampled_from(POLICIES[Shape.TYPED].quasi_identifiers))
    codes = st.integers(0, attribute.size - 1)
    low, high = sorted((data.draw(codes), data.draw(codes)))
    natural: Any = attribute.publish(*attribute.node(low, high))
    if attribute.publication is PublishedForm.VALUES:
        natural = attribute.publish_set(data.draw(st.sets(codes, min_size=1)))
    form = typed_form(attribute)
    typed = form.write(natural)
    assert repr(typed) == repr(typed_value(attribute, natural))
    assert repr(read_typed(form, json.loads(json.dumps(typed)))) == repr(natural)


@pytest.mark.parametrize("shape", [Shape.TYPED, Shape.FLAT])
@pytest.mark.parametrize("finest", Finest)
def test_days_of_one_year_are_anything_where_a_class_with_missing_days_would_be_written_alike(
    shape: Shape, finest: Finest
) -> None:
    year = replace(YEAR, format="iso8601", finest=finest)
    born = QuasiIdentifier("born", year)

    def whole(attribute: QuasiIdentifier, shape: Shape) -> Any:
        domain = policy_of(attribute, shape=shape).quasi_identifiers[0].domain
        return domain.publish(0, domain.size - 1)

    assert whole(born, Shape.NATURAL) == "2024"
    assert whole(born, shape) == "*"
    assert whole(replace(born, missing=Missing.REJECT, unknown=Unknown.ROOT), shape) == "*"
    # Nothing else is written like the year here, and a policy that was allowed before stays the same one.
    strict = replace(born, missing=Missing.REJECT)
    assert whole(strict, shape) == "2024"
    assert policy_of(strict, shape=shape).quasi_identifiers[0] == strict
    months = policy_of(born, shape=shape).quasi_identifiers[0].domain
    assert months.height == year.height - 1
    assert months.publish(*months.node_at(0, months.height - 1)) == "2024-Q1"
    with pytest.raises(SettingsError, match="max_level: must lie between"):
        policy_of(replace(born, max_level=year.height), shape=shape)


@pytest.mark.parametrize("shape", [Shape.TYPED, Shape.FLAT])
def test_the_clinic_of_the_examples_whose_visits_lie_in_one_year_may_be_typed(shape: Shape) -> None:
    policy = load_policy(ROOT / "examples" / "clinic" / "policy.yaml", {"output": {"shape": shape.value}})
    date = next(one for one in policy.quasi_identifiers if one.name == "visit.date")
    assert typed_form(date).write("*") == {"min": "2025-01-01", "max": "2025-12-31"}
    assert date.publish(*date.node(0, date.domain.size - 1)) == "*"


def test_two_fields_under_one_key_of_a_flat_record_are_refused() -> None:
    age, twin = QuasiIdentifier("age", AGES), Insensitive("age_min", ScalarType.INTEGER)
    policy_of(age, twin)
    with pytest.raises(SettingsError, match="would be written under age_min as age is"):
        policy_of(age, twin, shape=Shape.FLAT)
    with pytest.raises(SettingsError, match="would be written under home_zip"):
        policy_of(age, Insensitive("home.zip"), Insensitive("home_zip"), shape=Shape.FLAT)


def test_the_members_of_a_flat_record_are_columns() -> None:
    colors = CategoricalDomain(Hierarchy.flat(["red", "green", "blue"]))
    attributes = (
        QuasiIdentifier("patient.age", AGES),
        QuasiIdentifier("color", colors, publication=PublishedForm.VALUES),
        Insensitive("patient.ward"),
    )
    keys = [member.path for member in members_of(attributes, Shape.FLAT)]
    assert keys == [("patient_age_min",), ("patient_age_max",), ("color",), ("patient_ward",)]


@examples(100)
@given(data=st.data(), shape=st.sampled_from(list(Shape)))
def test_a_whole_record_is_computed_from_the_other_shape_and_back(data: st.DataObject, shape: Shape) -> None:
    policy = POLICIES[shape]
    said: dict[str, Any] = {}
    for attribute in policy.published:
        if isinstance(attribute, QuasiIdentifier):
            codes = st.integers(0, attribute.size - 1)
            low, high = sorted((data.draw(codes), data.draw(codes)))
            sets = attribute.publication is PublishedForm.VALUES
            bounds = attribute.node(low, high)
            said[attribute.name] = attribute.publish_set({low, high}) if sets else attribute.publish(*bounds)
        else:
            said[attribute.name] = data.draw(st.sampled_from([None, "a", 2.5]))
    record = json.loads(json.dumps(shaped_record(policy, said)))
    natural = shaped_record(POLICIES[Shape.NATURAL], said)
    assert repr(natural_record(policy, record)) == repr(natural)
