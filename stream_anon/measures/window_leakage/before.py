"""What each quasi-identifier of a window leaks before its release, with differential privacy.

Somebody who knows or has planted all records of a window but one could read the values of that one from an exact
figure, however large the window is. So what is told is differentially private (Dwork et al., TCC 2006).

**Neighbours** are two windows that differ in what one person sent: any number of records, also none, with any
values. What becomes of a record, published or suppressed, has no part in what is told. So it does not matter that
one person can change everybody's classes.

**Theorem.** For neighbours V and W and any set T of answers, P(`shares_before`(V) in T) <= exp(`EPSILON`)
P(`shares_before`(W) in T).

*Proof.* Of each person the first record counts, which nobody else can change. Let n <= m people have c(v) records
of value v. Told are n and, of each attribute, S = n H = f(n) - sum of f(c(v)), with f(x) = x log2 x. From x - 1 to
x, f rises by r(x), which grows with x, and r(m) <= D = log2 m + log2 e. One person more adds r(n) - r(c(v)) to S,
which is from 0 to D. Another value of one person adds r(c(v)) - r(c(w)), which is from -D to D. So n changes by 1
at most, and S by D; S rounded down by D rounded up. With discrete Laplace noise, of scale 1 / e1 on n and q D / e2
on each of q sums, all of them together are (e1 + e2)-differentially private (composition). What is told is
computed of these noisy numbers, m and q alone (post-processing).

The bound is for one answer. For somebody who is in w windows that are told of it is exp(w `EPSILON`).
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from math import ceil, inf, log2

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.grouping import dense, firsts
from stream_anon.measures.window_leakage.discrete_laplace import Below, discrete_laplace
from stream_anon.microdata.columns import Columns

EPSILON = Fraction(1, 2)
"""Nothing that is told of a window is more than exp(0.5) = 1.65 times as likely with one person as without."""
_OF_PEOPLE = EPSILON / 4  # for the number of people; the rest is for the attributes
_PEOPLE_NOISE = ceil(1 / _OF_PEOPLE)
_LOG2_E = 1.5  # log2 e = 1.443, and more than the error of a sum of floats
MOST_NOISE = 0.02  # mean size of the noise above which nothing is told: a share of 0.1 would drown in it
DIGITS = 2  # to which shares are rounded: more would be noise


def _sensitivity(most_people: int) -> int:
    """Return how much one person can change n H, in whole bits, in a window of so many people at the most."""
    return ceil(log2(most_people) + _LOG2_E)


def _bits_noise(attributes: int, most_people: int) -> int:
    """Return the scale of the noise on the bits of each attribute."""
    return ceil(attributes * _sensitivity(most_people) / (EPSILON - _OF_PEOPLE))


def noise_of(attributes: int, most_people: int, people: int) -> float:
    """Return a bound on the mean size of the noise on each share, infinite for a single individual.

    Parameters
    ----------
    most_people
        How many individuals a window may have.
    people
        How many it has, or seems to have.
    """
    if people < 2:
        return inf
    noise = _bits_noise(attributes, most_people) + _PEOPLE_NOISE * _sensitivity(most_people)
    return noise / (people * log2(people))


def least_told(attributes: int, most_people: int) -> int:
    """Return the least number of individuals of a window that is told of; it may be more than it may have."""
    enough = 2
    while noise_of(attributes, most_people, enough) > MOST_NOISE:
        enough *= 2
    # Noise falls as the number of people grows.
    return bisect_left(range(enough), 1, key=lambda people: noise_of(attributes, most_people, people) <= MOST_NOISE)


def shares_before(columns: Columns, most_people: int, below: Below) -> NDArray[np.float64] | None:
    """Return the share of all that can leak which each quasi-identifier of a window leaks alone, with noise.

    float64[q]: bits by the true values (`measures.leakage.leakage`) as a share of log2 of the window's individuals;
    O(q n). None if they seem to be so few that the noise would drown the shares.

    Parameters
    ----------
    columns
        All admitted rows of the window, whatever became of them.
    most_people
        How many individuals a window may have by its policy.
    below
        For the noise: `secrets.randbelow` wherever it matters.

    Raises
    ------
    ValueError
        If the window has more individuals than that.
    """
    attributes = len(columns.codes)
    people, bits = noisy_counts(columns, most_people, below)
    if noise_of(attributes, most_people, people) > MOST_NOISE:
        return None
    shares = np.array(bits, np.float64) / (people * log2(people))
    return np.clip(np.round(shares, DIGITS), 0.0, 1.0)


def noisy_counts(columns: Columns, most_people: int, below: Below) -> tuple[int, list[int]]:
    """Return what may be known of a window: its individuals, and n H of each attribute in bits, all with noise."""
    people, bits = exact_counts(columns)
    if people > most_people:
        raise ValueError("the window has more individuals than its policy allows")
    scale = _bits_noise(len(bits), most_people)
    noisy = [each + discrete_laplace(scale, below) for each in bits]
    return people + discrete_laplace(_PEOPLE_NOISE, below), noisy


def exact_counts(columns: Columns) -> tuple[int, list[int]]:
    """Return the individuals, and n H of each attribute in whole bits; they must not leave this process."""
    people = int(columns.individuals.max(initial=-1)) + 1
    rows = firsts(columns.individuals.astype(np.int64), people)
    sizes = [np.bincount(dense(column[rows])[0]) for column in columns.codes]
    # Counted as n log2 n - sum of c log2 c: a sum of as many terms as there are values.
    whole = people * log2(max(people, 1))
    return people, [max(0, int(whole - float(each @ np.log2(each)))) for each in sizes]
