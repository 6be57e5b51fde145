"""Bits that attributes leak: the paper's example, the census figures, and the definition written out."""

from __future__ import annotations

from decimal import Decimal
from itertools import chain, combinations
from math import log2

import numpy as np
import pytest

from stream_anon.measures.boxes import Boxes, boxes_of
from stream_anon.measures.leakage import Population, exposure, leakage, leakage_after
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from tests.unit.measures.tables import covers, random_release, random_table

SETS = [*chain.from_iterable(combinations(range(3), size) for size in range(4))]
ADULT = {
    "age": 0.3793,
    "occupation": 0.2283,
    "education": 0.1958,
    "marital-status": 0.1223,
    "workclass": 0.0949,
    "sex": 0.0611,
    "native-country": 0.0559,
    "race": 0.0521,
}


def test_27_women_and_33_men_leak_their_sex_as_in_the_paper() -> None:
    people = Population(np.array([[0] * 27 + [1] * 33], np.int32))
    assert people.uncertainty == pytest.approx(5.9069, abs=5e-5)
    assert [round(log2(count), 4) for count in (27, 33)] == [4.7549, 5.0444]
    assert round(leakage(people, [0]), 5) == 0.99277
    assert round(leakage(people, [0]) / people.uncertainty, 5) == 0.16807


