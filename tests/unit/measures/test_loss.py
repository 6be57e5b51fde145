from __future__ import annotations

from collections import Counter
from decimal import Decimal
from math import log2

import numpy as np
import pytest

from stream_anon.measures.boxes import boxes_of
from stream_anon.measures.loss import average_class_size, conditional_entropy
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from tests.unit.measures.tables import covers, random_release, random_table


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
