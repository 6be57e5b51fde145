from __future__ import annotations

from collections import Counter
from itertools import product, repeat
from math import log2, prod
from typing import Any

import numpy as np
import pytest

from stream_anon.measures.boxes import Boxes
from stream_anon.measures.information import (
    by_chance,
    dependence_kept,
    entropy,
    information_kept,
    label_information_kept,
    mutual_information,
    unknown_bits,
)
from tests.unit.measures.tables import SIZES, covers, random_release, random_table

NOTHING = Boxes(np.empty((3, 0), np.int32), np.empty((3, 0), np.int32), np.empty(0, np.int64))


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
@pytest.mark.parametrize("attributes", [(0,), (1,), (0, 1), (1, 2)])
def test_what_is_unknown_is_counted_over_the_values_that_a_record_may_have_had(
    seed: int, sets: bool, attributes: tuple[int, ...]
) -> None:
    draws = np.random.default_rng(seed)
    codes = random_table(draws, 60)
    boxes, class_of_row = random_release(draws, codes, sets=sets)
    had = [tuple(codes[list(attributes), i].tolist()) for i in range(60)]
    lost = 0.0
    for number in class_of_row.tolist():
        may = Counter(
            v for v in had if number < 0 or all(map(covers, repeat(boxes), repeat(number), attributes, v))
        )
        lost -= sum(count / may.total() * log2(count / may.total()) for count in may.values())
    suppressed = int((class_of_row < 0).sum())
    assert unknown_bits(codes, boxes, attributes, suppressed) == pytest.approx(lost)
    known = entropy(np.array(list(Counter(had).values())))
    expected = max(0.0, 1 - lost / 60 / known)
    assert information_kept(codes, boxes, attributes, suppressed) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_of_whole_attributes_it_is_the_mutual_information_that_scikit_learn_finds(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    codes = random_table(np.random.default_rng(seed), 80)
    widths = np.array([2, 4, 3])[:, None]
    low = codes // widths * widths
    boxes = Boxes(low.astype(np.int32), (low + widths - 1).astype(np.int32), np.ones(80, np.int64))
    for attributes in [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)]:
        values, published = ([str(own[list(attributes), i].tolist()) for i in range(80)] for own in (codes, low))
        expected = metrics.mutual_info_score(values, published) / metrics.mutual_info_score(values, values)
        assert information_kept(codes, boxes, attributes) == pytest.approx(expected, abs=1e-12)


def test_all_is_kept_of_exact_values_and_nothing_of_stars() -> None:
    codes = random_table(np.random.default_rng(1), 40)
    exact = Boxes(codes, codes, np.ones(40, np.int64))
    stars = Boxes(np.zeros((3, 1), np.int32), np.full((3, 1), 9, np.int32), np.array([40]))
    for attributes in [(0,), (0, 2)]:
        assert information_kept(codes, exact, attributes) == pytest.approx(1.0)
        assert information_kept(codes, stars, attributes) == pytest.approx(0.0, abs=1e-12)
        assert information_kept(codes, NOTHING, attributes, 40) == pytest.approx(0.0, abs=1e-12)
    assert information_kept(codes * 0, exact, (0,)) is None


def test_two_attributes_of_too_many_values_are_not_looked_at() -> None:
    codes = np.stack([np.arange(2_100, dtype=np.int32)] * 2)
    assert unknown_bits(codes, Boxes(codes, codes, np.ones(2_100, np.int64)), (0, 1)) is None


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("attributes", [[(0,), (1,), (2,)], [(0, 1), (1, 2)]])
def test_what_is_kept_of_a_label_is_that_of_the_table_spread_from_the_boxes(
    seed: int, sets: bool, attributes: list[tuple[int, ...]]
) -> None:
    draws = np.random.default_rng(seed)
    codes = random_table(draws, 60)
    labels = (codes[0] + draws.integers(0, 2, 60)) % 3
    boxes, class_of_row = random_release(draws, codes, sets=sets)
    released = np.zeros((len(boxes), 3), np.int64)
    joints: list[Counter[tuple[object, int]]] = [Counter() for _ in attributes]
    counts = [np.bincount(column, minlength=size) for column, size in zip(codes, SIZES, strict=True)]
    for number, label in zip(class_of_row.tolist(), labels.tolist(), strict=True):
        if number < 0:
            continue
        released[number, label] += 1
        for joint, places in zip(joints, attributes, strict=True):
            may = {
                values: prod(counts[j][v] for j, v in zip(places, values, strict=True))
                for values in product(*(range(SIZES[j]) for j in places))
                if all(map(covers, repeat(boxes), repeat(number), places, values))
            }
            for values, weight in may.items():
                joint[values, label] += weight / sum(may.values())
    after = sum(_information(joint) for joint in joints)
    before = sum(
        _information(Counter(zip(map(tuple, codes[list(places)].T.tolist()), labels.tolist(), strict=True)))
        for places in attributes
    )
    found = label_information_kept(codes, labels, boxes, released, attributes)
    assert found == pytest.approx(after / before)


