"""Look whether every shield of a policy holds for what would be published.

Part of the gate: it groups the rows by what would be published of a shield's attributes, whoever chose it, and
counts the individuals of each group again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.policy import Policy
from stream_anon.privacy.gate import people_of
from stream_anon.privacy.generalization import GeneralizedClasses, alike


class ShieldCheck:
    """The shields of a policy, each as places of quasi-identifiers and a least number of individuals."""

    def __init__(self, policy: Policy) -> None:
        places = {attribute.name: place for place, attribute in enumerate(policy.quasi_identifiers)}
        self._shields = [
            (np.array([places[name] for name in shield.attributes], np.int64), shield.k)
            for shield in policy.shields
        ]

    def below(
        self, individuals: NDArray[np.int32], class_of_row: NDArray[np.int64], generalized: GeneralizedClasses
    ) -> tuple[NDArray[np.bool_], tuple[int, ...]]:
        """Return for each class whether a shield does not hold for it, and each shield's least individuals; O(n).

        Parameters
        ----------
        individuals
            int32[n], of the rows about to be published.
        class_of_row
            int64[n].
        generalized
            What would be published of each of the c classes; none are of no group, and leave nothing to tell.
        """
        failing = np.zeros(generalized.low.shape[1], np.bool_)
        if not len(failing):
            return failing, ()
        least = []
        for places, k in self._shields:
            first, group_of_class = alike(generalized.labels[places])
            people, _ = people_of(group_of_class[class_of_row], len(first), individuals)
            failing |= (people < k)[group_of_class]
            least.append(int(people.min()))
        return failing, tuple(least)
