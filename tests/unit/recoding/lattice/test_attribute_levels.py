"""The levels of one attribute."""

from __future__ import annotations

import datetime as dt
import string
from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.attributes import PublishedForm, Unknown
from stream_anon.microdata.domains.calendar.calendar_cells import Finest
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.domain import Domain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.recoding.lattice.attribute_levels import AttributeLevels, levels_of
from tests.support.adult import adult_batch, adult_policy
from tests.support.lattices import hierarchies, published

DOMAINS: dict[str, Callable[[], Domain]] = {
    "halvings": lambda: NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0),
    "tight": lambda: NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0, (Decimal(5), Decimal(20)), tight=True),
    "widths": lambda: NumericDomain(Decimal(0), Decimal(97), Decimal(1), 0, (Decimal(5), Decimal(10))),
    "prefix": lambda: PrefixDomain(5, string.digits, 5),
    "shorter": lambda: PrefixDomain(4, "AB1", 4, shorter=True),
    "cut off": lambda: PrefixDomain(12, string.digits, 9),
    "dates": lambda: DateDomain("%Y-%m-%d", dt.date(2020, 2, 3), dt.date(2022, 5, 6)),
    "hours": lambda: DateDomain(
        "iso8601", dt.date(2024, 10, 20), dt.date(2024, 11, 3), zone="Europe/Berlin", finest=Finest.HOUR
    ),
    "minutes": lambda: DateDomain("iso8601", dt.date(2024, 10, 31), dt.date(2024, 11, 2), finest=Finest.MINUTE),
    "one year": lambda: DateDomain("%Y-%m-%d", dt.date(2020, 2, 3), dt.date(2020, 11, 6)),
}


def _levels(attribute: QuasiIdentifier, *codes: int) -> AttributeLevels:
    return levels_of(attribute, np.array(codes, np.int32))


def test_levels_that_group_the_values_alike_are_one_and_the_root_stays() -> None:
    zip_code = QuasiIdentifier("zip", PrefixDomain(5, string.digits, 5))
    levels = _levels(zip_code, 19362, 19360, 19332, 19334)
    assert levels.height == 3
    assert levels.numbers == (0, 1, 2, 5)  # the value, 1936* and 1933*, 193**, *
    assert levels.nodes.tolist() == [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_a_limit_of_the_hierarchy_stands_for_the_highest_level_that_it_allows() -> None:
    levels = _levels(QuasiIdentifier("zip", PrefixDomain(5, string.digits, 5)), 19362, 19360, 19332, 19334)
    assert [levels.at_most(number) for number in range(7)] == [0, 1, 2, 2, 2, 3, 3]


def test_the_quasi_identifiers_of_adult_have_6480_nodes() -> None:
    policy = adult_policy()
    codes = adult_batch(policy, count=3000).codes
    heights = {a.name: levels_of(a, c).height for a, c in zip(policy.quasi_identifiers, codes, strict=True)}
    del heights["age"]  # a number here, a hierarchy of four levels in the file
    assert 5 * np.prod([height + 1 for height in heights.values()]) == 6480


def test_a_missing_value_is_a_leaf_under_the_root_and_an_unknown_one_the_root() -> None:
    tree = Hierarchy.from_tree({"north": ["Oslo", "Bergen"], "south": ["Rome"]})
    city = QuasiIdentifier("city", CategoricalDomain(tree), unknown=Unknown.ROOT)
    levels = _levels(city, 0, 1, 2, city.missing_code, city.unknown_code)
    assert levels.nodes.tolist() == [[0, 1, 2, 3, 4], [0, 0, 1, 2, 3], [0, 0, 0, 0, 0]]


def test_a_tight_range_or_a_set_is_recoded_by_the_nodes_of_its_hierarchy() -> None:
    wide = {"levels": (Decimal(10), Decimal(50))}
    tight = NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0, **wide, tight=True)
    nodes = NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0, **wide)
    codes = (3, 7, 12, 48, 51, 99)
    found = _levels(QuasiIdentifier("age", tight, publication=PublishedForm.TIGHT), *codes)
    assert np.array_equal(found.nodes, _levels(QuasiIdentifier("age", nodes), *codes).nodes)
    tree = CategoricalDomain(Hierarchy.from_tree({"a": ["b", "c"], "d": ["e", "f"]}))
    sets = _levels(QuasiIdentifier("set", tree, publication=PublishedForm.VALUES), 0, 1, 2, 3)
    assert sets.nodes[1].tolist() == [0, 0, 1, 1]


