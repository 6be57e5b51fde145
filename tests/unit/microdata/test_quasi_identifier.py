from __future__ import annotations

from decimal import Decimal

import pytest

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.attributes import Missing, PublishedForm, ScalarType, Unknown
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

TREE = CategoricalDomain(Hierarchy.from_tree({"north": ["Kiel", "Rostock"], "south": ["Ulm", "Bonn"]}))
OPEN = QuasiIdentifier("place", TREE, unknown=Unknown.ROOT)


def _published(attribute: QuasiIdentifier, *values: object) -> object:
    codes = [attribute.code(value) for value in values]
    return attribute.publish(*attribute.node(min(codes), max(codes)))


def _cost(attribute: QuasiIdentifier, *values: object) -> tuple[float, int]:
    codes = [attribute.code(value) for value in values]
    return attribute.ncp(*attribute.node(min(codes), max(codes))), attribute.level(min(codes), max(codes))


@pytest.mark.parametrize(
    ("values", "published", "cost"),
    [
        pytest.param((None, None), None, (0, 0), id="missing alone"),
        pytest.param((None, "Kiel"), "*", (1, 2), id="missing and known"),
        pytest.param(("Mars", "Mars"), "*", (1, 2), id="unknown alone"),
        pytest.param(("Mars", None), "*", (1, 2), id="unknown and missing"),
        pytest.param(("Mars", "Kiel"), "*", (1, 2), id="unknown and known"),
        pytest.param(("Kiel", "Ulm"), "*", (1, 2), id="the whole domain"),
        pytest.param(("Kiel", "Rostock"), "north", (0.5, 1), id="a node"),
        pytest.param(("Kiel", "Kiel"), "Kiel", (0, 0), id="one value"),
    ],
)
def test_missing_and_unknown_leaves_are_published_as_null_and_as_the_star(
    values: tuple[object, ...], published: object, cost: tuple[float, int]
) -> None:
    assert _published(OPEN, *values) == published
    assert _cost(OPEN, *values) == cost


def test_all_that_is_published_as_the_star_has_the_same_bounds() -> None:
    star = (0, OPEN.unknown_code)
    pairs = [
        (0, 3),
        (0, OPEN.missing_code),
        (OPEN.unknown_code, OPEN.unknown_code),
        (OPEN.missing_code, OPEN.unknown_code),
    ]
    assert {OPEN.node(*pair) for pair in pairs} == {star}
    for domain in (PrefixDomain(3, "012", 3), NumericDomain(Decimal(0), Decimal(9), Decimal(1), 0)):
        attribute = QuasiIdentifier("x", domain)
        assert (
            attribute.node(0, domain.size - 1)
            == attribute.node(0, attribute.missing_code)
            == (0, attribute.unknown_code)
        )
        assert attribute.ncp(0, attribute.unknown_code) == 1


def test_missing_and_unknown_values_are_rejected_where_the_policy_says_so() -> None:
    strict = QuasiIdentifier("place", TREE, missing=Missing.REJECT)
    for value, reason in ((None, Reason.MISSING), ("Mars", Reason.UNKNOWN_VALUE), (7.5, Reason.WRONG_TYPE)):
        with pytest.raises(Unfit) as caught:
            strict.code(value)
        assert caught.value.reason == reason


def test_a_wrong_type_is_never_an_unknown_value() -> None:
    for attribute, value in (
        (OPEN, ["Kiel"]),
        (QuasiIdentifier("n", NumericDomain(Decimal(0), Decimal(9), Decimal(1), 0), unknown=Unknown.ROOT), "5"),
    ):
        with pytest.raises(Unfit) as caught:
            attribute.code(value)
        assert caught.value.reason == Reason.WRONG_TYPE


def test_sets_are_published_in_order_and_hide_the_missing() -> None:
    sets = QuasiIdentifier("place", TREE, unknown=Unknown.ROOT, publication=PublishedForm.VALUES)
    code = {label: sets.code(label) for label in ("Kiel", "Rostock", "Ulm", "Bonn")}
    assert sets.publish_set([code["Ulm"], code["Kiel"], code["Ulm"]]) == ["Kiel", "Ulm"]
    assert sets.ncp_set([code["Ulm"], code["Kiel"]]) == 0.5
    assert sets.publish_set([code["Ulm"]]) == "Ulm"
    assert sets.ncp_set([code["Ulm"]]) == 0
    assert sets.publish_set(code.values()) == "*"
    assert sets.publish_set([sets.missing_code]) is None
    assert sets.ncp_set([sets.missing_code]) == 0
    for mixed in ([code["Kiel"], sets.missing_code], [sets.unknown_code], [sets.missing_code, sets.unknown_code]):
        assert sets.publish_set(mixed) == "*"
        assert sets.ncp_set(mixed) == 1


def test_exact_categories_keep_their_type_and_groups_are_texts() -> None:
    tree = CategoricalDomain(Hierarchy.from_rows([["1", "low", "*"], ["2", "low", "*"], ["30", "high", "*"]]))
    whole = QuasiIdentifier("n", tree, type=ScalarType.INTEGER)
    assert _published(whole, 1, 1) == 1
    assert type(_published(whole, "1")) is int
    assert _published(whole, 1, 2) == "low"
    truth = QuasiIdentifier("t", CategoricalDomain(Hierarchy.flat(["true", "false"])), type=ScalarType.BOOLEAN)
    assert _published(truth, True) is True
    assert _published(truth, True, False) == "*"
    sets = QuasiIdentifier("n", tree, type=ScalarType.INTEGER, publication=PublishedForm.VALUES)
    assert sets.publish_set([0, 2]) == [1, 30]
    assert _published(QuasiIdentifier("n", tree), 1) == "1"


@pytest.mark.parametrize("weight", [0, -1, 1001, float("nan"), float("inf")])
def test_an_impossible_weight_is_refused(weight: float) -> None:
    with pytest.raises(SettingsError, match="weight"):
        QuasiIdentifier("place", TREE, weight)
