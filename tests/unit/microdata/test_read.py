"""Reading published values back: exactly what a policy can publish is read, and nothing else.

The judge is exhaustive: for a small domain every pair of codes is published, and the answers are all there is.
"""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.attributes import Missing, PublishedForm, ScalarType, Unknown
from stream_anon.microdata.domains.calendar.calendar_cells import Finest
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.domain import Domain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from tests.support.effort import examples

RAGGED = Hierarchy.from_rows(
    [
        ["flu", "lungs", "body", "*"],
        ["cold", "lungs", "body", "*"],
        ["angina", "heart", "body", "*"],  # a group of one leaf: its label is never written
        ["fear", "mind", "*"],
        ["none", "*"],
    ]
)
CHAIN = Hierarchy.from_rows([["a", "low", "all", "*"], ["b", "low", "all", "*"]])  # low, all and * cover the same
DIGITS = Hierarchy.from_rows([["1", "1-2", "*"], ["2", "1-2", "*"], ["3", "03", "*"], ["4", "03", "*"]])
DAY = dt.date


def _number(
    low: str, high: str, step: str, decimals: int | None, *levels: str, tight: bool = False
) -> NumericDomain:
    return NumericDomain(
        Decimal(low), Decimal(high), Decimal(step), decimals, tuple(map(Decimal, levels)), tight=tight
    )


DOMAINS: dict[str, Domain] = {
    "halvings": _number("17", "30", "1", 0),
    "negative halvings": _number("-7", "4", "1", 0),
    "wide cells": _number("0", "23", "5", 0),
    "levels": _number("1", "20", "1", 0, "3", "6"),
    "one level over all": _number("0", "8", "1", 0, "20"),
    "tight": _number("0", "12", "1", 0, tight=True),
    "tight wide cells": _number("0", "23", "5", 0, tight=True),
    "decimals": _number("0", "1", "0.1", 1),
    "decimals in wide cells": _number("0.5", "3.2", "0.3", 2),
    "continuous": _number("0", "1", "0.1", None),
    "continuous, last cell short": _number("0", "1", "0.3", None),
    "continuous levels": _number("-1", "1", "0.1", None, "0.2", "0.4"),
    "continuous tight": _number("0.1", "1.3", "0.2", None, tight=True),
    "one cell": _number("0", "1", "1", None),
    "ragged": CategoricalDomain(RAGGED),
    "chain": CategoricalDomain(CHAIN),
    "flat": CategoricalDomain(Hierarchy.flat(["a", "b", "c"])),
    "single leaf": CategoricalDomain(Hierarchy.flat(["a"])),
    "prefix": PrefixDomain(2, "0123", 2),
    "prefix cut": PrefixDomain(3, "ab", 2),
    "one letter": PrefixDomain(1, "ab", 1),
    "prefix up to a length": PrefixDomain(3, "ab", 3, shorter=True),
    "prefix up to a length, cut": PrefixDomain(4, "ab", 2, shorter=True),
    "one letter up to a length": PrefixDomain(3, "ab", 1, shorter=True),
    "days of a year": DateDomain("%Y-%m-%d", DAY(2024, 1, 31), DAY(2024, 4, 2)),
    "days of a month": DateDomain("%Y-%m-%d", DAY(2024, 2, 3), DAY(2024, 2, 9)),
    "hours of an October": DateDomain(
        "iso8601", DAY(2024, 10, 26), DAY(2024, 10, 28), zone="Europe/Berlin", finest=Finest.HOUR
    ),
    "days over years": DateDomain("%Y-%m-%d", DAY(2023, 12, 30), DAY(2024, 1, 5)),
}


def _attributes(name: str) -> list[QuasiIdentifier]:
    domain = DOMAINS[name]
    tight = isinstance(domain, NumericDomain) and domain.tight
    publications = [PublishedForm.TIGHT if tight else PublishedForm.NODES]
    if isinstance(domain, CategoricalDomain):
        publications.append(PublishedForm.VALUES)
    return [
        QuasiIdentifier("x", domain, missing=missing, unknown=unknown, publication=publication)
        for missing in Missing
        for unknown in Unknown
        for publication in publications
    ]