def test_a_value_that_the_levels_were_made_without_is_refused() -> None:
    levels = _levels(QuasiIdentifier("zip", PrefixDomain(2, string.digits, 2)), 1, 5)
    assert levels.places(np.array([5, 1, 5], np.int32)).tolist() == [1, 0, 1]
    for stranger in (0, 3, 99):
        with pytest.raises(ValueError, match="zip: a value has no place"):
            levels.places(np.array([1, stranger], np.int32))


@given(tree=hierarchies(), data=st.data())
def test_a_level_groups_the_values_as_the_labels_of_its_hierarchy_do(tree: Hierarchy, data: st.DataObject) -> None:
    attribute = QuasiIdentifier("a", CategoricalDomain(tree), unknown=Unknown.ROOT)
    codes = data.draw(st.lists(st.integers(0, attribute.size - 1), min_size=1, unique=True))
    levels = _levels(attribute, *codes)
    partitions = {number: _partition(attribute, sorted(codes), number) for number in range(tree.height + 1)}
    assert [_groups(row) for row in levels.nodes.tolist()] == [partitions[number] for number in levels.numbers]
    # No partition is left out, and below the root none stands twice.
    assert {str(p) for p in partitions.values()} == {str(partitions[number]) for number in levels.numbers}
    below = [str(partitions[number]) for number in levels.numbers[:-1]]
    assert len(set(below)) == len(below)


def _partition(attribute: QuasiIdentifier, codes: list[int], level: int) -> list[int]:
    # Below the top an unknown value is published as the root is, and is alone with it.
    def alone(code: int) -> bool:
        return level < attribute.domain.height and code == attribute.unknown_code

    return _groups([(published(attribute, code, level), alone(code)) for code in codes])


def _groups(labels: Sequence[object]) -> list[int]:
    return [labels.index(label) for label in labels]


@pytest.mark.parametrize("kind", DOMAINS)
@given(data=st.data())
def test_levels_of_every_domain_coarsen_into_intervals_up_to_the_root(kind: str, data: st.DataObject) -> None:
    attribute = QuasiIdentifier("a", DOMAINS[kind]())
    drawn = data.draw(st.lists(_codes(attribute), min_size=1, max_size=30))
    levels = _levels(attribute, *drawn)
    assert levels.codes.tolist() == sorted(set(drawn))
    for finer, coarser in zip(levels.nodes, levels.nodes[1:], strict=False):
        assert (np.diff(coarser) >= 0).all()
        assert set(np.diff(coarser)) <= {0, 1}
        assert len(set(zip(finer.tolist(), coarser.tolist(), strict=True))) == finer[-1] + 1
    assert not levels.nodes[-1].any()
    assert levels.numbers[0] == 0
    assert levels.numbers[-1] == attribute.domain.height
    # What is one node is published alike, as a node that is no higher than its level.
    for row, number in list(zip(levels.nodes, levels.numbers, strict=True))[1:]:
        for node in range(int(row[-1]) + 1):
            own = levels.codes[row == node]
            nodes = QuasiIdentifier("a", levels_by_nodes(attribute.domain))
            assert nodes.level(int(own[0]), int(own[-1])) <= number


def _codes(attribute: QuasiIdentifier) -> st.SearchStrategy[int]:
    domain = attribute.domain
    if isinstance(domain, PrefixDomain):  # not every number is the code of a text
        return st.text(domain.alphabet, min_size=domain.least, max_size=domain.length).map(domain.code)
    return st.integers(0, attribute.missing_code)


def levels_by_nodes(domain: Domain) -> Domain:
    if isinstance(domain, NumericDomain):
        return NumericDomain(domain.minimum, domain.maximum, domain.step, domain.decimals, domain.levels)
    return domain
