"""Which classes may be published: the only place that decides it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.policy import Diversity, Policy

TOLERANCE = 1e-9  # of frequencies: the same sum in another order is another number


@dataclass(frozen=True, slots=True)
class Spread:
    """How the values of one sensitive attribute must be spread in a class.

    Parameters
    ----------
    entropy_l
        Least exponential of the entropy, 1 for none.
    c, l
        r1 < c (r_l + .. + r_m), c infinite for none.
    t, ordered
        Largest distance from the distribution of all rows, 1 for none; and whether values are numbers in order.
    alpha
        Largest share of one value, 1 for none.
    """

    entropy_l: float = 1.0
    c: float = np.inf
    l: int = 2  # noqa: E741 - the letter of the paper
    t: float = 1.0
    ordered: bool = False
    alpha: float = 1.0

    @classmethod
    def of(cls, diversity: Diversity) -> Spread:
        """Return what is asked of frequencies."""
        recursion, closeness = diversity.recursive_cl, diversity.t_closeness
        return cls(
            diversity.entropy_l or 1.0,
            recursion.c if recursion else np.inf,
            recursion.l if recursion else 2,
            closeness.t if closeness else 1.0,
            diversity.ordered,
            diversity.alpha or 1.0,
        )

    @property
    def asks(self) -> bool:
        """Return whether anything is asked."""
        return self.entropy_l > 1 or self.c < np.inf or self.t < 1 or self.alpha < 1


@dataclass(frozen=True, slots=True, eq=False)
class Spreads:
    """How the values of one sensitive attribute are spread in c classes.

    Parameters
    ----------
    entropy
        float64[c], in nats.
    tilt
        float64[c], r1 / (r_l + .. + r_m), infinite where fewer than l values occur.
    distance
        float64[c], from the distribution of all rows.
    share
        float64[c], of the most frequent value, 0 where there is none.
    """

    entropy: NDArray[np.float64]
    tilt: NDArray[np.float64]
    distance: NDArray[np.float64]
    share: NDArray[np.float64]

    def permitted(self, asked: Spread) -> NDArray[np.bool_]:
        """Return for each class whether it is spread as asked; bool[c]."""
        permitted: NDArray[np.bool_] = self.entropy >= np.log(asked.entropy_l) - TOLERANCE
        if asked.c < np.inf:
            permitted &= self.tilt < asked.c - TOLERANCE
        permitted &= self.distance <= asked.t + TOLERANCE
        permitted &= self.share <= asked.alpha + TOLERANCE
        return permitted

    def take(self, classes: NDArray[np.int64]) -> Spreads:
        """Return the chosen classes."""
        return Spreads(self.entropy[classes], self.tilt[classes], self.distance[classes], self.share[classes])


@dataclass(frozen=True, slots=True, eq=False)
class ClassCounts:
    """What was counted of c classes.

    Parameters
    ----------
    records, individuals, largest
        int64[c]: records, distinct individuals, records of the individual with the most.
    values
        int64[s, c]: distinct values of each sensitive attribute with a criterion that are held by as many
        different individuals, at least so many.
    spreads
        Of each of these attributes; the worse of two counts, over records and over (individual, value) pairs. Of
        an attribute of which nothing is asked None.
    """

    records: NDArray[np.int64]
    individuals: NDArray[np.int64]
    largest: NDArray[np.int64]
    values: NDArray[np.int64]
    spreads: Sequence[Spreads | None] = ()

    def take(self, classes: NDArray[np.int64]) -> ClassCounts:
        """Return the chosen classes, in that order."""
        return ClassCounts(
            self.records[classes],
            self.individuals[classes],
            self.largest[classes],
            self.values[:, classes],
            [spread and spread.take(classes) for spread in self.spreads],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Criteria:
    """k-anonymity over distinct individuals, a bound on one person's share, and what sensitive values must show.

    Parameters
    ----------
    k
        Least number of distinct individuals.
    max_share
        Largest part of the records that may be one individual's.
    distinct_l
        int64[s], least number of values held by different individuals, per sensitive attribute with a
        criterion; what other criteria imply is in it.
    spreads
        What is asked of the frequencies of each of these attributes; empty for nothing.
    """

    k: int
    max_share: float
    distinct_l: NDArray[np.int64]
    spreads: tuple[Spread, ...] = ()

    @classmethod
    def of(cls, policy: Policy) -> Criteria:
        """Return what `policy` asks for."""
        asked = [policy.diversity[attribute.name] for attribute in policy.diverse]
        return cls(
            policy.k,
            policy.max_share,
            np.array([each.values for each in asked], np.int64),
            tuple(Spread.of(each) for each in asked),
        )

    @property
    def asked(self) -> tuple[Spread, ...]:
        """Return what is asked of each attribute's frequencies."""
        return self.spreads or (Spread(),) * len(self.distinct_l)

    def permit(self, counts: ClassCounts) -> NDArray[np.bool_]:
        """Return for each class whether it may be published."""
        legal = (counts.individuals >= self.k) & (counts.largest <= self.max_share * counts.records)
        legal &= (counts.values >= self.distinct_l[:, None]).all(axis=0)
        for s, asked in enumerate(self.asked):
            if asked.asks:
                found = counts.spreads[s]
                if found is None:
                    raise ValueError("a spread was asked for and not counted")
                legal &= found.permitted(asked)
        return legal

    def in_reach(self, individuals: int, occurrences: Sequence[NDArray[np.int64]]) -> bool:
        """Return whether a window with so many individuals can be released: all of it as one class, at worst.

        Parameters
        ----------
        occurrences
            For each sensitive attribute with a criterion how often each of its values occurs.

        Notes
        -----
        The distance from the distribution of all rows is 0 then, whatever t. Values are counted over records here;
        where people with several records make the difference, the partitioner finds it.
        """
        if individuals < self.k:
            return False
        for least, asked, counts in zip(self.distinct_l.tolist(), self.asked, occurrences, strict=True):
            heights = np.sort(counts[counts > 0])[::-1]
            if len(heights) < least:
                return False
            if not asked.asks:
                continue
            total, rest = int(heights.sum()), int(heights[asked.l - 1 :].sum())
            share = heights / total
            most = float(share.max(initial=0.0))
            tilt = most * total / rest if rest else np.inf
            entropy = float(-(share * np.log(share)).sum())
            found = Spreads(*(np.array([figure]) for figure in (entropy, tilt, 0.0, most)))
            if not found.permitted(asked)[0]:
                return False
        return True
