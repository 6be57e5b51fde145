"""Which classes may be published: the only place that decides it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.policy import Policy


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
    """

    records: NDArray[np.int64]
    individuals: NDArray[np.int64]
    largest: NDArray[np.int64]
    values: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Criteria:
    """k-anonymity over distinct individuals, a bound on one person's share, distinct l-diversity.

    Parameters
    ----------
    k
        Least number of distinct individuals.
    max_share
        Largest part of the records that may be one individual's.
    distinct_l
        int64[s], least number of values held by different individuals, per sensitive attribute with a
        criterion.
    """

    k: int
    max_share: float
    distinct_l: NDArray[np.int64]

    @classmethod
    def of(cls, policy: Policy) -> Criteria:
        """Return what `policy` asks for."""
        least = [policy.diversity[attribute.name].distinct_l for attribute in policy.diverse]
        return cls(policy.k, policy.max_share, np.array(least, np.int64))

    def permit(self, counts: ClassCounts) -> NDArray[np.bool_]:
        """Return for each class whether it may be published."""
        legal = (counts.individuals >= self.k) & (counts.largest <= self.max_share * counts.records)
        return legal & (counts.values >= self.distinct_l[:, None]).all(axis=0)

    def in_reach(self, individuals: int, values: NDArray[np.int64]) -> bool:
        """Return whether a window with so many individuals and distinct values can hold any legal class."""
        return individuals >= self.k and bool((values >= self.distinct_l).all())