def _information(joint: Counter[Any]) -> float:
    total, sides = sum(joint.values()), (Counter[Any](), Counter[Any]())
    for pair, weight in joint.items():
        for side, value in zip(sides, pair, strict=True):
            side[value] += weight
    return sum(
        weight / total * log2(weight * total / sides[0][one] / sides[1][other])
        for (one, other), weight in joint.items()
        if weight
    )


def test_all_is_kept_of_a_label_beside_exact_values_and_nothing_beside_stars() -> None:
    codes = random_table(np.random.default_rng(2), 40)
    labels = (codes[0] > 0).astype(np.int64)
    single = [(0,), (1,), (2,)]
    exact = Boxes(codes, codes, np.ones(40, np.int64))
    assert label_information_kept(codes, labels, exact, np.eye(2, dtype=np.int64)[labels], single) == pytest.approx(
        1
    )
    stars = Boxes(np.zeros((3, 1), np.int32), np.full((3, 1), 9, np.int32), np.array([40]))
    counts = np.bincount(labels)[None]
    assert label_information_kept(codes, labels, stars, counts, single) == pytest.approx(0, abs=1e-12)
    assert label_information_kept(codes, labels * 0, exact, np.ones((40, 1), np.int64), single) is None
    assert label_information_kept(codes, labels, NOTHING, np.empty((0, 2), np.int64), single) is None


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sets", [False, True])
def test_the_dependence_of_two_attributes_is_that_of_the_table_spread_from_the_boxes(seed: int, sets: bool) -> None:
    draws = np.random.default_rng(seed)
    codes = random_table(draws, 60)
    codes[1] = np.where(draws.random(60) < 0.9, codes[0] % SIZES[1], codes[1])
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


def test_two_attributes_that_agree_no_more_than_by_chance_have_no_dependence_to_keep() -> None:
    draws = np.random.default_rng(0)
    told = 0
    for _ in range(100):
        codes = np.stack([draws.integers(0, 6, 400), draws.integers(0, 5, 400)]).astype(np.int32)
        exact = Boxes(codes, codes, np.ones(400, np.int64))
        assert mutual_information(codes[0], codes[1]) > 0
        told += dependence_kept(codes, exact, 0, 1) is not None
    assert told <= 5
    # A dependence that is weak and yet more than chance is measured.
    other = np.where(draws.random(4_000) < 0.1, 0, draws.integers(0, 5, 4_000))
    codes = np.stack([other, np.where(draws.random(4_000) < 0.1, other, draws.integers(0, 5, 4_000))]).astype(
        np.int32
    )
    exact = Boxes(codes, codes, np.ones(4_000, np.int64))
    assert dependence_kept(codes, exact, 0, 1) == pytest.approx(1.0)


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize(("ones", "others"), [(2, 2), (6, 5), (100, 100), (400, 400), (1, 7)])
def test_what_agrees_by_chance_is_bounded_by_what_shuffled_columns_show(
    ones: int, others: int, skewed: bool
) -> None:
    draws = np.random.default_rng(1)
    one, other = (
        np.arange(400) ** (2 if skewed else 1) // (400 if skewed else 1) % kinds for kinds in (ones, others)
    )
    shown = [mutual_information(one, draws.permutation(other)) for _ in range(200)]
    bound = by_chance(one, other)
    assert np.mean([bits <= bound + 1e-9 for bits in shown]) >= 0.95
    # And it is no more than that takes.
    assert bound <= 2 * max(shown) + 0.05


def test_a_pair_of_too_many_values_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = random_table(np.random.default_rng(2), 60)
    exact = Boxes(codes, codes, np.ones(60, np.int64))
    monkeypatch.setattr("stream_anon.measures.information.MOST_CELLS", 3)
    assert dependence_kept(codes, exact, 0, 1) is None
