"""What is told of a window: the right shares, hidden behind noise that one person cannot be seen through."""

from __future__ import annotations

from decimal import Decimal
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes, boxes_of, boxes_of_classes
from stream_anon.measures.leakage import Population
from stream_anon.measures.window_leakage import (
    EPSILON,
    MOST_NOISE,
    exact_shares,
    is_told,
    least_told,
    noise_of,
    one_each,
    window_leakage,
)
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.release import Classes
from tests.attacks.town import Service, town_policy, townspeople
from tests.support.data import ROOT
from tests.support.releases import ward_policy
from tests.unit.measures.tables import SIZES, covers, random_release, random_table


def _attributes(count: int) -> list[QuasiIdentifier]:
    domain = NumericDomain(Decimal(0), Decimal(9), Decimal(1), 0)
    return [QuasiIdentifier(f"a{place}", domain) for place in range(count)]


def _classes(boxes: Boxes) -> Classes:
    shape = boxes.low.shape
    return Classes(boxes.low, boxes.high, [[]] * shape[0], boxes.records, boxes.records, np.zeros(shape))


def _columns(codes: NDArray[np.int32], individuals: NDArray[np.integer] | None = None) -> Columns:
    rows = codes.shape[1]
    people = np.arange(rows) if individuals is None else individuals
    return Columns(codes, people.astype(np.int32), np.empty((0, rows), np.int32))


@pytest.mark.parametrize("seed", range(3))
def test_shares_are_those_of_the_definition_written_out(seed: int) -> None:
    codes = random_table(np.random.default_rng(seed), 60)
    boxes, class_of_row = random_release(np.random.default_rng(seed), codes)
    unpublished = int((class_of_row < 0).sum())
    before, after = exact_shares(Population(codes), boxes, unpublished)
    for place, column in enumerate(codes):
        alike = [int((column == value).sum()) for value in column]
        assert before[place] == pytest.approx(sum(log2(60 / each) for each in alike) / 60 / log2(60))
        matching = [
            unpublished
            + sum(int(boxes.records[c]) for c in range(len(boxes)) if covers(boxes, c, place, int(value)))
            for value in column
        ]
        assert after[place] == pytest.approx(sum(log2(60 / each) for each in matching) / 60 / log2(60))


@pytest.mark.parametrize("attributes", [0, 1, 2, 3, 4, 8, 20, 100])
def test_the_least_window_that_is_told_of_has_one_individual_more_than_the_largest_that_is_not(
    attributes: int,
) -> None:
    least = least_told(attributes)
    assert is_told(attributes, least)
    assert least == 2 or not is_told(attributes, least - 1)


def test_the_page_says_how_many_individuals_a_window_needs() -> None:
    page = " ".join((ROOT / "docs" / "leakage.md").read_text().split())
    needed = [f"{least_told(attributes):,}" for attributes in (2, 4, 8, 20)]
    said = "That takes {} people with two quasi-identifiers, {} with four, {} with eight and {} with twenty."
    assert said.format(*needed) in page


@given(st.integers(0, 2**32 - 1), st.integers(3, 60), st.integers(0, 2))
def test_nobody_changes_the_exact_shares_by_more_than_the_noise_is_made_for(
    seed: int, people: int, kind: int
) -> None:
    """One person's values become others, the release stays: the sum of all changes is the sensitivity."""
    draws = np.random.default_rng(seed)
    codes = random_table(draws, people)
    if kind == 1:
        codes[:] = np.arange(people)  # all unique
    elif kind == 2:
        codes[:] = 0  # all alike
    boxes, class_of_row = random_release(draws, codes)
    unpublished = int((class_of_row < 0).sum()) + 1  # so that all values are possible
    other = codes.copy()
    other[:, 0] = draws.integers(0, SIZES) if kind < 2 else 1
    first, second = (exact_shares(Population(each), boxes, unpublished) for each in (codes, other))
    moved = sum(float(np.abs(a - b).sum()) for a, b in zip(first, second, strict=True))
    scale = log2(people + 1) / log2(people)  # here one record more than people
    assert moved <= noise_of(3, people) * EPSILON * scale + 1e-12


def test_one_record_of_each_person_counts_each_as_often_as_the_others() -> None:
    individuals = np.array([0, 1, 1, 2, 2, 2, 1], np.int32)
    draws = np.random.default_rng(5)
    counts = np.zeros(7)
    for _ in range(6000):
        rows = one_each(individuals, 3, draws)
        assert individuals[rows].tolist() == [0, 1, 2]
        counts[rows] += 1
    assert counts / 6000 == pytest.approx([1, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 3], abs=0.03)


