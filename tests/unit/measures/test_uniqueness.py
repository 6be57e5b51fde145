"""Estimates of how many people of a population are unique, against populations whose uniques are known."""

from __future__ import annotations

from math import comb, exp, lgamma, log

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.measures.uniqueness import (
    SampleClasses,
    _classes_of_population,
    digamma,
    pitman,
    population_uniqueness,
    slide_negative_binomial,
    zayatz,
)


def _sample(labels: NDArray[np.int64], share: float, seed: int) -> SampleClasses:
    taken = np.random.default_rng(seed).permutation(labels)[: round(share * len(labels))]
    return SampleClasses.of(np.unique(taken, return_counts=True)[1], len(labels))


def _restaurant(people: int, theta: float, alpha: float, seed: int) -> NDArray[np.int64]:
    """Return the table of each guest of a Chinese restaurant with two parameters: Pitman's model."""
    draws = np.random.default_rng(seed)
    sizes: list[int] = []
    tables = []
    for guest in range(people):
        if draws.random() * (theta + guest) < theta + alpha * len(sizes):
            sizes.append(0)
            table = len(sizes) - 1
        else:
            weights = np.array(sizes) - alpha
            table = int(draws.choice(len(sizes), p=weights / weights.sum()))
        sizes[table] += 1
        tables.append(table)
    return np.array(tables)


def test_digamma_agrees_with_scipy() -> None:
    special = pytest.importorskip("scipy.special", reason="scipy is not installed")
    for x in np.logspace(-9, 8, 100).tolist():
        assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-12)
    assert digamma(1.0) == pytest.approx(-0.5772156649015329)  # Euler's constant


@pytest.mark.parametrize("population", [30, 31, 60, 400])
def test_the_estimate_of_zayatz_is_bayes_rule_on_the_hypergeometric_distribution(population: int) -> None:
    classes = np.array([1, 1, 1, 1, 1, 2, 2, 3, 6, 12])  # 30 people

    def once(size: int) -> float:
        return size * comb(population - size, 29) / comb(population, 30)

    shares = {1: 0.5, 2: 0.2, 3: 0.1, 6: 0.1, 12: 0.1}
    both = shares[1] * once(1) / sum(share * once(size) for size, share in shares.items())
    found = zayatz(SampleClasses.of(classes, population))
    assert found == pytest.approx(5 * both / 30)
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    drawn = {size: stats.hypergeom(population, size, 30).pmf(1) for size in shares}
    also = shares[1] * drawn[1] / sum(shares[size] * drawn[size] for size in shares)
    assert found == pytest.approx(5 * also / 30)


@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
@pytest.mark.parametrize(("theta", "alpha"), [(20.0, 0.5), (200.0, 0.1)])
def test_pitmans_parameters_are_those_of_the_greatest_likelihood(theta: float, alpha: float, share: float) -> None:
    """Another search, on the likelihood itself, ends at the same number of uniques."""
    optimize = pytest.importorskip("scipy.optimize", reason="scipy is not installed")
    sample = _sample(_restaurant(2_000, theta, alpha, 0), share, 1)

    def unlikely(point: NDArray[np.float64]) -> float:
        t, a = exp(point[0]), 1 / (1 + exp(-point[1]))
        found = np.log(t + np.arange(1, sample.classes) * a).sum() - np.log(t + np.arange(1, sample.records)).sum()
        for size, count in zip(sample.sizes.tolist(), sample.counts.tolist(), strict=True):
            found += count * np.log(np.arange(1, size) - a).sum()
        return -float(found)

    best = optimize.minimize(unlikely, [3, 0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-10})
    t, a = exp(best.x[0]), 1 / (1 + exp(-best.x[1]))
    expected = exp(lgamma(t + 1) - lgamma(t + a) + lgamma(1999 + t + a) - lgamma(2000 + t))
    assert pitman(sample) == pytest.approx(expected, rel=1e-5)


def test_pitmans_uniques_are_the_expected_ones_of_a_population_of_his_model() -> None:
    """The closed form is the sum over guests of: opens a table, and nobody joins it afterwards."""
    theta, alpha, people = 5.0, 0.4, 50
    tables = _mean_tables(theta, alpha, people)
    alone = 0.0
    for guest in range(people):
        stays = 1.0
        for later in range(guest + 1, people):
            stays *= 1 - (1 - alpha) / (theta + later)
        alone += (theta + alpha * tables[guest]) / (theta + guest) * stays
    closed = lgamma(theta + 1) - lgamma(theta + alpha) + lgamma(people + theta + alpha - 1) - lgamma(people + theta)
    assert alone / people == pytest.approx(exp(closed))


def _mean_tables(theta: float, alpha: float, people: int) -> list[float]:
    mean = [0.0]
    for guest in range(people):
        mean.append(mean[-1] + (theta + alpha * mean[-1]) / (theta + guest))
    return mean


def test_a_sample_of_a_million_with_a_single_pair_is_almost_all_unique() -> None:
    """Ewens' formula (alpha = 0) has theta / (theta + n - 1) as the share of uniques, and bounds it from below."""
    sample = SampleClasses(np.array([1, 2]), np.array([999_998, 1]), 10_000_000)
    found = pitman(sample)
    assert found is not None
    theta = 999_999 * 1_000_000 / 2  # one pair is expected in the sample
    assert theta / (theta + 1e7) - 1e-6 < found < 1.0