def _codes(attribute: QuasiIdentifier) -> list[int]:
    """Return the codes that a record can have."""
    missing = [attribute.missing_code] if attribute.missing is Missing.LEAF else []
    unknown = [attribute.unknown_code] if attribute.unknown is Unknown.ROOT else []
    return [*range(attribute.domain.size), *missing, *unknown]


def _exact(value: object) -> str:
    """Return a value's JSON: `1`, `1.0`, `"1"` and `true` differ."""
    return json.dumps(value)


def _everything(attribute: QuasiIdentifier) -> dict[str, tuple[int, ...]]:
    """Return all that can be published, with the bounds or the codes of a set behind it."""
    codes = _codes(attribute)
    answers: dict[str, tuple[int, ...]] = {}
    if attribute.publication is PublishedForm.VALUES:
        for count in range(1, len(codes) + 1):
            for chosen in combinations(codes, count):
                published = attribute.publish_set(chosen)
                behind = chosen if isinstance(published, list) else (chosen[0], chosen[-1])
                answers[_exact(published)] = (0, attribute.unknown_code) if published == "*" else behind
        return answers
    for i, low in enumerate(codes):
        for high in codes[i:]:
            bounds = attribute.node(low, high)
            published = attribute.publish(*bounds)
            answers[_exact(published)] = (0, attribute.unknown_code) if published == "*" else bounds
    return answers


@pytest.mark.parametrize("name", DOMAINS)
def test_every_value_that_can_be_published_is_read_back(name: str) -> None:
    for attribute in _attributes(name):
        for text, behind in _everything(attribute).items():
            assert attribute.read(json.loads(text)) == behind, (attribute, text)


def _neighbours(value: Any) -> list[Any]:
    """Return values a slip away from a published one."""
    if isinstance(value, bool) or value is None:
        return [0, 1, "", "null"]
    if isinstance(value, int | float):
        ends = [value - 1, value + 1, value + 0.5, value - 0.1, value * 2]
        return [*ends, float(value), int(value), str(value), [value], {"min": value, "max": value}]
    if isinstance(value, str):
        cut = [value[:-1], value[1:], value[:-1] + "*", value + "*", value + " ", value.upper(), value * 2]
        return [*cut, value.replace("-", "/"), value[:4], value[:7], [value], [value, value], {"min": value}]
    if isinstance(value, list):
        return [value[::-1], value[:1], [*value, value[0]], [*value, "*"], [*value, None], [value], {}, []]
    low, high = value["min"], value["max"]
    shifts = [{"min": low + a, "max": high + b} for a in (-1, 0, 1) for b in (-1, 0, 1)]
    shifts += [{"min": low + a, "max": high + b} for a in (-0.1, 0, 0.1) for b in (-0.1, 0, 0.1)]
    shifts += [{"min": float(low), "max": float(high)}, {"min": high, "max": low}, {"min": low, "max": low}]
    return [*shifts, {"max": high, "min": low}, {"min": low}, value | {"mean": low}, [low, high], f"{low}-{high}"]


STRANGERS: list[Any] = [
    *(
        True,
        False,
        0,
        1,
        -1,
        10**400,
        0.0,
        -0.0,
        1e308,
        float("nan"),
        float("inf"),
        "",
        "*",
        "**",
        "***",
        "a*",
        "all",
    ),
    *(
        "lungs",
        "heart",
        "body",
        "body ",
        "2024",
        "2024-01",
        "2024-Q1",
        "2024-02",
        "2023",
        "2023-Q4",
        "2024-Q5",
        "low",
    ),
    *([], {}, ["a"], ["b", "a"], ["a", "a"], ["a", "b", "c"], ["lungs", "fear"], ["flu", "*"], [["a"]], [None]),
    *({"min": 0, "max": 10**400}, {"min": None, "max": 1}, {"min": True, "max": 2}, {"min": "0", "max": "1"}, None),
    *({"min": 18, "max": 19}, {"min": 0.15, "max": 0.2}, {"min": float("nan"), "max": float("nan")}),
]


@pytest.mark.parametrize("name", DOMAINS)
def test_no_value_is_read_that_the_policy_cannot_publish(name: str) -> None:
    for attribute in _attributes(name):
        possible = _everything(attribute)
        tries = [stray for text in possible for stray in _neighbours(json.loads(text))] + STRANGERS
        for tried in tries:
            if _exact(tried) not in possible:
                assert attribute.read(tried) is None, (attribute, tried)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 40)
    | st.floats(-5, 40)
    | st.text("ab*0123-Q2024 lungs", max_size=7),
    lambda inner: st.lists(inner, max_size=3) | st.fixed_dictionaries({"min": inner, "max": inner}),
    max_leaves=4,
)


