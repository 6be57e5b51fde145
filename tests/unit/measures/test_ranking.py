from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from stream_anon.measures.leakage import Population, leakage
from stream_anon.measures.ranking import ranked
from tests.unit.measures.tables import random_table


@pytest.mark.parametrize("seed", range(3))
def test_all_sets_up_to_a_size_are_ranked_by_what_they_leak(seed: int) -> None:
    people = Population(random_table(np.random.default_rng(seed), 200))
    found = ranked(lambda chosen: leakage(people, chosen), range(3), people.uncertainty, 3, 100)
    assert [len(each.attributes) for each in found.sets] == [1, 1, 1, 2, 2, 2, 3]
    assert {each.attributes for each in found.sets} == {s for n in (1, 2, 3) for s in combinations(range(3), n)}
    for size in (1, 2):
        bits = [each.bits for each in found.sets if len(each.attributes) == size]
        assert bits == sorted(bits, reverse=True)
    assert all(each.bits == leakage(people, each.attributes) for each in found.sets)
    assert (found.measured, found.implied, found.left) == (7, 0, 0)


def test_supersets_of_a_set_that_leaks_everything_are_not_measured() -> None:
    everyone = np.arange(8)
    people = Population(np.stack([everyone, everyone % 2, everyone % 4]).astype(np.int32))
    asked: list[tuple[int, ...]] = []

    def leak(chosen: tuple[int, ...]) -> float:
        asked.append(chosen)
        return leakage(people, chosen)

    found = ranked(leak, range(3), people.uncertainty, 3, 100)
    assert sorted(asked) == [(0,), (1,), (1, 2), (2,)]
    assert (found.measured, found.implied, found.left) == (4, 3, 0)
    assert all(each.bits == 3.0 for each in found.sets if 0 in each.attributes)
    assert [each.attributes for each in found.sets if each.implied] == [(0, 1), (0, 2), (0, 1, 2)]


def test_the_bound_on_work_leaves_out_sets_of_the_least_leaking_attributes_and_counts_them() -> None:
    weight = {0: 1.0, 1: 3.0, 2: 2.0, 3: 0.5}
    found = ranked(lambda chosen: sum(weight[place] for place in chosen), range(4), 99.0, 3, 6)
    assert [each.attributes for each in found.sets] == [(1,), (2,), (0,), (3,), (1, 2), (0, 1)]
    assert (found.measured, found.left) == (6, 4 + 4)
    assert ranked(lambda _: 0.0, range(4), 1.0, 9, 100).measured == 15
    assert ranked(lambda _: 0.0, (), 1.0, 3, 100).sets == ()
