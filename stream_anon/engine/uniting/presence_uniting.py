"""Unite classes until no more of the people of a population are in one than a policy's presence allows.

A class fails if too large a part of those who fit its tuple is in it. In each round every class that fails looks
at the classes with which it could be published alike at the least loss, and is united with the first of them
where both together hold, with whoever is published like that already; where none does, with the first that fails
too. What fails in the end, as where two unions of a round become alike, is left to the gate, which suppresses it.

Classes only grow by it: k, `max_share` and the criteria on sensitive values survive.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.near_classes import near_classes
from stream_anon.clustering.shield_groups import WIDTH, AlikeGroups
from stream_anon.engine.chosen_classes import chosen, renumbered
from stream_anon.engine.uniting.unions import Raised, cells_of, published_alike, tuples_of_pairs
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.objective import objective
from stream_anon.privacy.gate import people_of
from stream_anon.privacy.generalization import Generalizer, alike
from stream_anon.privacy.population.presence_check import PresenceCheck

MOST_UNITING = 32  # rounds; each of them joins at least one pair
_MATES = 8  # candidates of which the people are counted


class PresenceUniter:
    """Unites the classes of windows for one policy.

    Parameters
    ----------
    policy
        Without `presence` it does nothing.
    generalizers
        One for each quasi-identifier, which has met all classes of the window.
    check
        Counts the population.
    fixed
        Nothing is united: what fails is suppressed.
    """

    def __init__(
        self,
        policy: Policy,
        generalizers: Sequence[Generalizer],
        check: PresenceCheck,
        *,
        fixed: bool = False,
    ) -> None:
        self._attributes: Sequence[QuasiIdentifier] = policy.quasi_identifiers
        self._generalizers = generalizers
        self._check = check
        self._works = policy.presence is not None and not fixed
        self._places = np.arange(len(self._attributes))
        if self._works:
            self._model = objective(self._attributes, policy.engine.loss, policy.engine.labels)

    def united(self, individuals: NDArray[np.int32], before: Raised) -> Raised:
        """Return the classes after uniting those that fail, in at most `MOST_UNITING` rounds.

        Parameters
        ----------
        individuals
            int32[n].
        """
        found = before
        for _ in range(MOST_UNITING if self._works else 0):
            count = len(found.united)
            if count < 2:
                break
            found = self._ordered(found)
            placed = found.class_of_row >= 0
            own = found.class_of_row[placed].astype(np.int64)
            people, _ = people_of(own, count, individuals[placed])
            failing, _ = self._check.failing(people, found.generalized)
            union = self._paired(found, np.bincount(own, minlength=count), people, failing)
            if union is None:
                break
            found = self._joined(found, union)
        return found

    @staticmethod
    def _ordered(found: Raised) -> Raised:
        """Return the classes in the order of their bounds, so that near ones stand near each other."""
        generalized = found.generalized
        order = np.lexsort([*generalized.high[::-1], *generalized.low[::-1]]).astype(np.int64)
        class_of_row = renumbered(found.class_of_row, order, len(order))
        return Raised(class_of_row, chosen(generalized, order), found.united[order], found.gone)

    def _paired(
        self,
        found: Raised,
        records: NDArray[np.int64],
        people: NDArray[np.int64],
        failing: NDArray[np.bool_],
    ) -> NDArray[np.int64] | None:
        """Return the first class of the union that each is in, none in more than one pair; None for no pair."""
        seekers = np.flatnonzero(failing)
        if not len(seekers):
            return None
        low = np.ascontiguousarray(found.generalized.low.T)
        high = np.ascontiguousarray(found.generalized.high.T)
        mates = np.empty((len(seekers), _MATES), np.int64)
        growth = np.empty(mates.shape)
        cells = cells_of(self._attributes, low, high)
        classes = AlikeGroups(self._model, self._places, low, high, cells, records)
        near_classes(classes, seekers, WIDTH, mates, growth)
        holds = self._hold(found, seekers, mates, people)
        # Those first that hold, and of these and of others those first that lose least.
        rank = np.where(holds, 0, np.where(failing[mates] & (mates >= 0), 1, 2))
        turn, column = np.nonzero(rank < 2)
        order = np.lexsort([growth[turn, column], rank[turn, column]])
        name = np.arange(len(failing))
        free = np.ones(len(failing), np.bool_)
        better = (rank == 0).any(axis=1)
        for at in order.tolist():
            a, b = int(seekers[turn[at]]), int(mates[turn[at], column[at]])
            waits = rank[turn[at], column[at]] == 1 and better[turn[at]]
            if free[a] and free[b] and not waits:
                free[a] = free[b] = False
                name[max(a, b)] = min(a, b)
        return None if free.all() else name

    def _hold(
        self, found: Raised, seekers: NDArray[np.int64], mates: NDArray[np.int64], people: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return for each seeker and mate whether both together would hold, if nobody is in both; bool[s, m].

        A third class may have the tuple that both would get: its people would be published as theirs.
        """
        turn, column = np.nonzero(mates >= 0)
        holds = np.zeros(mates.shape, np.bool_)
        if len(turn):
            pairs = np.stack([seekers[turn], mates[turn, column]])
            both = tuples_of_pairs(self._generalizers, found.generalized, pairs)
            together = people[pairs].sum(axis=0)
            first, group = alike(np.concatenate([found.generalized.labels, both.labels], axis=1))
            there = first[group[len(people) :]]  # who has a pair's tuple: a class, or else the first such pair
            third = (there < len(people)) & (there != pairs).all(axis=0)
            together[third] += people[there[third]]
            failing, _ = self._check.failing(together, both)
            holds[turn, column] = ~failing
        return holds

    def _joined(self, found: Raised, union: NDArray[np.int64]) -> Raised:
        """Return the classes after those of each union have got the least nodes above all of them."""
        generalized = found.generalized
        low, high = generalized.low.T.copy(), generalized.high.T.copy()
        np.minimum.at(low, union, generalized.low.T)
        np.maximum.at(high, union, generalized.high.T)
        classes = np.flatnonzero(np.bincount(union)[union] > 1)
        own = union[classes]
        return published_alike(self._attributes, self._generalizers, found, classes, own, self._places, (low, high))
