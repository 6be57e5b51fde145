"""Levels of a quasi-identifier: which nodes may be published, and which are read back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Missing, PublishedForm, Unknown
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.recoding.full_domain import FullDomain
from tests.support.tables import DOMAINS

TREE = {"north": {"coast": ["a", "b"], "inland": ["c", "d", "e"]}, "south": ["f", "g"], "island": None}


def _place(**changes: Any) -> QuasiIdentifier:
    """Return an attribute of height 3: a leaf, coast, north, all; `south` stands right under the root."""
    return QuasiIdentifier("place", CategoricalDomain(Hierarchy.from_tree(TREE)), **changes)


def _published(attribute: QuasiIdentifier, *places: str | None) -> Any:
    codes = [attribute.code(place) for place in places]
    return attribute.publish(*attribute.lifted(*attribute.node(min(codes), max(codes))))


@pytest.mark.parametrize(
    ("level", "found"),
    [
        (0, ["a", "c", "f", "island", None]),
        (1, ["coast", "inland", "f", "island", None]),
        (2, ["north", "north", "south", "island", None]),
        (3, ["*", "*", "*", "*", "*"]),
    ],
)
def test_a_value_becomes_its_node_of_the_least_level_and_a_short_branch_waits_at_its_leaf(
    level: int, found: list[Any]
) -> None:
    attribute = _place(min_level=level)
    assert [_published(attribute, value) for value in ("a", "c", "f", "island", None)] == found


def test_a_class_that_needs_more_than_the_least_level_is_published_as_before() -> None:
    attribute = _place(min_level=1)
    assert _published(attribute, "a", "d") == "north"
    assert _published(attribute, "f", "g") == "south"
    assert _published(attribute, "a", None) == "*"


@pytest.mark.parametrize("level", range(4))
def test_what_is_read_back_is_what_may_be_published_on_the_levels(level: int) -> None:
    labels = {0: ["a", "c", "f", "island"], 1: ["coast", "inland"], 2: ["north", "south"]}
    fixed = _place(min_level=level, max_level=level)
    allowed = {
        0: ["a", "c", "f", "island"],
        1: ["coast", "inland", "f", "island"],
        2: ["north", "south", "island"],
        3: ["*"],
    }[level]
    for label in [*labels[0], *labels[1], *labels[2], "*"]:
        assert (fixed.read(label) is not None) == (label in allowed)
    assert (fixed.read(None) is not None) == (level < 3)
    most = _place(max_level=level)
    assert most.read("a") is not None
    assert (most.read("coast") is not None) == (level >= 1)
    assert (most.read("*") is not None) == (level == 3)
    least = _place(min_level=level)
    assert (least.read("a") is not None) == (level == 0)
    assert least.read("*") is not None


def test_an_unknown_value_is_the_root_on_every_level_and_read_back_as_such() -> None:
    strict = _place(min_level=1, max_level=1)
    open_ = _place(min_level=1, max_level=1, unknown=Unknown.ROOT)
    assert _published(open_, "elsewhere") == "*"
    assert open_.read("*") is not None
    assert strict.read("*") is None


def test_the_top_level_is_written_as_the_root_though_nothing_may_be_missing() -> None:
    numbers = NumericDomain(Decimal(0), Decimal(9), Decimal(1), 0, (Decimal(5),))
    attribute = QuasiIdentifier("n", numbers, missing=Missing.REJECT, min_level=2)
    assert _published(attribute, 3) == "*"  # type: ignore[arg-type]
    assert attribute.read("*") is not None


def test_a_tight_range_and_a_set_may_reach_as_far_as_the_node_of_the_highest_level() -> None:
    tight = NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0, (Decimal(10), Decimal(50)), tight=True)
    age = QuasiIdentifier("age", tight, publication=PublishedForm.TIGHT, max_level=1)
    assert age.read({"min": 31, "max": 38}) is not None
    assert age.read({"min": 38, "max": 41}) is None
    sets = _place(publication=PublishedForm.VALUES, max_level=2)
    assert sets.read(["a", "c"]) is not None
    assert sets.read(["a", "f"]) is None


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"max_level": 4}, "max_level"),
        ({"max_level": -1}, "max_level"),
        ({"min_level": 4}, "min_level"),
        ({"min_level": -1}, "min_level"),
        ({"min_level": 2, "max_level": 1}, "min_level"),
        ({"min_level": 1, "publication": PublishedForm.VALUES}, "min_level"),
    ],
)
def test_levels_that_do_not_exist_or_contradict_each_other_are_refused(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(SettingsError, match=f"attributes.place.{key}"):
        _place(**changes)


@given(data=st.data(), place=st.integers(0, len(DOMAINS) - 1))
def test_the_nodes_of_many_codes_are_those_of_each(data: st.DataObject, place: int) -> None:
    attribute = QuasiIdentifier("a", DOMAINS[place])
    drawn = data.draw(st.lists(st.integers(0, attribute.size - 1), unique=True, max_size=20))
    codes = np.array(sorted(drawn), np.int32)
    for level in range(attribute.domain.height + 1):
        found = attribute.nodes_at(codes, level)
        assert found.tolist() == [list(attribute.node_at(code, level)) for code in codes.tolist()]


SHORTER = QuasiIdentifier("a", PrefixDomain(3, "12", 3, shorter=True), unknown=Unknown.ROOT, max_level=1)
TEXTS = ["1", "2", "11", "12", "21", "22", *(f"{n}" for n in range(111, 223) if set(str(n)) <= {"1", "2"})]


def test_a_code_that_no_text_has_puts_no_others_together() -> None:
    codes = np.array([[SHORTER.code(text) for text in TEXTS]], np.int32)
    for level in range(4):
        groups = FullDomain([SHORTER], [level]).groups(codes)
        bounds = [SHORTER.node_at(code, level) for code in codes[0].tolist()]
        assert len(set(groups.tolist())) == len(set(bounds)) == (14, 6, 2, 1)[level]
        assert len(set(zip(groups.tolist(), bounds, strict=True))) == len(set(bounds))


def test_the_root_of_texts_up_to_a_length_is_above_the_highest_level() -> None:
    assert SHORTER.is_too_coarse(*SHORTER.node(SHORTER.code("1"), SHORTER.code("2")))
    assert SHORTER.is_too_coarse(*SHORTER.node(SHORTER.code("1"), SHORTER.missing_code))
    assert SHORTER.read("1*") is None
    assert SHORTER.read("11*") is not None
