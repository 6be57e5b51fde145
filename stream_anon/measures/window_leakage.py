"""What each quasi-identifier of a published window leaks, told so that it tells hardly anything of any one person.

Somebody who knows or has planted all records of a window but one could read the values of that one from an exact
figure, however large the window is. So what is told is differentially private (Dwork et al., TCC 2006): noise hides
what one person could change. Only one record of each person counts, drawn by chance, so that nobody can change more
by coming often.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, e, inf, log2

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes, boxes_of_classes
from stream_anon.measures.grouping import firsts
from stream_anon.measures.leakage import Population, leakage, leakage_after
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.release import Classes

EPSILON = 0.5
"""Nothing that is told of a window is more than exp(0.5) = 1.65 times as likely with one person as with another."""
MOST_NOISE = 0.02  # mean size of the noise above which nothing is told: a share of 0.1 would drown in it
DIGITS = 2  # to which shares are rounded: the last digits of a float could tell what the noise hides


@dataclass(frozen=True, slots=True, eq=False)
class WindowLeakage:
    """The share of all that can leak which each quasi-identifier of a window leaks alone.

    Parameters
    ----------
    before
        float64[q], by the true values: bits as a share of log2 of the window's individuals.
    after
        float64[q], to who holds the release: bits as a share of log2 of its records.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]


def noise_of(attributes: int, individuals: int) -> float:
    """Return the mean size of the noise on each share, infinite for a single individual.

    If one person of n is replaced by another, and nothing of what is published changes, the share before changes by
    (1 + log2 e / log2 n) / n at most and the share after by 1 / n; both are told of q attributes. Their own values
    make the 1; the others' matches grow by one in one group and fall by one in another, each at most log2 e / n.
    """
    if individuals < 2:
        return inf
    return attributes * (2 + log2(e) / log2(individuals)) / individuals / EPSILON


def is_told(attributes: int, individuals: int) -> bool:
    """Return whether a window has so many people that the noise does not drown what is told of it."""
    return noise_of(attributes, individuals) <= MOST_NOISE


def least_told(attributes: int) -> int:
    """Return the least number of individuals of a window that is told of."""
    # Noise falls faster than 1 / n from its value for two people, at which 2 + log2 e is the whole of the bracket.
    most = ceil(attributes * (2 + log2(e)) / EPSILON / MOST_NOISE)
    return bisect_left(range(max(2, most)), 1, key=lambda individuals: is_told(attributes, individuals))


def window_leakage(
    attributes: Sequence[QuasiIdentifier],
    columns: Columns,
    classes: Classes,
    unpublished: int,
    draws: np.random.Generator,
) -> WindowLeakage:
    """Return what each quasi-identifier of a window leaks, with noise; O(q n).

    Parameters
    ----------
    columns
        All admitted rows of the window.
    unpublished
        How many of these rows are in no class: they may be anybody's.
    draws
        Draws the record that counts of each person, and the noise.

    Raises
    ------
    ValueError
        If `is_told` says no, or if the classes are not those of the rows.
    """
    individuals = int(columns.individuals.max(initial=-1)) + 1
    if not is_told(len(attributes), individuals):
        raise ValueError("the window has too few people to be told of")
    people = Population(columns.codes[:, one_each(columns.individuals, individuals, draws)])
    before, after = exact_shares(people, boxes_of_classes(attributes, classes), unpublished)
    noise = draws.laplace(0.0, noise_of(len(attributes), individuals), (2, len(attributes)))
    told = np.clip(np.round(np.stack([before, after]) + noise, DIGITS), 0.0, 1.0)
    return WindowLeakage(told[0], told[1])


def one_each(individuals: NDArray[np.int32], count: int, draws: np.random.Generator) -> NDArray[np.int64]:
    """Return one row of each individual, each of theirs as likely as the others, int64[count].

    Parameters
    ----------
    individuals
        int32[n], dense numbers below `count`.
    """
    order = draws.permutation(len(individuals))
    return order[firsts(individuals[order].astype(np.int64), count)]


def exact_shares(
    people: Population, boxes: Boxes, unpublished: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return float64[q] twice: the shares of `WindowLeakage` as they are; they must not leave this process."""
    records = int(boxes.records.sum()) + unpublished
    places = range(len(people.codes))
    before = np.array([leakage(people, (place,)) for place in places]) / people.uncertainty
    after = np.array([leakage_after(people, boxes, (place,), unpublished) for place in places])
    return before, after / log2(records)
