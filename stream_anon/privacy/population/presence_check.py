"""Look whether a policy's population has enough people who fit what would be published of each class.

Part of the gate: it counts under what would be published, whoever chose it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_kernel
from stream_anon.errors import SettingsError
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.generalization import GeneralizedClasses


@bare_kernel
def count_covered(  # noqa: PLR0913, PLR0917 - its columns
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    order: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    people: NDArray[np.int64],
) -> None:
    """Count the people under each of c published tuples.

    Parameters
    ----------
    codes, counts
        int32[p, q], int64[p], the population.
    order
        int64[q, p], its combinations by each attribute.
    begin, end
        int64[q, c], which places of `order` lie within a tuple's bounds.
    low, high
        int32[q, c], the bounds.
    people
        int64[c], written.
    """
    for own in range(len(people)):
        narrow = 0
        for j in range(len(order)):
            if end[j, own] - begin[j, own] < end[narrow, own] - begin[narrow, own]:
                narrow = j
        total = 0
        for place in range(begin[narrow, own], end[narrow, own]):
            row = order[narrow, place]
            inside = True
            for j in range(len(order)):
                code = codes[row, j]
                if code < low[j, own] or code > high[j, own]:
                    inside = False
                    break
            if inside:
                total += counts[row]
        people[own] = total


class PresenceCheck:
    """The population of a policy, sorted so that people under published tuples are counted fast.

    Parameters
    ----------
    policy
        Without `presence` nothing is held, and nothing may be asked.

    Raises
    ------
    SettingsError
        If it names a population and does not have it, as one of a policy document.
    """

    def __init__(self, policy: Policy) -> None:
        self.bound, population = policy.presence, policy.population
        if self.bound is None:
            return
        if population is None:
            raise SettingsError("privacy.presence", "needs its population: a policy document has its hash alone")
        self._counts = population.counts
        attributes = enumerate(policy.quasi_identifiers)
        self._unknown = [(place, one.unknown_code) for place, one in attributes if one.root_is_unknown]
        self._codes = np.ascontiguousarray(population.codes.T)
        self._order = np.argsort(population.codes, axis=1, kind="stable").astype(np.int64)
        self._sorted = np.take_along_axis(population.codes, self._order, axis=1)

    def people(self, least: NDArray[np.int32], most: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return how many people of the population fit what is published of each of c classes; int64[c].

        Somebody without a value fits a class that publishes none, or everything; where everything is published of
        unknown values alone, only who has one fits it. O(c p) at the worst, and far less where one attribute of a
        class is narrow.

        Parameters
        ----------
        least, most
            int32[q, c], the bounds of the published nodes.
        """
        low, high = np.array(least, order="C"), np.ascontiguousarray(most)
        for place, code in self._unknown:
            low[place, (low[place] == 0) & (high[place] == code)] = code
        ends = list(zip(self._sorted, low, high, strict=True))
        begin = np.stack([np.searchsorted(own, first, "left") for own, first, _ in ends]).astype(np.int64)
        end = np.stack([np.searchsorted(own, last, "right") for own, _, last in ends]).astype(np.int64)
        people = np.empty(low.shape[1], np.int64)
        count_covered(self._codes, self._counts, self._order, begin, end, low, high, people)
        return people

    def failing(
        self, individuals: NDArray[np.int64], generalized: GeneralizedClasses
    ) -> tuple[NDArray[np.bool_], float | None]:
        """Return for each class whether too many who fit it are in it, and the largest share of the others.

        Parameters
        ----------
        individuals
            int64[c], all who are published as each class's tuple.
        generalized
            What would be published of each of the c classes.
        """
        if self.bound is None or not len(individuals):
            return np.zeros(len(individuals), np.bool_), None
        people = self.people(generalized.low, generalized.high)
        holds = self.bound.holds(individuals, people)
        shares = individuals[holds] / people[holds]
        return ~holds, float(shares.max()) if len(shares) else None
