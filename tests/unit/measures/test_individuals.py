"""How many individuals the records of a class can be of: tried in all ways on random tables."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from stream_anon.measures.boxes import Boxes
from stream_anon.measures.individuals import individuals_within
from stream_anon.measures.leakage import Population
from tests.unit.measures.tables import covers, random_release, random_table


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("sets", [False, True])
def test_no_fewer_people_have_enough_rows_that_fit_and_the_true_number_lies_between(seed: int, sets: bool) -> None:
    draws = np.random.default_rng(seed)
    codes = random_table(draws, 40)
    boxes, class_of_row = random_release(draws, codes, sets=sets)
    people = draws.integers(0, 9, 40) * 1_000
    fewest, most = individuals_within(Population(codes, people), boxes)
    for number, records in enumerate(boxes.records.tolist()):
        fit = [row for row in range(40) if all(covers(boxes, number, j, int(codes[j, row])) for j in range(3))]
        own = Counter(people[fit].tolist())
        enough = [
            size
            for size in range(1, len(own) + 1)
            if any(sum(own[each] for each in some) >= records for some in combinations(own, size))
        ]
        assert fewest[number] == enough[0]
        assert most[number] == min(records, len(own))
        assert fewest[number] <= len(set(people[class_of_row == number].tolist())) <= most[number]


@pytest.mark.parametrize("people", [None, np.arange(40)])
def test_where_every_row_is_another_persons_they_are_as_many_as_the_records(people: None) -> None:
    draws = np.random.default_rng(1)
    codes = random_table(draws, 40)
    boxes, _ = random_release(draws, codes)
    fewest, most = individuals_within(Population(codes, people), boxes)
    assert fewest.tolist() == most.tolist() == boxes.records.tolist()


def test_more_records_than_rows_that_fit_are_refused() -> None:
    codes = np.array([[0, 1, 1]], np.int32)
    boxes = Boxes(np.array([[0]], np.int32), np.array([[0]], np.int32), np.array([2]))
    with pytest.raises(ValueError, match="more records than the original rows that fit it"):
        individuals_within(Population(codes, np.array([7, 7, 8])), boxes)
