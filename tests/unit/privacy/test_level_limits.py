"""Which classes would be published on levels that the policy does not allow, attribute by attribute."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.attributes import Unknown
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.generalization import Generalizer
from stream_anon.privacy.level_limits import LevelLimits
from stream_anon.privacy.published_nodes import publish_nodes

LEAVES = CategoricalDomain(balanced([str(i) for i in range(8)], 2))  # height 3
POST = PrefixDomain(6, "0123456789", 6)  # codes up to a million

Bounds = tuple[int, int]


def _attribute(
    domain: CategoricalDomain | PrefixDomain = LEAVES, least: int = 0, most: int | None = None
) -> QuasiIdentifier:
    return QuasiIdentifier("x", domain, unknown=Unknown.ROOT, min_level=least, max_level=most)


def _judged(
    attributes: list[QuasiIdentifier], classes: list[list[Bounds]], codes: list[list[int]], places: list[int]
) -> tuple[list[bool], list[bool]]:
    """Return which classes are too fine and which too coarse, of nodes that some method chose."""
    low, high = np.array(classes, np.int32).transpose(2, 1, 0)
    free = [_attribute(attribute.domain) for attribute in attributes]  # type: ignore[arg-type]
    published = publish_nodes([Generalizer(own) for own in free], free, low, high)
    limits = LevelLimits(attributes)
    rows, class_of_row = np.array(codes, np.int32), np.array(places, np.int32)
    return limits.too_fine(published).tolist(), limits.too_coarse(published, rows, class_of_row).tolist()


def test_each_attribute_is_looked_at_and_none_makes_up_for_another() -> None:
    wrong, right = (0, 0), (0, 1)
    attributes = [_attribute(least=1), _attribute(least=1)]
    codes, places = [[0, 0, 0], [0, 0, 0]], [0, 1, 2]
    fine, _ = _judged(attributes, [[wrong, right], [right, wrong], [right, right]], codes, places)
    assert fine == [True, True, False]
    wide = (0, 3)
    attributes = [_attribute(most=1), _attribute(most=1)]
    _, coarse = _judged(attributes, [[wide, right], [right, wide], [right, right]], codes, places)
    assert coarse == [True, True, False]


def test_a_highest_level_of_0_is_a_limit() -> None:
    _, coarse = _judged([_attribute(most=0)], [[(0, 1)], [(1, 1)]], [[0, 1]], [0, 1])
    assert coarse == [True, False]


def test_unknown_values_excuse_only_the_root_of_their_own_attribute() -> None:
    attributes = [_attribute(most=1), _attribute(POST, most=1)]
    one, other = (attribute.unknown_code for attribute in attributes)
    roots: list[Bounds] = [(0, one), (0, other)]
    classes = [[roots[0], (0, 0)], [(0, 0), roots[1]], roots, roots]
    codes = [[one, 0, one, one], [0, other, other, 0]]
    assert _judged(attributes, classes, codes, [0, 1, 2, 3])[1] == [False, False, False, True]
    # Rows without a class say nothing.
    assert _judged(attributes, [roots], [[one, 0], [other, 0]], [0, -1])[1] == [False]


@given(st.lists(st.tuples(st.integers(0, 999_999), st.integers(0, 6)), min_size=1, max_size=8))
def test_levels_of_large_domains_are_told_apart(chosen: list[tuple[int, int]]) -> None:
    codes = [code for code, _ in chosen]
    for least, most in ((2, None), (0, 3)):
        attribute = _attribute(POST, least, most)
        classes = [[attribute.node_at(code, level)] for code, level in chosen]
        fine, coarse = _judged([attribute], classes, [codes], list(range(len(codes))))
        assert fine == [level < least for _, level in chosen]
        assert coarse == [most is not None and level > most for _, level in chosen]


@pytest.mark.parametrize("least", [0, 1])
def test_no_class_is_on_no_level(least: int) -> None:
    limits = LevelLimits([_attribute(least=least, most=least)])
    free = [_attribute()]
    empty = np.empty((1, 0), np.int32)
    none = publish_nodes([Generalizer(own) for own in free], free, empty, empty)
    assert limits.too_fine(none).tolist() == []
    assert limits.too_coarse(none, np.empty((1, 0), np.int32), np.empty(0, np.int32)).tolist() == []
