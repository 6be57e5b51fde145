"""Risks of re-identification by class sizes: prosecutor, journalist, marketer.

El Emam, Dankar, "Protecting privacy using k-anonymity" (JAMIA 2008); Dankar, El Emam, "A method for evaluating
marketer re-identification risk" (PAIS 2010); El Emam, "Guide to the De-Identification of Personal Health
Information" (2013), which names the three figures of each attacker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Risk:
    """What an attacker can hope for.

    Parameters
    ----------
    highest
        The chance to be right about the record that is most at risk.
    average
        The chance over all records.
    above
        The share of records whose risk exceeds the threshold.
    """

    highest: float
    average: float
    above: float


def prosecutor(sizes: NDArray[np.integer], threshold: float) -> Risk:
    """Return the risk where the attacker knows that a person is in the release: 1 / size of the class.

    Parameters
    ----------
    sizes
        Integers [c], individuals of each class, all positive.
    threshold
        A risk from 0 to 1.
    """
    return journalist(sizes, sizes, threshold)


def journalist(
    sizes: NDArray[np.integer], population: NDArray[np.integer] | NDArray[np.floating], threshold: float
) -> Risk:
    """Return the risk where the attacker does not know who of a population is in the release.

    The risk of a record is 1 / size of its class in the population. The average is the larger of two: of going from
    the population to the release, and from the release to the population.

    Parameters
    ----------
    population
        Numbers [c], individuals of the population with the values of each class, no fewer than in the class; not
        always whole where they are estimated.
    """
    if (population < sizes).any():
        raise ValueError("a class cannot have more individuals than its part of the population")
    total = int(sizes.sum())
    if total == 0:
        return Risk(0.0, 0.0, 0.0)
    chance = 1 / population
    average = max(marketer(sizes, population), len(population) / float(population.sum()))
    return Risk(float(chance.max()), average, share_above(chance, sizes, threshold))


def marketer(
    sizes: NDArray[np.integer], population: NDArray[np.integer] | NDArray[np.floating] | None = None
) -> float:
    """Return the share of records that are expected to be matched rightly where all are matched; 0.0 for no record.

    Parameters
    ----------
    population
        As in `journalist`; None where the release holds all of the population, and then it is classes / records.
    """
    total = int(sizes.sum())
    return float((sizes / (sizes if population is None else population)).sum()) / total if total else 0.0


def share_above(risks: NDArray[np.floating], records: NDArray[np.integer], threshold: float) -> float:
    """Return the share of records of classes whose risk exceeds a threshold; 0.0 for no record.

    Parameters
    ----------
    risks
        float64[c], of one record of each class.
    records
        Integers [c].
    """
    total = int(records.sum())
    return float(records[risks > threshold].sum()) / total if total else 0.0
