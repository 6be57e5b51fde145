"""Distances in the lattice of race and ZIP code (Sweeney 2002): eight combinations, heights 1 and 2."""

from __future__ import annotations

import numpy as np
import pytest

from stream_anon.measures.distance import absolute_distance, prec, relative_distance

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
