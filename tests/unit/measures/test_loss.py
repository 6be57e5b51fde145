from __future__ import annotations

from collections import Counter
from decimal import Decimal
from math import log2

import numpy as np
import pytest

from stream_anon.measures.boxes import boxes_of
from stream_anon.measures.distance import prec
from stream_anon.measures.loss import average_class_size, classification_loss, conditional_entropy, discernibility
from stream_anon.measures.risk import marketer, prosecutor
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from tests.unit.measures.tables import as_anonypyx, covers, frame_of_rows, random_release, random_table


def test_four_people_of_three_zip_codes_lose_six_bits() -> None:
    """(28488, 33), (79203, 24), (28473, 39), (79203, 27), published as 284** / 30-39 and 79203 / 20-29."""
    attributes = (
        QuasiIdentifier("zip", PrefixDomain(5, "0123456789", 5)),
        QuasiIdentifier("age", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0, (Decimal(10),))),
    )
    people = [("28488", 33), ("79203", 24), ("28473", 39), ("79203", 27)]
    codes = np.array([[attributes[j].code(each[j]) for each in people] for j in range(2)], np.int32)
    released = [("284**", {"min": 30, "max": 39}), ("79203", {"min": 20, "max": 29})]
    assert conditional_entropy(codes, boxes_of(attributes, released, [2, 2])) == 6.0
    # Suppressed, each of the last two loses all: 1.5 bits of ZIP codes 1, 2, 1 and 2 bits of four ages.
    assert conditional_entropy(codes, boxes_of(attributes, released[:1], [2]), 2) == pytest.approx(4 + 2 * 3.5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sets", [False, True])
def test_the_entropy_of_each_cell_is_that_of_the_values_it_may_have_had(seed: int, sets: bool) -> None:
    draws = np.random.default_rng(seed)
    codes = random_table(draws, 50)
    boxes, class_of_row = random_release(draws, codes, sets=sets)
    lost = 0.0
    for number in class_of_row.tolist():
        for place, column in enumerate(codes.tolist()):
            held = Counter(code for code in column if number < 0 or covers(boxes, number, place, code))
            total = sum(held.values())
            lost -= sum(count / total * log2(count / total) for count in held.values())
    found = conditional_entropy(codes, boxes, int((class_of_row < 0).sum()))
    assert found == pytest.approx(lost)


def test_exact_values_lose_nothing() -> None:
    codes = random_table(np.random.default_rng(0), 20)
    boxes, _ = random_release(np.random.default_rng(0), codes)
    exact = type(boxes)(codes, codes, np.ones(20, np.int64))
    assert conditional_entropy(codes, exact) == pytest.approx(0.0, abs=1e-12)


def test_classes_of_k_records_have_the_average_size_one() -> None:
    assert average_class_size(np.array([5, 5, 5]), 5) == 1.0
    assert average_class_size(np.array([4, 8]), 3) == 2.0
    assert average_class_size(np.empty(0, np.int64), 3) is None


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
    labels = np.array([[0, 0, 1, 0, 2], [1, 0, 0, 0, 1]])
    assert classification_loss(labels, 2) == pytest.approx((1 + 1 + 2) / 7)
    assert classification_loss(np.empty((0, 3), np.int64), 3) == 1.0
    assert classification_loss(np.empty((0, 3), np.int64), 0) is None


@pytest.mark.parametrize("seed", range(5))
def test_the_loss_of_labels_is_the_one_counted_class_by_class(seed: int) -> None:
    draws = np.random.default_rng(seed)
    class_of_row, label_of_row = draws.integers(-1, 5, 40), draws.integers(0, 4, 40)
    labels = np.zeros((5, 4), np.int64)
    kept = 0
    for number in range(5):
        own = label_of_row[class_of_row == number].tolist()
        labels[number] = [own.count(label) for label in range(4)]
        kept += max((own.count(label) for label in own), default=0)
    assert classification_loss(labels, int((class_of_row < 0).sum())) == pytest.approx(1 - kept / 40)


@pytest.mark.parametrize("seed", range(5))
def test_pandas_finds_the_same_discernibility_class_size_labels_and_risk(seed: int) -> None:
    draws = np.random.default_rng(seed)
    class_of_row, label_of_row = draws.integers(-1, 9, 200), draws.integers(0, 4, 200)
    frame = frame_of_rows(class_of_row, label=label_of_row)
    released = frame[frame["published"] >= 0]
    lost = len(frame) - len(released)
    sizes = released.value_counts("published")
    records = np.bincount(class_of_row[class_of_row >= 0])
    assert discernibility(records, lost) == (sizes**2).sum() + lost * len(frame)
    assert average_class_size(records, 7) == pytest.approx(len(released) / released["published"].nunique() / 7)
    cells = released.value_counts(["published", "label"])
    kept = cells.groupby(level="published").max().sum()
    labels = cells.unstack(fill_value=0).sort_index().to_numpy()
    assert classification_loss(labels, lost) == pytest.approx(1 - kept / len(frame))
    risks = 1 / released.groupby("published")["label"].transform("size")
    found = prosecutor(records, 0.05)
    assert (found.average, marketer(records)) == pytest.approx((risks.mean(), risks.mean()))
    assert found.highest == pytest.approx(risks.max())
    assert found.above == pytest.approx((risks > 0.05).mean())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sets", [False, True])
def test_anonypyx_finds_the_same_discernibility(seed: int, sets: bool) -> None:
    """It unites what is published alike, as the engine does before anything is measured."""
    draws = np.random.default_rng(seed)
    boxes, _ = random_release(draws, random_table(draws, 120), sets=sets)
    other = as_anonypyx(boxes)
    judge = pytest.importorskip("anonypyx.metrics.discernibility", reason="anonypyx is not installed")
    united = Counter[object]()
    for number, count in enumerate(boxes.records.tolist()):
        united[tuple(tuple(c for c in range(9) if covers(boxes, number, j, c)) for j in range(3))] += count
    assert discernibility(np.array(list(united.values())), 0) == judge.discernibility_penalty(other)
