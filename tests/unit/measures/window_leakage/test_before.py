"""What is told of original records: the right shares, behind noise that one person cannot be seen through."""

from __future__ import annotations

from math import exp, log2
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.measures.leakage import Population, leakage
from stream_anon.measures.window_leakage import before
from stream_anon.measures.window_leakage.before import (
    DIGITS,
    EPSILON,
    MOST_NOISE,
    exact_counts,
    least_told,
    noise_of,
    noisy_counts,
    shares_before,
)
from stream_anon.microdata.columns import Columns
from tests.support.data import ROOT
from tests.unit.measures.tables import SIZES, random_table

MOST = 10_000  # records of a window, if the policy says nothing else


def _columns(codes: NDArray[np.int32], individuals: NDArray[np.integer] | None = None) -> Columns:
    rows = codes.shape[1]
    people = np.arange(rows) if individuals is None else individuals
    return Columns(codes, people.astype(np.int32), np.empty((0, rows), np.int32))


def _dense(individuals: list[int]) -> NDArray[np.int32]:
    """Number people in the order in which they come, as windows do."""
    numbers = {one: number for number, one in enumerate(dict.fromkeys(individuals))}
    return np.array([numbers[one] for one in individuals], np.int32)


@given(st.integers(0, 2**32 - 1), st.integers(0, 80))
def test_counts_are_people_and_whole_bits_of_the_definition(seed: int, people: int) -> None:
    codes = random_table(np.random.default_rng(seed), people)
    found, bits = exact_counts(_columns(codes))
    assert found == people
    exact = [people * leakage(Population(codes), (place,)) if people else 0.0 for place in range(3)]
    assert all(0 <= whole <= each + 1e-6 < whole + 1 + 2e-6 for whole, each in zip(bits, exact, strict=True))


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.integers(0, 3), st.lists(st.integers(0, 5), max_size=2))
def test_nobody_changes_the_counts_by_more_than_the_noise_is_made_for(
    seed: int, others: int, kind: int, records: list[int]
) -> None:
    """One person sends any number of records with any values, among those of the others, or none."""
    draws = np.random.default_rng(seed)
    codes = random_table(draws, others)
    if kind == 1:
        codes[:] = np.arange(others)  # all unique
    elif kind == 2:
        codes[:] = 0  # all alike
    counts = []
    for number in (*records, 0, 1)[:2]:
        own = np.stack([draws.integers(0, max(size, others + 1), number) for size in SIZES]).astype(np.int32)
        order = np.argsort(np.concatenate([np.arange(others), draws.uniform(0, others + 1, number)]), kind="stable")
        people = [*range(others), *[-1] * number]
        window = np.concatenate([codes, own], axis=1)[:, order]
        counts.append(exact_counts(_columns(window, _dense([people[at] for at in order]))))
    (n, first), (m, second) = counts
    assert abs(n - m) <= 1
    most = max(n, m, 1)
    assert all(abs(a - b) <= before._sensitivity(most) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("people", [2, 3, 100, 5000])
def test_somebody_who_is_not_like_all_others_changes_the_counts_by_nearly_that_much(people: int) -> None:
    alike = np.zeros((1, people), np.int32)
    other = alike.copy()
    other[0, -1] = 1
    (_, [none]), (_, [some]) = exact_counts(_columns(alike)), exact_counts(_columns(other))
    assert none == 0
    assert before._sensitivity(people) - 2 <= some <= before._sensitivity(people)


def test_somebody_who_comes_often_counts_once_by_the_first_record() -> None:
    individuals = np.array([0, 1, 1, 1, 2, 1, 2])
    codes = np.array([[4, 5, 6, 7, 5, 8, 9]], np.int32)
    assert exact_counts(_columns(codes, individuals)) == exact_counts(_columns(np.array([[4, 5, 5]], np.int32)))


def test_the_parts_of_epsilon_add_up_to_it() -> None:
    for attributes in (1, 3, 8):
        spent = (
            attributes * before._sensitivity(MOST) / before._bits_noise(attributes, MOST) + 1 / before._PEOPLE_NOISE
        )
        assert 0.9 * EPSILON < spent <= float(EPSILON) + 1e-12


def test_the_noise_of_each_count_has_its_size_and_is_its_own() -> None:
    """Of two figures with one noise the difference would be exact."""
    columns, below = (
        _columns(np.random.default_rng(8).integers(0, 8, (2, 60)).astype(np.int32)),
        Random(2).randrange,
    )
    people, bits = exact_counts(columns)
    told = [noisy_counts(columns, 100, below) for _ in range(4000)]
    noise = np.array([[each[0], *each[1]] for each in told]) - [people, *bits]
    scales = [before._PEOPLE_NOISE, *[before._bits_noise(2, 100)] * 2]
    assert np.abs(noise).mean(axis=0) == pytest.approx(scales, rel=0.06)
    assert np.abs(noise.mean(axis=0) / scales).max() < 0.1
    for times in (1, 2, 3):  # a normal distribution of this size would have thinner tails
        beyond = [2 / (exp(1 / scale) + 1) * exp(-times) for scale in scales]
        assert (np.abs(noise) > np.multiply(times, scales)).mean(axis=0) == pytest.approx(beyond, abs=0.015)
    assert np.abs(np.corrcoef(noise.T) - np.eye(3)).max() < 0.06


@pytest.mark.parametrize("values", [2, 40, 2000])
def test_shares_are_the_true_ones_within_the_noise_that_is_said_and_whole_percent(values: int) -> None:
    codes = np.random.default_rng(8).integers(0, values, (2, 2000)).astype(np.int32)
    people = Population(codes)
    true = [leakage(people, (place,)) / log2(2000) for place in range(2)]
    below = Random(3).randrange
    shown = np.stack([shares_before(_columns(codes), MOST, below) for _ in range(400)])  # type: ignore[misc]
    assert np.abs(shown - true).mean() <= noise_of(2, MOST, 2000) + 0.005
    assert shown.mean(axis=0) == pytest.approx(true, abs=0.006)
    assert (shown == np.round(shown, DIGITS)).all()
    assert 0 <= shown.min() <= shown.max() <= 1
    assert len(set(shown[:, 0].tolist())) > 3


@pytest.mark.parametrize("attributes", [1, 2, 8, 20, 100])
@pytest.mark.parametrize("most", [2, 500, MOST, 1_000_000])
def test_the_least_window_that_is_told_of_has_one_individual_more_than_the_largest_that_is_not(
    attributes: int, most: int
) -> None:
    least = least_told(attributes, most)
    assert noise_of(attributes, most, least) <= MOST_NOISE < noise_of(attributes, most, least - 1)


def test_nothing_is_told_of_a_window_of_few_people() -> None:
    below = Random(4).randrange
    for people in (0, 1, 500):
        columns = _columns(np.zeros((2, people), np.int32))
        assert all(shares_before(columns, MOST, below) is None for _ in range(50))


def test_a_window_of_more_people_than_its_policy_allows_is_refused() -> None:
    with pytest.raises(ValueError, match="more individuals"):
        noisy_counts(_columns(np.zeros((1, 3), np.int32)), 2, Random().randrange)


def test_the_page_says_how_many_individuals_a_window_needs() -> None:
    page = " ".join((ROOT / "docs" / "explain" / "leakage.md").read_text().split())
    needed = [f"{least_told(attributes, MOST):,}" for attributes in (2, 4, 8, 20)]
    said = "takes {} people with two quasi-identifiers, {} with four, {} with eight and {} with twenty."
    assert said.format(*needed) in page
