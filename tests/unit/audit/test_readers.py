"""What a reader of records takes from each, what it refuses, and what a book of values remembers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stream_anon.audit import released_records as records_module
from stream_anon.audit.released_records import Problem, ReleasedRecordReader, ValueBook
from stream_anon.audit.verdict import Kind
from stream_anon.microdata.attributes import Attribute, Identifier, Insensitive, ScalarType, Sensitive
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from tests.support.releases import ward_policy

FLAT = CategoricalDomain(Hierarchy.flat(["a", "b"]))
ATTRIBUTES: tuple[Attribute, ...] = (
    Identifier("id"),
    Identifier("home.who.first"),
    Identifier("card.number"),
    QuasiIdentifier("home.city", FLAT),
    QuasiIdentifier("sex", FLAT),
    Sensitive("home.income", ScalarType.NUMBER),
    Sensitive("illness"),
    Insensitive("paid", ScalarType.BOOLEAN),
    Insensitive("visits", ScalarType.INTEGER),
)
POLICY = Policy(ATTRIBUTES, 2, "id", diversity={"illness": Diversity(2), "home.income": Diversity(2)})
RECORD: dict[str, Any] = {
    "home": {"city": "a", "income": 1.5},
    "sex": "b",
    "illness": "flu",
    "paid": True,
    "visits": 3,
}


def _problems(record: dict[str, Any], *, typed: bool = True) -> list[Problem]:
    return ReleasedRecordReader(POLICY, typed=typed).read(record)[1]


def _with(**changes: Any) -> dict[str, Any]:
    return RECORD | changes


def _home(**changes: Any) -> dict[str, Any]:
    return RECORD | {"home": RECORD["home"] | changes}


def test_a_right_record_gives_its_tuple_and_the_values_that_pass() -> None:
    read, problems = ReleasedRecordReader(POLICY).read(RECORD)
    assert problems == []
    assert (read.key, read.quasi, read.passed) == (b'["a","b"]', ("a", "b"), (1.5, "flu", True, 3))
    only = Policy(ATTRIBUTES, 2, "id", diversity={"illness": Diversity(2)})
    assert ReleasedRecordReader(only).read(RECORD)[0].passed == (1.5, "flu", True, 3), "with a criterion or without"


def test_missing_values_are_values_and_missing_fields_are_not() -> None:
    nothing = _with(sex=None, illness=None, paid=None, visits=None) | {"home": {"city": None, "income": None}}
    read, problems = ReleasedRecordReader(POLICY).read(nothing)
    assert (problems, read.quasi, read.passed) == ([], (None, None), (None, None, None, None))
    for name in ("sex", "illness", "visits"):
        assert _problems({k: v for k, v in RECORD.items() if k != name}) == [(Kind.MISSING_FIELD, name)]
    assert _problems(_with(home={"city": "a"})) == [(Kind.MISSING_FIELD, "home.income")]
    both = [(Kind.MISSING_FIELD, "home.city"), (Kind.MISSING_FIELD, "home.income")]
    assert _problems(_with(home=None)) == both
    assert _problems({k: v for k, v in RECORD.items() if k != "home"}) == both
    assert _problems(_with(home="x")) == [*both, (Kind.UNDECLARED_FIELD, None)]


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("visits", 3.0, False),
        ("visits", True, False),
        ("paid", 1, False),
        ("paid", False, True),
        ("illness", 3, False),
        ("illness", "", True),
    ],
)
def test_what_passes_has_its_declared_type(name: str, value: object, right: bool) -> None:
    assert _problems(_with(**{name: value})) == ([] if right else [(Kind.WRONG_TYPE, name)])
    read, _ = ReleasedRecordReader(POLICY).read(_with(illness=3))
    assert read.passed[:2] == (1.5, None)


def test_numbers_are_integers_or_decimals() -> None:
    assert _problems(_home(income=1)) == []
    assert _problems(_home(income="1")) == [(Kind.WRONG_TYPE, "home.income")]


def test_where_types_are_not_known_a_text_may_be_any_scalar_and_a_list_of_them() -> None:
    for value in (3, 3.5, True, "x", [1], ["x", 3]):
        assert _problems(_with(illness=value), typed=False) == []
    for value in ([[1]], {"x": 1}, [None]):
        assert _problems(_with(illness=value), typed=False) == [(Kind.WRONG_TYPE, "illness")]
    assert _problems(_with(illness=[1])) == [(Kind.WRONG_TYPE, "illness")]
    assert _problems(_with(visits="3"), typed=False) == [(Kind.WRONG_TYPE, "visits")]


UNDECLARED = (Kind.UNDECLARED_FIELD, None)


@pytest.mark.parametrize(
    ("record", "problems"),
    [
        (_with(note=None), [UNDECLARED]),
        (_with(note={"deep": 1}), [UNDECLARED]),
        (_home(note="x"), [UNDECLARED]),
        (_with(note=1, more=2), [UNDECLARED, UNDECLARED]),
        (_with(id=None), [(Kind.IDENTIFYING_FIELD, "id")]),
        (_with(id={"first": "x"}), [(Kind.IDENTIFYING_FIELD, "id")]),
        (_home(id=7), [UNDECLARED]),
        (_home(who={"first": "x"}), [(Kind.IDENTIFYING_FIELD, "home.who.first")]),
        (_home(who={"last": "x"}), [UNDECLARED]),
        (_home(who="x"), [UNDECLARED]),
        (_with(card={"number": 1}), [(Kind.IDENTIFYING_FIELD, "card.number")]),
        (_with(card={"colour": 1}), [UNDECLARED]),
        (_with(card=5), [UNDECLARED]),
        (_with(number=5), [UNDECLARED]),
        (
            {**_home(who={"first": "x"}), "id": 1, "note": 2},
            [(Kind.IDENTIFYING_FIELD, "home.who.first"), (Kind.IDENTIFYING_FIELD, "id"), UNDECLARED],
        ),
    ],
)
def test_what_must_not_be_there_is_named_if_it_identifies(record: dict[str, Any], problems: list[Problem]) -> None:
    assert _problems(record) == problems


def test_a_stray_field_is_found_beside_a_missing_one() -> None:
    found = _problems({"note" if key == "visits" else key: value for key, value in RECORD.items()})
    assert found == [(Kind.MISSING_FIELD, "visits"), UNDECLARED]


def test_a_book_remembers_values_up_to_a_number_and_answers_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(attribute: QuasiIdentifier, value: Any) -> float | None:
        asked.append(json.dumps(value))
        return genuine(attribute, value)

    genuine = records_module._ncp
    monkeypatch.setattr(records_module, "_ncp", counted)
    monkeypatch.setattr(records_module, "_MOST_REMEMBERED", 2)
    policy = ward_policy()
    book = ValueBook(policy)
    illness = [attribute.name for attribute in policy.quasi_identifiers].index("illness")
    values = ["flu", "cold", "flu", "cold", "stroke", "stroke", "flu"]
    assert [book.ncp(illness, value) for value in values] == [0.0] * 7
    assert asked == ['"flu"', '"cold"', '"stroke"', '"flu"']
    assert book.ncp(illness, "influenza") is None
    assert book.ncp(illness, "*") == 1.0
    assert book.ncp(0, {"min": 10**400}) is None


def test_sets_have_the_loss_of_sets_and_other_values_that_of_nodes() -> None:
    policy = ward_policy()
    book = ValueBook(policy)
    names = [attribute.name for attribute in policy.quasi_identifiers]
    plan, age = policy.quasi_identifiers[names.index("plan")], policy.quasi_identifiers[0]
    assert book.ncp(names.index("plan"), ["a", "d"]) == plan.ncp_set((0, 3)) != plan.ncp(0, 3)
    assert book.ncp(names.index("plan"), "*") == 1.0
    assert book.ncp(names.index("plan"), "b") == 0.0
    low, high = age.node(0, 10)
    assert book.ncp(0, age.publish(low, high)) == age.ncp(low, high) > 0
