"""Distances in the lattice of race and ZIP code (Sweeney 2002): eight combinations, heights 1 and 2."""

from __future__ import annotations

import numpy as np
import pytest

from stream_anon.measures.distance import absolute_distance, every_level, prec, published_levels, relative_distance
from stream_anon.microdata.attributes import Unknown
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.recoding.lattice.attribute_levels import levels_of
from tests.support.recodings import PREFIX

HEIGHTS = np.array([1, 2])
EIGHT = np.array([8])


@pytest.mark.parametrize(
    ("node", "absolute", "relative", "precision"),
    [
        ((0, 0), 0, 0.0, 1.0),
        ((0, 1), 1, 0.5, 0.75),
        ((0, 2), 2, 1.0, 0.5),
        ((1, 0), 1, 1.0, 0.5),
        ((1, 1), 2, 1.5, 0.25),
        ((1, 2), 3, 2.0, 0.0),
    ],
)
def test_race_and_zip_are_as_far_from_their_values_as_in_the_worked_example(
    node: tuple[int, int], absolute: int, relative: float, precision: float
) -> None:
    levels = np.array(node)[:, None]
    assert absolute_distance(levels, HEIGHTS, EIGHT) == absolute
    assert relative_distance(levels, HEIGHTS, EIGHT) == relative
    assert prec(levels, HEIGHTS, EIGHT, 0) == precision


def test_classes_weigh_by_their_records_and_a_suppressed_record_lies_at_the_root() -> None:
    levels, records = np.array([[0, 1], [1, 2]]), np.array([6, 2])
    assert absolute_distance(levels, HEIGHTS, records, 2) == pytest.approx((6 * 1 + 2 * 3 + 2 * 3) / 10)
    assert relative_distance(levels, HEIGHTS, records, 2) == pytest.approx((6 * 0.5 + 2 * 2 + 2 * 2) / 10)
    assert 1 - relative_distance(levels, HEIGHTS, records, 2) / 2 == pytest.approx(
        prec(levels, HEIGHTS, records, 2)
    )
    nothing = np.empty((2, 0), np.int64), HEIGHTS, np.empty(0, np.int64)
    assert absolute_distance(*nothing) == relative_distance(*nothing) == 0.0
    assert absolute_distance(*nothing, suppressed=3) == 3.0


def test_levels_count_as_a_hierarchy_is_given_or_those_alike_as_one() -> None:
    """Four postal codes have the levels 1936*/1933*, 193**, 19***, 1****, *: the third and fourth part nothing."""
    codes = np.array([PREFIX.code(text) for text in ("19332", "19334", "19360", "19362")], np.int32)
    alike = levels_of(PREFIX, codes).numbers
    assert alike == (0, 1, 2, 5)
    bounds = [PREFIX.node_at(int(codes[0]), level) for level in range(6)]
    low, high = np.array(bounds).T
    assert published_levels(PREFIX, low, high, every_level(PREFIX)).tolist() == [0, 1, 2, 3, 4, 5]
    assert published_levels(PREFIX, low, high, alike).tolist() == [0, 1, 2, 2, 2, 3]


def test_a_missing_value_has_no_level_and_an_unknown_one_is_at_the_root() -> None:
    code = QuasiIdentifier("zip", PREFIX.domain, unknown=Unknown.ROOT)
    low, high = np.array([code.missing_code, 0]), np.array([code.missing_code, code.unknown_code])
    assert published_levels(code, low, high, every_level(code)).tolist() == [0, 5]