def test_the_census_leaks_as_was_computed_from_the_published_file() -> None:
    from tests.support.adult import adult_policy, adult_records

    policy = adult_policy()
    columns = [[each.code(record[each.name]) for record in adult_records()] for each in policy.quasi_identifiers]
    people = Population(np.array(columns, np.int32))
    assert round(people.uncertainty, 4) == 14.8804
    alone = {
        each.name: leakage(people, [j]) / people.uncertainty for j, each in enumerate(policy.quasi_identifiers)
    }
    assert {name: round(share, 4) for name, share in alone.items()} == ADULT
    assert sorted(alone, key=alone.__getitem__, reverse=True) == list(ADULT)
    every = range(len(columns))
    assert round(leakage(people, every) / people.uncertainty, 4) == 0.9136
    assert round(exposure(people, every).unique * people.size) == 14_021
    assert len(np.unique(people.codes, axis=1).T) == 18_109


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("attributes", SETS)
def test_leakage_is_the_mean_over_people_of_what_their_values_leave(seed: int, attributes: tuple[int, ...]) -> None:
    """The definition with loops; a person of several rows counts the mean of theirs."""
    draws = np.random.default_rng(seed)
    codes, persons = random_table(draws, 40), draws.integers(0, 25, 40)
    people = Population(codes, persons)
    rows = [tuple(codes[list(attributes), i].tolist()) for i in range(40)]
    total = 0.0
    singled = 0.0
    for person in set(persons.tolist()):
        own = [row for row, who in zip(rows, persons, strict=True) if who == person]
        left = [len({int(w) for r, w in zip(rows, persons, strict=True) if r == row}) for row in own]
        total += sum(log2(len(set(persons.tolist())) / each) for each in left) / len(own)
        singled += sum(each == 1 for each in left) / len(own)
    size = len(set(persons.tolist()))
    assert people.size == size
    assert leakage(people, attributes) == pytest.approx(total / size, abs=1e-12)
    assert exposure(people, attributes).unique == pytest.approx(singled / size, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_where_each_row_is_another_person_leakage_is_the_entropy_of_the_partition(seed: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    codes = random_table(np.random.default_rng(seed), 60)
    for attributes in SETS[1:]:
        _, counts = np.unique(codes[list(attributes)], axis=1, return_counts=True)
        expected = stats.entropy(counts, base=2)
        assert leakage(Population(codes), attributes) == pytest.approx(expected)
        assert leakage(Population(codes, np.arange(60)), attributes) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_more_attributes_never_leak_less(seed: int) -> None:
    draws = np.random.default_rng(seed)
    people = Population(random_table(draws, 40), draws.integers(0, 25, 40))
    for smaller in SETS:
        for larger in SETS:
            if set(smaller) <= set(larger):
                assert leakage(people, smaller) <= leakage(people, larger) + 1e-12


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("sets", "grid"), [(False, 4_000_000), (False, 0), (True, 4_000_000)])
def test_after_a_release_all_compatible_records_match(
    seed: int, sets: bool, grid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_anon.measures.boxes._GRID", grid)
    draws = np.random.default_rng(seed)
    codes = random_table(draws, 60)
    boxes, class_of_row = random_release(draws, codes, sets=sets)
    suppressed = int((class_of_row < 0).sum())
    people = Population(codes)
    for attributes in SETS:
        total = 0.0
        for i in range(60):
            match = suppressed + sum(
                int(boxes.records[c])
                for c in range(len(boxes))
                if all(covers(boxes, c, j, int(codes[j, i])) for j in attributes)
            )
            total += log2(60 / match)
        after = leakage_after(people, boxes, attributes, suppressed)
        assert after == pytest.approx(total / 60, abs=1e-12)
        assert after <= leakage(people, attributes) + 1e-12


def test_many_boxes_and_tuples_are_compared_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(0)
    codes = random_table(draws, 60)
    boxes, _ = random_release(draws, codes)
    whole = boxes.matches(codes, [0, 1, 2])
    monkeypatch.setattr("stream_anon.measures.boxes._GRID", 0)
    monkeypatch.setattr("stream_anon.measures.boxes._CELLS", 7)
    assert boxes.matches(codes, [0, 1, 2]).tolist() == whole.tolist()
    assert boxes.matches(codes, []).tolist() == [int(boxes.records.sum())] * 60


def test_a_release_of_the_values_themselves_leaks_all_and_one_of_stars_nothing() -> None:
    codes = random_table(np.random.default_rng(5), 40)
    same = Boxes(codes, codes, np.ones(40, np.int64))
    people = Population(codes)
    assert leakage_after(people, same, [0, 1, 2]) == pytest.approx(leakage(people, [0, 1, 2]))
    stars = Boxes(np.zeros((3, 1), np.int32), np.full((3, 1), 9, np.int32), np.array([30]))
    assert leakage_after(people, stars, [0, 1, 2], suppressed=10) == 0.0


def test_a_release_of_another_table_is_refused() -> None:
    people = Population(np.array([[0, 1]], np.int32))
    other = Boxes(np.array([[0]], np.int32), np.array([[0]], np.int32), np.array([2]))
    with pytest.raises(ValueError, match="compatible with no released record"):
        leakage_after(people, other, [0])


def test_nobody_leaks_nothing() -> None:
    nobody = Population(np.empty((2, 0), np.int32))
    assert nobody.uncertainty == leakage(nobody, [0]) == exposure(nobody, [0]).unique == 0.0
    with pytest.raises(ValueError, match="one individual for each row"):
        Population(np.zeros((1, 2), np.int32), np.zeros(1, np.int64))


def test_published_values_become_the_codes_that_they_stand_for() -> None:
    age = QuasiIdentifier("age", NumericDomain(Decimal(0), Decimal(9), Decimal(1), 0))
    city = QuasiIdentifier(
        "city", CategoricalDomain(Hierarchy.flat(["a", "b", "c", "d"])), publication=PublishedForm.VALUES
    )
    boxes = boxes_of([age, city], [({"min": 0, "max": 4}, ["a", "c"]), ("*", "d"), (None, "*")], [3, 2, 1])
    assert boxes.low.tolist() == [[0, 0, 10], [0, 3, 0]]
    assert boxes.high.tolist() == [[4, 11, 10], [2, 3, 5]]
    assert boxes.members == {1: [(0, 2), (), ()]}
    everyone = np.arange(3)
    assert boxes.cover(1, np.arange(5), everyone).astype(int).tolist() == [
        [1, 0, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [1, 1, 1, 1, 1],
    ]
    assert boxes.width(1, everyone).tolist() == [2, 1, 6]
    assert boxes.matches(np.array([[2, 9, 10], [1, 3, 0]]), [0, 1]).tolist() == [0, 2, 1]
    with pytest.raises(ValueError, match=r"^age: a published value is none that the policy can publish$"):
        boxes_of([age], [("Zyxwvut",)], [1])
    with pytest.raises(ValueError, match="c sets for c classes"):
        Boxes(boxes.low, boxes.high, boxes.records, {1: [()]})
    with pytest.raises(ValueError, match=r"bounds are int32\[q, c\]"):
        Boxes(boxes.low, boxes.high[:, :1], boxes.records)