def test_somebody_who_comes_often_counts_like_anybody_else() -> None:
    """Half of the rows are one person's, with a value of their own: without noise they would raise the share."""
    rare = np.append(np.zeros(3000), np.ones(3000)).astype(np.int32)
    columns = _columns(rare[None], np.append(np.arange(3000), np.full(3000, 3000)))
    everything = Classes(
        np.zeros((1, 1), np.int32), np.full((1, 1), 9, np.int32), [["*"]], *[np.array([6000])] * 2, np.ones((1, 1))
    )
    told = window_leakage(_attributes(1), columns, everything, 0, np.random.default_rng(1))
    assert told.before.tolist() == [0.0]
    assert told.after.tolist() == [0.0]


def test_noise_has_the_size_that_it_is_said_to_have_and_shares_are_whole_percent() -> None:
    draws = np.random.default_rng(8)
    codes = draws.integers(0, 8, (2, 600)).astype(np.int32)
    boxes = Boxes(codes.min(axis=1, keepdims=True), codes.max(axis=1, keepdims=True), np.array([600]))
    before, after = exact_shares(Population(codes), boxes, 0)
    assert after.tolist() == [0, 0]
    columns, classes = _columns(codes), _classes(boxes)
    told = [window_leakage(_attributes(2), columns, classes, 0, draws) for _ in range(3000)]
    shown = np.stack([each.before for each in told])
    assert np.abs(shown - before).mean(axis=0) == pytest.approx([noise_of(2, 600)] * 2, rel=0.1)
    assert shown.mean(axis=0) == pytest.approx(before, abs=0.002)
    hundredths = np.stack([*shown, *(each.after for each in told)])
    assert (hundredths == np.round(hundredths, 2)).all()
    assert hundredths.min() == 0, "clipped"
    assert len(set(np.stack([each.after for each in told])[:, 0].tolist())) > 3, "after has noise too"


def test_no_two_shares_of_a_window_have_the_same_noise() -> None:
    """Of two shares with one noise the difference would be exact."""
    draws = np.random.default_rng(9)
    codes = draws.integers(0, 8, (2, 600)).astype(np.int32)
    halves = Boxes(np.array([[0, 4]] * 2, np.int32), np.array([[3, 7]] * 2, np.int32), np.array([300, 300]))
    columns, classes = _columns(codes), _classes(halves)
    told = [window_leakage(_attributes(2), columns, classes, 0, draws) for _ in range(2000)]
    shown = np.stack([np.concatenate([each.before, each.after]) for each in told])
    assert (shown == 0).mean() < 0.01, "next to nothing is clipped"
    related = np.corrcoef(shown.T)
    assert np.abs(related - np.eye(4)).max() < 0.1


def test_a_share_is_never_above_one() -> None:
    codes = np.arange(600, dtype=np.int32)[None]
    boxes = Boxes(codes, codes, np.ones(600, np.int64))
    draws = np.random.default_rng(1)
    told = [window_leakage(_attributes(1), _columns(codes), _classes(boxes), 0, draws) for _ in range(40)]
    assert max(max(each.before[0], each.after[0]) for each in told) == 1


def test_a_window_of_few_people_is_not_told_of() -> None:
    assert not is_told(1, 0)
    assert not is_told(1, 1)
    for attributes in (1, 2, 8, 20):
        fewest = next(people for people in range(10_000) if is_told(attributes, people))
        assert noise_of(attributes, fewest) <= MOST_NOISE < noise_of(attributes, fewest - 1)
        columns = _columns(np.zeros((attributes, fewest - 1), np.int32))
        with pytest.raises(ValueError, match="too few people"):
            window_leakage(
                _attributes(attributes), columns, Classes.none(attributes), fewest - 1, np.random.default_rng()
            )
    people = [next(n for n in range(10_000) if is_told(q, n)) for q in (2, 4, 8, 20)]
    assert people == [433, 860, 1708, 4240], "docs/leakage.md"


def test_the_boxes_of_classes_are_those_that_are_read_from_what_is_published() -> None:
    from tests.attacks.town import Publication

    for policy in (town_policy(), town_policy(tight=True), town_policy(publication=Publication.VALUES)):
        classes = Service(policy).release(townspeople(200, 3)).classes
        own = boxes_of_classes(policy.quasi_identifiers, classes)
        read = boxes_of(policy.quasi_identifiers, list(zip(*classes.values, strict=True)), classes.records.tolist())
        every = np.array([[0, 1, 2, 50], [0, 1, 2, 3], [0, 1, 2, 2]], np.int32)
        for place in range(3):
            numbers = np.arange(len(classes))
            assert (own.cover(place, every[place], numbers) == read.cover(place, every[place], numbers)).all()
            assert (own.width(place, numbers) == read.width(place, numbers)).all()
    assert boxes_of_classes(ward_policy().quasi_identifiers, Classes.none(6)).records.tolist() == []
