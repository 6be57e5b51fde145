"""How likely people are found again, before and after releases: by class sizes, counted in individuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import InputError, SettingsError
from stream_anon.measures.individuals import individuals_within
from stream_anon.measures.leakage import exposure
from stream_anon.measures.risk import Risk, journalist, prosecutor, share_above
from stream_anon.measures.uniqueness import SampleClasses, Uniqueness, population_uniqueness
from stream_anon.operations.studied_records import OriginalTable, Released


@dataclass(frozen=True, slots=True)
class RiskRequest:
    """What is asked.

    Parameters
    ----------
    threshold
        A risk from 0 to 1; how many people exceed it is counted.
    population
        Individuals of which those of the file are a random sample; None if that is not known.
    """

    threshold: float = 0.2
    population: int | None = None


@dataclass(frozen=True, slots=True)
class RiskFound:
    """The risk of the individuals of one table.

    Parameters
    ----------
    individuals
        Summed over classes: who is in several classes counts in each of them.
    exact
        Whether the individuals of each class are known. If not, they are taken to be as few as they can be, and the
        risks are the highest possible ones.
    prosecutor
        Of an attacker who knows that a person is in the table; its average is the marketer's risk.
    unique
        Share of the individuals whose values nobody else has.
    journalist
        Of an attacker who knows only that a person is in the population; None without one.
    population_unique
        Estimates of the share of the population that is unique; None without one.
    """

    individuals: int
    exact: bool
    prosecutor: Risk
    unique: float
    journalist: Risk | None
    population_unique: Uniqueness | None


@dataclass(frozen=True, slots=True)
class RiskReport:
    """The risk before and after releases.

    Parameters
    ----------
    told_apart
        Whether the policy tells individuals apart; if not, every record counts as another person's.
    original, releases
        Before, and after each release.
    """

    threshold: float
    population: int | None
    told_apart: bool
    original: RiskFound
    releases: tuple[RiskFound, ...]


def study_risks(table: OriginalTable, released: Sequence[Released], asked: RiskRequest) -> RiskReport:
    """Return the risks of original records and of releases of them. A suppressed record is in no class.

    Raises
    ------
    SettingsError
        If the population is smaller than the file.
    InputError
        If a release publishes what fits fewer original records.
    """
    people = table.population
    if asked.population is not None and asked.population < people.size:
        raise SettingsError("--population", f"must be at least the {people.size:,} individuals of {table.source}")
    scale = None if asked.population is None else asked.population / people.size
    every = range(len(people.codes))
    sizes = people.sizes(every)
    whole = None if scale is None else round(int(sizes.sum()) * scale)
    before = replace(_found(sizes, sizes, asked.threshold, scale, whole), unique=exposure(people, every).unique)
    after = [_found(*_within(table, each), asked.threshold, scale, whole) for each in released]
    return RiskReport(asked.threshold, asked.population, people.individuals is not None, before, tuple(after))


def _within(table: OriginalTable, released: Released) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    try:
        return individuals_within(table.population, released.boxes)
    except ValueError as error:
        raise InputError(f"{released.source}: {error}; it is not a release of {table.source}") from None


def _found(
    fewest: NDArray[np.int64], most: NDArray[np.int64], threshold: float, scale: float | None, whole: int | None
) -> RiskFound:
    """Return the risk of classes.

    Parameters
    ----------
    fewest, most
        int64[c], individuals of each class.
    scale
        How many people of the population stand behind one of the file; None without a population.
    whole
        The population, where who has several tuples counts once for each, as in the classes; None without one.
    """
    total = int(fewest.sum())
    found = RiskFound(
        total,
        bool((fewest == most).all()),
        _at_most(prosecutor(fewest, threshold), fewest, fewest, most, threshold),
        float((fewest == 1).sum() / total) if total else 0.0,
        None,
        None,
    )
    if scale is None or whole is None:
        return found
    estimated = np.asarray(fewest * scale, np.float64)
    return replace(
        found,
        journalist=_at_most(journalist(fewest, estimated, threshold), estimated, fewest, most, threshold),
        population_unique=population_uniqueness(SampleClasses.of(fewest, max(whole, total))),
    )


def _at_most(
    risk: Risk,
    sizes: NDArray[np.int64] | NDArray[np.float64],
    fewest: NDArray[np.int64],
    most: NDArray[np.int64],
    threshold: float,
) -> Risk:
    """Return a risk with the highest share above the threshold that the numbers of individuals allow.

    Parameters
    ----------
    sizes
        Numbers [c]; the risk of an individual of a class is 1 divided by its number.
    """
    risks = 1 / sizes
    return replace(risk, above=share_above(risks, np.where(risks > threshold, most, fewest), threshold))