@given(st.sampled_from(sorted(DOMAINS)), ANYTHING)
@examples(400)
def test_any_json_is_read_only_where_it_can_be_published(name: str, tried: object) -> None:
    for attribute in _attributes(name):
        assert (attribute.read(tried) is not None) == (_exact(tried) in _everything(attribute))


@pytest.mark.parametrize("kind", [ScalarType.INTEGER, ScalarType.NUMBER])
def test_a_typed_leaf_is_read_by_its_type_only(kind: ScalarType) -> None:
    attribute = QuasiIdentifier("x", CategoricalDomain(DIGITS), type=kind)
    one = attribute.publish(0, 0)
    assert attribute.read(one) == (0, 0)
    assert attribute.read("1-2") == (0, 1)
    assert attribute.read("03") == (2, 3)
    for stray in ("1", True, 1.5, 3.5, "3", 12, "1.0", float(1) if kind is ScalarType.INTEGER else 1):
        assert attribute.read(stray) is None


def test_a_truth_value_is_read_as_a_truth_value_only() -> None:
    attribute = QuasiIdentifier("x", CategoricalDomain(Hierarchy.flat(["true", "false"])), type=ScalarType.BOOLEAN)
    assert attribute.read(attribute.publish(1, 1)) == (1, 1)
    for stray in ("true", "false", 1, 0, "True"):
        assert attribute.read(stray) is None


def test_a_typed_set_is_read_by_its_type_only() -> None:
    attribute = QuasiIdentifier(
        "x", CategoricalDomain(DIGITS), type=ScalarType.INTEGER, publication=PublishedForm.VALUES
    )
    assert attribute.read([1, 3]) == (0, 2)
    for stray in (["1", "3"], [1, "3"], [1.0, 3.0], [3, 1], [1, 2, 3, 4], ["1-2", 3]):
        assert attribute.read(stray) is None


def test_a_large_number_that_a_label_writes_with_an_exponent_is_read() -> None:
    domain = CategoricalDomain(Hierarchy.flat(["1e+16", "0.5"]))
    attribute = QuasiIdentifier("x", domain, type=ScalarType.NUMBER)
    assert attribute.read(1e16) == (0, 0)
    assert attribute.read(0.5) == (1, 1)


def test_a_value_at_the_end_of_the_range_is_in_it() -> None:
    # As floats, 3.2 lies above the decimal 3.2 and 0.1 above 0.1, 0.3 below 0.3.
    for low, high in (("0.1", "3.2"), ("0.3", "1.1")):
        domain = _number(low, high, "0.1", 1)
        assert domain.code(float(low)) == 0
        assert domain.code(float(high)) == domain.size - 1


def test_reading_one_value_does_not_lay_out_a_wide_grid() -> None:
    domain = _number("0", str(2**29), "1", 0)
    assert domain.read({"min": 0, "max": 2**28 - 1}) == (0, 2**28 - 1)
    assert domain.read(2**29) == (2**29, 2**29)
    assert "_edges" not in vars(domain)


@given(
    st.integers(-50, 50),
    st.integers(2, 300),
    st.sampled_from(["1", "0.1", "0.25", "0.003", "7"]),
    st.sampled_from([None, 3]),
    st.booleans(),
    st.data(),
)
def test_every_node_of_any_grid_is_read_back(
    start: int, cells: int, step: str, decimals: int | None, tight: bool, data: st.DataObject
) -> None:
    width = Decimal(step)
    low = start * width
    domain = NumericDomain(low, low + cells * width, width, decimals, tight=tight)
    attribute = QuasiIdentifier("x", domain, publication=PublishedForm.TIGHT if tight else PublishedForm.NODES)
    first = data.draw(st.integers(0, domain.size - 1))
    last = data.draw(st.integers(first, domain.size - 1))
    bounds = attribute.node(first, last)
    assert attribute.read(json.loads(json.dumps(attribute.publish(*bounds)))) == bounds
