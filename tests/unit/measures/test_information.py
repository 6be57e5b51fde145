from __future__ import annotations

import numpy as np
import pytest

from stream_anon.measures.boxes import Boxes
from stream_anon.measures.information import dependence_kept, entropy, information_kept, mutual_information
from tests.unit.measures.tables import SIZES, covers, random_release, random_table


def test_a_coin_has_one_bit_and_two_independent_coins_share_none() -> None:
    assert entropy(np.array([5, 5])) == 1.0
    assert entropy(np.array([7, 0])) == entropy(np.array([0])) == entropy(np.empty(0)) == 0.0
    one, other = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    assert mutual_information(one, other) == 0.0
    assert mutual_information(one, 7 - one) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_other_libraries_find_the_same_entropy_and_mutual_information(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    codes = random_table(np.random.default_rng(seed), 80)
    assert entropy(np.bincount(codes[0])) == pytest.approx(stats.entropy(np.bincount(codes[0]), base=2))
    expected = metrics.mutual_info_score(codes[0], codes[1]) / np.log(2)
    assert mutual_information(codes[0], codes[1]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sets", [False, True])
def test_what_is_kept_of_attributes_is_their_information_with_what_is_published(seed: int, sets: bool) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    draws = np.random.default_rng(seed)
    codes = random_table(draws, 60)
    boxes, class_of_row = random_release(draws, codes, sets=sets)
    for attributes in [(0,), (1,), (0, 1), (0, 1, 2)]:
        values = [str(codes[list(attributes), i].tolist()) for i in range(60)]
        published = [
            "suppressed" if c < 0 else str([[covers(boxes, c, j, v) for v in range(9)] for j in attributes])
            for c in class_of_row.tolist()
        ]
        expected = metrics.mutual_info_score(values, published) / metrics.mutual_info_score(values, values)
        found = information_kept(codes, boxes, class_of_row, attributes)
        assert found == pytest.approx(expected)
        assert 0 <= found <= 1


def test_all_is_kept_of_exact_values_and_nothing_of_stars() -> None:
    codes = random_table(np.random.default_rng(1), 40)
    exact, rows = Boxes(codes, codes, np.ones(40, np.int64)), np.arange(40, dtype=np.int32)
    stars = Boxes(np.zeros((3, 1), np.int32), np.full((3, 1), 9, np.int32), np.array([40]))
    together, nobody = np.zeros(40, np.int32), np.full(40, -1, np.int32)
    none = Boxes(np.empty((3, 0), np.int32), np.empty((3, 0), np.int32), np.empty(0, np.int64))
    for attributes in [(0,), (0, 1, 2)]:
        assert information_kept(codes, exact, rows, attributes) == pytest.approx(1.0)
        assert information_kept(codes, stars, together, attributes) == 0.0
        assert information_kept(codes, none, nobody, attributes) == 0.0
    assert information_kept(codes * 0, exact, rows, (0,)) is None


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sets", [False, True])
def test_the_dependence_of_two_attributes_is_that_of_the_table_spread_from_the_boxes(seed: int, sets: bool) -> None:
    draws = np.random.default_rng(seed)
    codes = random_table(draws, 60)
    boxes, _ = random_release(draws, codes, sets=sets)
    joint = np.zeros((SIZES[0], SIZES[1]))
    counts = [np.bincount(column, minlength=size) for column, size in zip(codes, SIZES, strict=True)]
    for c in range(len(boxes)):
        spread = [np.array([counts[j][v] * covers(boxes, c, j, v) for v in range(SIZES[j])]) for j in (0, 1)]
        joint += boxes.records[c] * np.outer(spread[0] / spread[0].sum(), spread[1] / spread[1].sum())
    joint /= joint.sum()
    after = sum(
        joint[a, b] * np.log2(joint[a, b] / joint[a].sum() / joint[:, b].sum())
        for a, b in np.argwhere(joint).tolist()
    )
    expected = after / mutual_information(codes[0], codes[1])
    assert dependence_kept(codes, boxes, 0, 1) == pytest.approx(expected)


def test_two_equal_columns_keep_their_dependence_as_far_as_they_keep_their_values() -> None:
    column = np.array([0, 0, 1, 1, 2, 2, 3, 3], np.int32)
    codes = np.stack([column, column, np.tile([0, 1], 4).astype(np.int32)])
    exact = Boxes(codes, codes, np.ones(8, np.int64))
    assert dependence_kept(codes, exact, 0, 1) == pytest.approx(1.0)
    halves = Boxes(np.array([[0, 2]] * 3, np.int32), np.array([[1, 3]] * 3, np.int32), np.array([4, 4]))
    assert dependence_kept(codes, halves, 0, 1) == pytest.approx(0.5)
    stars = Boxes(np.zeros((3, 1), np.int32), np.full((3, 1), 3, np.int32), np.array([8]))
    assert dependence_kept(codes, stars, 0, 1) == pytest.approx(0.0, abs=1e-12)
    assert dependence_kept(codes, exact, 0, 2) is None  # they were independent


def test_a_pair_of_too_many_values_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = random_table(np.random.default_rng(2), 60)
    exact = Boxes(codes, codes, np.ones(60, np.int64))
    monkeypatch.setattr("stream_anon.measures.information.MOST_CELLS", 3)
    assert dependence_kept(codes, exact, 0, 1) is None
