"""RAISE: meet the shields of a policy once classes are formed, by publishing more of them alike.

A shield asks that each published tuple of its attributes is shared by so many individuals. The classes that share
such a tuple are a **group**. A group that falls short is joined with the group with which least is lost: in all
classes of both, each attribute of the shield is raised to the least node above both. Nothing else is changed, so
that a class only ever grows: k, `max_share` and the criteria on sensitive values survive.

What is raised, and where to, follows from what would be published of the classes and how many records and
individuals these have: no row is looked at, and no sensitive value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.shield_groups import PATIENCE, WIDTH, AlikeGroups, join_groups, people_of_groups
from stream_anon.engine.chosen_classes import without
from stream_anon.engine.uniting.unions import Raised, cells_of, published_alike
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.costs.objective import objective
from stream_anon.privacy.generalization import GeneralizedClasses, Generalizer, alike

MOST_TURNS = 32  # of all shields; groups that fall short after them are suppressed


class Raiser:
    """Raises classes until every shield of a policy holds.

    Parameters
    ----------
    policy
        Its shields that hold by themselves take no work.
    generalizers
        One for each quasi-identifier, which has met all classes of the window.
    fixed
        Nothing is raised: what falls short is suppressed.
    """

    def __init__(self, policy: Policy, generalizers: Sequence[Generalizer], *, fixed: bool = False) -> None:
        self._attributes = policy.quasi_identifiers
        self._generalizers = generalizers
        self._fixed = fixed
        names = [attribute.name for attribute in self._attributes]
        # Joining groups of many attributes never parts those of some of them.
        ordered = sorted(policy.open_shields, key=lambda shield: (-len(shield.attributes), -shield.k))
        self._shields = [(self._places(shield, names), shield.k) for shield in ordered]
        if self._shields:
            self._model = objective(self._attributes, policy.engine.loss, policy.engine.labels)

    @staticmethod
    def _places(shield: Shield, names: Sequence[str]) -> NDArray[np.int64]:
        return np.array(sorted(names.index(name) for name in shield.attributes), np.int64)

    def raised(
        self,
        individuals: NDArray[np.int32],
        class_of_row: NDArray[np.int32],
        generalized: GeneralizedClasses,
        united: NDArray[np.bool_],
    ) -> Raised:
        """Return the classes after RAISE; those that no raising helps are taken away.

        Parameters
        ----------
        individuals
            int32[n].
        class_of_row
            int32[n], negative for rows in no class.
        united
            bool[c], handed on.
        """
        found = Raised(class_of_row, generalized, united)
        turns = 0
        while self._shields and len(found.united):
            begun = found
            short = np.zeros(len(found.united), np.bool_)
            for places, k in self._shields:
                groups = _Groups(found, individuals, places)
                if turns < MOST_TURNS and not self._fixed:
                    found = self._joined(found, groups, k)
                if found is begun:
                    short |= groups.short(k)
            if found is begun:
                if not short.any():
                    return found
                found = _without(found, short)
            turns += 1
        return found

    def _joined(self, before: Raised, groups: _Groups, k: int) -> Raised:
        """Return the classes after joining the groups of one shield; the same object if none could be joined."""
        name = groups.joined(self._model, self._cells(groups), k)
        changed = np.flatnonzero(name != np.arange(len(name)))
        if not len(changed):
            return before
        union = name[groups.of_class]
        classes = np.flatnonzero(np.isin(union, name[changed]))
        bounds = groups.low, groups.high
        return published_alike(
            self._attributes, self._generalizers, before, classes, union[classes], groups.places, bounds
        )

    def _cells(self, groups: _Groups) -> NDArray[np.int64]:
        return cells_of([self._attributes[j] for j in groups.places.tolist()], groups.low, groups.high)


class _Groups:
    """The groups of one shield, in an order that does not depend on rows."""

    def __init__(self, found: Raised, individuals: NDArray[np.int32], places: NDArray[np.int64]) -> None:
        self.places = places
        generalized = found.generalized
        first, group = alike(generalized.labels[places])
        low, high = generalized.low[places][:, first], generalized.high[places][:, first]
        keys = [*low, *high]
        for j in places.tolist():
            sets = generalized.members[j]
            if sets is not None:  # sets of the same ends differ inside
                own = [sets[one] for one in first.tolist()]
                rank = {codes: number for number, codes in enumerate(sorted(set(own)))}
                keys.append(np.array([rank[codes] for codes in own]))
        order = np.lexsort(keys[::-1])
        rank_of = np.empty_like(order)
        rank_of[order] = np.arange(len(order))
        self.of_class = rank_of[group]
        self.low = np.ascontiguousarray(low[:, order].T)
        self.high = np.ascontiguousarray(high[:, order].T)
        of_row = np.where(found.class_of_row >= 0, self.of_class[found.class_of_row], -1)
        self.records = np.bincount(of_row[of_row >= 0], minlength=len(order))
        self._starts = np.empty(len(order) + 1, np.int64)
        self._people = people_of_groups(of_row, individuals, self._starts)

    def short(self, k: int) -> NDArray[np.bool_]:
        """Return for each class whether its group has fewer than k individuals."""
        below: NDArray[np.bool_] = (np.diff(self._starts) < k)[self.of_class]
        return below

    def joined(self, model: CostModel, cells: NDArray[np.int64], k: int) -> NDArray[np.int64]:
        """Return the first group of the union that each is in, and write the bounds of unions."""
        name, short = np.empty(len(self.records), np.int64), np.empty(len(self.records), np.bool_)
        join_groups(
            AlikeGroups(model, self.places, self.low, self.high, cells, self.records),
            self._starts,
            self._people,
            k,
            WIDTH,
            PATIENCE,
            name,
            short,
        )
        while not np.array_equal(name, name[name]):  # the name of a union that was joined itself
            name = name[name]
        return name


def _without(found: Raised, failing: NDArray[np.bool_]) -> Raised:
    left, generalized = without(failing, found.class_of_row, found.generalized)
    gone = int((found.class_of_row >= 0).sum() - (left >= 0).sum())
    return Raised(left, generalized, np.ones(int((~failing).sum()), np.bool_), found.gone + gone)