@pytest.mark.parametrize(("share", "near"), [(0.05, 0.5), (0.1, 0.5), (0.5, 0.1)])
def test_pitman_is_near_the_truth_where_his_model_holds(share: float, near: float) -> None:
    labels = _restaurant(6_000, 60.0, 0.5, 3)
    true = float((np.bincount(labels) == 1).sum()) / len(labels)
    assert pitman(_sample(labels, share, 4)) == pytest.approx(true, rel=near)


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.3), (2.0, 0.6), (1.0, 0.05)])
def test_the_slide_negative_binomial_is_near_the_truth_where_its_model_holds(alpha: float, beta: float) -> None:
    sizes = 1 + np.random.default_rng(5).negative_binomial(alpha, beta, 20_000)
    labels = np.repeat(np.arange(20_000), sizes)
    true = float((sizes == 1).sum()) / len(labels)
    for share, near in ((0.5, 0.2), (0.9, 0.02), (1.0, 1e-12)):
        assert slide_negative_binomial(_sample(labels, share, 6)) == pytest.approx(true, rel=near)


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.3), (2.0, 0.6)])
@pytest.mark.parametrize("share", [0.3, 0.8])
def test_the_parameters_of_slide_give_the_classes_of_one_and_two_of_the_sample(
    alpha: float, beta: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected numbers of classes, by sums over the distribution, lead back to its parameters."""
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    classes, sizes = 1e9, np.arange(1, 400)
    weight = stats.nbinom(alpha, beta).pmf(sizes - 1)
    seen = np.arange(1, 60)
    expected = [round(classes * float(weight @ stats.binom(sizes, share).pmf(count))) for count in seen.tolist()]
    population = round(float(seen @ np.array(expected)) / share)
    monkeypatch.setattr("stream_anon.measures.uniqueness._classes_of_population", lambda _: classes)
    sample = SampleClasses(seen, np.array(expected), population)
    assert slide_negative_binomial(sample) == pytest.approx(classes * beta**alpha / population, rel=1e-4)


def test_the_classes_of_the_population_are_estimated_as_haas_and_stokes_modified_shlosser() -> None:
    """Their formula, class by class: three classes of 1, two of 2, one of 5, a fifth of 60 people."""
    q, classes = 0.2, [1, 1, 1, 2, 2, 5]
    first = sum(i * q**2 * (1 - q**2) ** (i - 1) for i in classes)
    second = sum((1 - q) ** i * ((1 + q) ** i - 1) for i in classes)
    third = sum((1 - q) ** i for i in classes) / sum(i * q * (1 - q) ** (i - 1) for i in classes)
    found = _classes_of_population(SampleClasses.of(np.array(classes), 60))
    assert found == pytest.approx(6 + 3 * first / second * third**2)


def test_without_a_unique_record_nobody_is_estimated_to_be_unique() -> None:
    found = population_uniqueness(SampleClasses.of(np.array([2, 3, 5]), 100))
    assert (found.zayatz, found.pitman, found.snb, found.chosen) == (0.0, 0.0, 0.0, 0.0)


def test_a_sample_that_is_the_population_is_counted() -> None:
    classes = np.array([1, 1, 1, 2, 5])
    found = population_uniqueness(SampleClasses.of(classes, 10))
    assert found.zayatz == found.snb == found.chosen == pytest.approx(0.3)
    assert population_uniqueness(SampleClasses.of(np.ones(8, np.int64), 8)).chosen == 1.0


def test_where_a_model_has_no_solution_it_says_so_and_another_is_chosen() -> None:
    all_unique = SampleClasses.of(np.ones(50, np.int64), 100)
    assert pitman(all_unique) == 1.0
    assert slide_negative_binomial(all_unique) is None
    assert population_uniqueness(all_unique).chosen == zayatz(all_unique) == 1.0
    assert pitman(SampleClasses.of(np.array([1]), 100)) == 1.0
    with pytest.raises(ValueError, match="no smaller than its sample"):
        SampleClasses.of(np.array([3, 3]), 5)


@pytest.mark.parametrize("seed", range(40))
def test_every_estimate_is_a_share_whatever_the_sample(seed: int) -> None:
    draws = np.random.default_rng(seed)
    classes = np.minimum(draws.zipf(1.2 + draws.random() * 2, draws.integers(1, 60)), 500)
    population = int(classes.sum() * (1 + draws.exponential(3) * (seed % 4 > 0)))
    found = population_uniqueness(SampleClasses.of(classes, population))
    shares = (found.zayatz, found.pitman, found.snb, found.chosen)
    assert all(0 <= share <= 1 for share in shares if share is not None)


def test_the_rule_takes_pitman_for_a_small_sample_and_the_lesser_of_two_for_a_large_one() -> None:
    labels = _restaurant(3_000, 30.0, 0.5, 8)
    small = population_uniqueness(_sample(labels, 0.1, 9))
    assert small.chosen == small.pitman
    large = population_uniqueness(_sample(labels, 0.5, 9))
    assert large.snb is not None
    assert large.chosen == min(large.snb, large.zayatz)
    assert log(large.chosen) < 0
