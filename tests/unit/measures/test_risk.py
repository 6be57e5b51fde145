"""Risks of re-identification: ARX's table of seven, definitions written out, pycanon."""

from __future__ import annotations

import csv
import warnings
from collections import Counter

import numpy as np
import pytest

from stream_anon.measures.risk import Risk, journalist, marketer, prosecutor, share_above
from tests.support.data import shared_data


def test_the_mean_risk_of_seven_people_in_three_classes_is_three_sevenths() -> None:
    """ARX's table of seven: classes of 2, 2 and 3 at k = 2; before, everybody is alone."""
    assert prosecutor(np.ones(7, np.int64), 0.2) == Risk(1.0, 1.0, 1.0)
    after = prosecutor(np.array([2, 2, 3]), 0.4)
    assert after.highest == 0.5
    assert after.average == pytest.approx(0.42857, abs=5e-6)
    assert after.above == pytest.approx(4 / 7)
    assert prosecutor(np.array([2, 2, 3]), 0.5).above == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_risks_are_those_of_the_definitions_record_by_record(seed: int) -> None:
    draws = np.random.default_rng(seed)
    sizes = draws.integers(1, 9, 30)
    population = sizes + draws.integers(0, 20, 30)
    of_records = [1 / large for small, large in zip(sizes, population, strict=True) for _ in range(small)]
    found = journalist(sizes, population, 0.1)
    assert found.highest == max(of_records)
    assert found.above == pytest.approx(sum(risk > 0.1 for risk in of_records) / len(of_records))
    assert marketer(sizes, population) == pytest.approx(sum(of_records) / len(of_records))
    assert found.average == pytest.approx(max(marketer(sizes, population), 30 / population.sum()))
    assert prosecutor(sizes, 0.1).average == marketer(sizes) == pytest.approx(30 / sizes.sum())


def test_the_risk_of_a_journalist_is_the_larger_of_both_directions() -> None:
    found = journalist(np.array([1, 100]), np.array([50, 100]), 0.5)
    assert found.average == pytest.approx(2 / 150)
    assert marketer(np.array([1, 100]), np.array([50, 100])) == pytest.approx(1.02 / 101)


def test_a_journalist_who_holds_the_whole_population_is_a_prosecutor() -> None:
    sizes = np.array([1, 4, 2])
    assert journalist(sizes, sizes, 0.3) == prosecutor(sizes, 0.3)
    nobody = np.empty(0, np.int64)
    assert prosecutor(nobody, 0.3) == Risk(0.0, 0.0, 0.0)
    assert marketer(nobody) == share_above(np.empty(0), nobody, 0.3) == 0.0
    with pytest.raises(ValueError, match="more individuals than its part of the population"):
        journalist(np.array([3]), np.array([2]), 0.3)


@pytest.mark.parametrize("name", ["StudentsMath_Score.csv", "StudentsMath_Score_k5.csv"])
def test_the_highest_risk_is_one_over_the_k_that_pycanon_finds(name: str) -> None:
    quasi = ["Teacher", "Gender", "Ethnic", "Freeredu", "wesson"]
    with shared_data("pycanon", name).open(encoding="utf-8", newline="") as file:
        rows = [tuple(row[each] for each in quasi) for row in csv.DictReader(file)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what pandas thinks of pycanon is not our matter
        pandas = pytest.importorskip("pandas", reason="pandas is not installed")
        judge = pytest.importorskip("pycanon.anonymity", reason="pycanon is not installed")
        k = judge.k_anonymity(pandas.DataFrame(rows, columns=quasi), quasi)
    assert prosecutor(np.array(list(Counter(rows).values())), 0.2).highest == 1 / k
