from __future__ import annotations

import numpy as np
import pytest

from stream_anon.privacy.loss import classification_loss, discernibility, gcp, prec


def test_a_class_weighs_by_its_records() -> None:
    ncp = np.array([[0.0, 1.0], [0.5, 1.0]])
    assert gcp(ncp, np.array([30, 10]), 0) == pytest.approx((0.25 * 30 + 1.0 * 10) / 40)


def test_a_suppressed_record_costs_one() -> None:
    ncp = np.array([[0.0], [0.5]])
    assert gcp(ncp, np.array([30]), 10) == pytest.approx((0.25 * 30 + 10) / 40)
    assert gcp(np.empty((2, 0)), np.empty(0, np.int64), 7) == 1.0


def test_without_a_record_there_is_no_loss() -> None:
    assert gcp(np.empty((2, 0)), np.empty(0, np.int64), 0) is None


def test_seven_people_are_measured_as_by_hand() -> None:
    """ARX's table of seven at k = 2: age at level 1 of 2, gender at the root, two digits of five of the ZIP hidden.

    Classes: (<50, 816**) of two, (<50, 819**) of two, (>=50, 819**) of three.
    """
    records = np.array([2, 2, 3])
    levels = np.array([[1, 1, 1], [1, 1, 1], [2, 2, 2]])
    heights = np.array([2, 1, 5])
    assert prec(levels, heights, records, 0) == pytest.approx(1 - (1 / 2 + 1 + 2 / 5) / 3)
    assert discernibility(records, 0) == 4 + 4 + 9
    # At k = 3 without suppression (age at the root, gender kept, three digits hidden): classes of 4 and 3.
    levels = np.array([[2, 2], [0, 0], [3, 3]])
    assert prec(levels, heights, np.array([4, 3]), 0) == pytest.approx(1 - (1 + 0 + 3 / 5) / 3)
    assert discernibility(np.array([4, 3]), 0) == 25


def test_suppressed_records_are_one_class_at_the_root() -> None:
    assert prec(np.array([[0], [0]]), np.array([1, 2]), np.array([6]), 2) == pytest.approx(1 - 2 / 8)
    assert prec(np.empty((2, 0), np.int64), np.array([1, 2]), np.empty(0, np.int64), 0) == 1.0
    assert discernibility(np.array([6]), 2) == 36 + 2 * 8


def test_the_label_of_a_class_is_its_most_frequent_one() -> None:
    class_of_row = np.array([0, 0, 0, 1, 1, -1, -1], np.int32)
    labels = np.array([4, 4, 2, 0, 4, 4, 4])
    assert classification_loss(class_of_row, labels) == pytest.approx((1 + 1 + 2) / 7)
    assert classification_loss(np.full(3, -1, np.int32), np.zeros(3, np.int64)) == 1.0
    assert classification_loss(np.empty(0, np.int32), np.empty(0, np.int64)) is None


@pytest.mark.parametrize("seed", range(5))
def test_the_loss_of_labels_is_the_one_counted_class_by_class(seed: int) -> None:
    draws = np.random.default_rng(seed)
    class_of_row = draws.choice(np.array([-1, 0, 1, 3, 4], np.int32), 40)  # class 2 has no row
    labels = draws.integers(0, 4, 40)
    kept = 0
    for number in range(5):
        own = labels[class_of_row == number].tolist()
        kept += max((own.count(label) for label in own), default=0)
    assert classification_loss(class_of_row, labels) == pytest.approx(1 - kept / 40)
