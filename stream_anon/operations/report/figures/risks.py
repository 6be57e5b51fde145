"""The risk that somebody is found in the equivalence classes of many windows, added up in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.risk import Risk, journalist, marketer, prosecutor
from stream_anon.rounding import exactly, in_percent

_MOST_DIGITS = 7
_UNITS = 10 ** np.arange(16, dtype=np.int64)
_THOUSANDS = 1_000 * _UNITS[:-1]  # from 1,000 on sizes are rounded to tens, from 10,000 on to hundreds, and so on


@dataclass(frozen=True, slots=True)
class AttackerRisk:
    """How likely an attacker is right; see `stream_anon.measures.risk`.

    Parameters
    ----------
    attacker
        `prosecutor`, `marketer` or `journalist`.
    highest
        Of anybody, 0 to 1; None where no single person's risk is defined.
    average
        Over all people.
    above
        Share of the people whose risk is above the threshold; None without a threshold, or as above.
    """

    attacker: str
    highest: float | None
    average: float
    above: float | None


def in_words(threshold: float | None) -> str:
    """Return a threshold in percent: all digits of one that somebody wrote, a few of one such as 1/7."""
    if threshold is None:
        return "none"
    written = exactly(threshold)
    return written if len(written) <= _MOST_DIGITS else in_percent(threshold)


def risk_in_percent(risk: float | None, threshold: float | None) -> str:
    """Return a risk in percent, so that one above the threshold or above 0 shows that it is."""
    if risk is None:
        return "-"
    return in_percent(risk, bound=threshold if threshold is not None and risk > threshold else 0.0)


class _Worst:
    """The risk in several windows together: the highest of all, and how many people are above the threshold."""

    def __init__(self) -> None:
        self.highest = self.above = 0.0

    def add(self, found: Risk, people: int) -> None:
        self.highest = max(self.highest, found.highest)
        self.above += found.above * people


class ClassSizes:
    """Counts equivalence classes by the number of people in them, and their risks.

    Sizes of 1,000 people or more are rounded down to three digits where classes are counted by size. All else is
    exact, but for the rounding of sums.

    Parameters
    ----------
    threshold
        The risk that nobody may exceed; None for none.
    """

    def __init__(self, threshold: float | None) -> None:
        self.threshold = threshold
        self._counts: Counter[int] = Counter()
        self._prosecutor, self._journalist = _Worst(), _Worst()
        self._matched = 0.0  # people whom a marketer finds who knows the population
        self._population = 0  # people who fit the classes, added up
        self.fitted = 0
        """People in classes of which it is known how many of the population fit."""
        self.short = 0
        """Classes with more people than the population has of them."""
        self.smallest: int | None = None
        self.largest = 0
        self.classes = 0
        self.people = 0

    def add(self, sizes: NDArray[np.int64], population: NDArray[np.int64] | None = None) -> None:
        """Count the classes of a window.

        Parameters
        ----------
        sizes
            int64[c], people in each class; one without anybody is not counted.
        population
            int64[c], people of the population who fit it; None where that is not known. There are at least as many
            as are in the class.
        """
        held = sizes > 0
        sizes = sizes[held]
        if not len(sizes):
            return
        bound = 1.0 if self.threshold is None else self.threshold
        people, smallest = int(sizes.sum()), int(sizes.min())
        self.classes += len(sizes)
        self.people += people
        self.smallest = smallest if self.smallest is None else min(smallest, self.smallest)
        self.largest = max(self.largest, int(sizes.max()))
        for size, count in zip(*np.unique(_rounded_down(sizes), return_counts=True), strict=True):
            self._counts[int(size)] += int(count)
        self._prosecutor.add(prosecutor(sizes, bound), people)
        if population is not None:
            fitting = np.maximum(population[held], sizes)
            self.short += int((population[held] < sizes).sum())
            self._journalist.add(journalist(sizes, fitting, bound), people)
            self._matched += marketer(sizes, fitting) * people
            self._population += int(fitting.sum())
            self.fitted += people

    @property
    def median(self) -> int | None:
        """Return the size of the class in the middle; None without a class."""
        seen = 0
        for size in sorted(self._counts):
            seen += self._counts[size]
            if 2 * seen >= self.classes:
                return size
        return None

    def spread(self) -> Iterator[tuple[int, int]]:
        """Yield how many classes are of 1 person, 2 to 4, 5 to 9, 10 to 19, and so on, each with its least size.

        Those without a class are left out.
        """
        digits = len(str(self.largest))
        starts = [digit * 10**power for power in range(digits) for digit in (1, 2, 5)]
        for low, high in pairwise((*starts, 10**digits)):
            if count := sum(number for size, number in self._counts.items() if low <= size < high):
                yield low, count

    def risks(self) -> list[AttackerRisk]:
        """Return the risk by attacker; nothing without a class. That of a journalist if the population is known."""
        if not self.people:
            return []
        average = self.classes / self.people
        found = [
            AttackerRisk("prosecutor", self._prosecutor.highest, average, self._above(self._prosecutor)),
            AttackerRisk("marketer", None, average, None),
        ]
        if self.fitted == self.people:
            average = max(self._matched / self.people, self.classes / self._population)
            found.append(
                AttackerRisk("journalist", self._journalist.highest, average, self._above(self._journalist))
            )
        return found

    def _above(self, worst: _Worst) -> float | None:
        return None if self.threshold is None else worst.above / self.people


def _rounded_down(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    units = _UNITS[np.searchsorted(_THOUSANDS, sizes, side="right")]
    rounded: NDArray[np.int64] = sizes // units * units
    return rounded
