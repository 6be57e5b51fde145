"""What an attacker who knows attributes of a person learns, by the entropy of partitions (Longpré et al.).

An attacker who knows that a person is among n individuals lacks log2 n bits. One who also knows the person's values
of some attributes is left with those who match them. The difference is what these attributes leak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes
from stream_anon.measures.grouping import dense, firsts, people, split


@dataclass(frozen=True, eq=False)
class Population:
    """The rows of a table, and the individual of each.

    Parameters
    ----------
    codes
        Integers [q, n], a row an attribute.
    individuals
        Integers [n], equal for equal individuals; None where every row is another person's.
    """

    codes: NDArray[np.int32]
    individuals: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.individuals is not None and len(self.individuals) != self.codes.shape[1]:
            raise ValueError("there is one individual for each row")

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return int(self.codes.shape[1])

    @cached_property
    def _people(self) -> tuple[NDArray[np.int64] | None, int]:
        """Return dense numbers of individuals, None where all differ, and how many there are."""
        if self.individuals is None:
            return None, self.rows
        numbers, count = dense(self.individuals)
        return (None if count == self.rows else numbers), count

    @property
    def people(self) -> NDArray[np.int64] | None:
        """Return dense numbers of individuals, int64[n]; None where every row is another person's."""
        return self._people[0]

    @property
    def size(self) -> int:
        """Return the number of individuals."""
        return self._people[1]

    @property
    def uncertainty(self) -> float:
        """Return S0 in bits: log2 of the number of individuals."""
        return float(np.log2(self.size)) if self.size else 0.0

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Return what each row counts in a mean over individuals: a person's rows share one person's weight."""
        numbers, count = self._people
        if numbers is None:
            return np.full(self.rows, 1 / max(count, 1))
        return np.asarray(1 / (np.bincount(numbers)[numbers] * count), np.float64)

    def matching(self, attributes: Sequence[int]) -> NDArray[np.int64]:
        """Return for each row how many individuals have a row with the same values of some attributes, int64[n]."""
        groups, count = self.groups(attributes)
        return people(groups, count, self.people)[groups]

    def sizes(self, attributes: Sequence[int]) -> NDArray[np.int64]:
        """Return how many individuals have a row in each group of equal values, int64[groups]."""
        return people(*self.groups(attributes), self.people)

    def groups(self, attributes: Sequence[int]) -> tuple[NDArray[np.int64], int]:
        """Return the number of each row's group of equal values, int64[n], and how many groups there are."""
        groups, count = np.zeros(self.rows, np.int64), min(1, self.rows)
        for place in attributes:
            groups, count = split(groups, count, *self._values[place])
        return groups, count

    @cached_property
    def _values(self) -> tuple[tuple[NDArray[np.int64], int], ...]:
        """Return dense numbers of each attribute's values, and how many occur."""
        return tuple(dense(column) for column in self.codes)


@dataclass(frozen=True, slots=True)
class Exposure:
    """What some attributes reveal together.

    Parameters
    ----------
    bits
        See `leakage`.
    unique
        The share of individuals whom they single out: no other person has a row with the same values.
    """

    bits: float
    unique: float


def exposure(population: Population, attributes: Sequence[int]) -> Exposure:
    """Return what some attributes leak, and whom they single out; O(n) to O(n log n) for each attribute.

    Parameters
    ----------
    attributes
        Places in `population.codes`; none leak nothing.
    """
    matching = population.matching(attributes)
    bits = population.uncertainty - np.log2(matching)
    singled = float(population.weights[matching == 1].sum())
    return Exposure(max(0.0, float(population.weights @ bits)), singled)


def leakage(population: Population, attributes: Sequence[int]) -> float:
    """Return the bits that some attributes leak together; see `exposure`.

    The mean over individuals of log2(n / |match|). Where every row is another person's, this is the entropy of the
    partition by these attributes. A person with several rows counts the mean over them. More attributes never leak
    less.
    """
    return exposure(population, attributes).bits


def leakage_after(population: Population, boxes: Boxes, attributes: Sequence[int], suppressed: int = 0) -> float:
    """Return the bits that some attributes leak to who holds the release; see `Boxes.matches` for the cost.

    The mean over individuals of log2(n / |match|), where |match| counts the released records whose published values
    are compatible with the true ones. A release names no person, so n and |match| count records. A suppressed
    record may be anybody's: it matches everyone, as if it were published as all `*`.

    Parameters
    ----------
    population
        The original table.
    boxes
        What was released of it.
    suppressed
        Its records that were not released.

    Raises
    ------
    ValueError
        If a row of the original matches nothing: then this is not a release of it.
    """
    total = int(boxes.records.sum()) + suppressed
    groups, count = population.groups(attributes)
    tuples = population.codes[:, firsts(groups, count)]
    found = boxes.matches(tuples, attributes) + suppressed
    if count and int(found.min()) == 0:
        raise ValueError("some original values are compatible with no released record")
    bits = np.log2(total / found) if count else np.empty(0)
    return max(0.0, float(population.weights @ bits[groups]))
