"""Gate the classes of a window: count all of them again, take away what fails, until all that is left holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.uniting.unions import Raised
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.criteria import ClassCounts, Criteria
from stream_anon.privacy.gate import violating_classes
from stream_anon.privacy.generalization import GeneralizedClasses
from stream_anon.privacy.level_limits import LevelLimits
from stream_anon.privacy.population.presence_check import PresenceCheck
from stream_anon.privacy.shields import ShieldCheck


@dataclass(frozen=True, slots=True, eq=False)
class GatedClasses:
    """What the gate left: classes, their counts, each shield's least individuals, the largest presence.

    Parameters
    ----------
    violations
        Classes that were at fault.
    bare
        Rows that a shield did not hold for any more once others were gone.
    crowding
        Rows of classes with too many of those who fit them.
    """

    class_of_row: NDArray[np.int32]
    generalized: GeneralizedClasses
    counts: ClassCounts
    shields: tuple[int, ...]
    presence: float | None
    violations: int
    bare: int
    crowding: int


class WindowGate:
    """Asks of the classes of windows all that one policy asks.

    Parameters
    ----------
    limits, presence
        Of the policy.
    """

    def __init__(self, policy: Policy, limits: LevelLimits, presence: PresenceCheck) -> None:
        self._policy = policy
        self._criteria = Criteria.of(policy)
        self._limits = limits
        self._shields = ShieldCheck(policy)
        self._presence = presence

    def gated(self, rows: Columns, classes: Raised) -> GatedClasses:
        """Return what may be published of the classes of a window.

        Parameters
        ----------
        rows
            All rows of the window.
        classes
            Which of them would be published alike, and how.
        """
        violations, bare, crowding = 0, 0, 0
        # A violation is a bug of the partitioner's. That a union fails where frequencies are asked for is none:
        # people with several values may upset it. Nor is it one that the rest fails once some rows are gone.
        by_frequency = any(asked.asks for asked in self._criteria.asked) or any(self._criteria.lists)
        fewer = False
        while True:
            class_of_row, generalized = classes.class_of_row, classes.generalized
            excused = classes.united & by_frequency
            placed = np.flatnonzero(class_of_row >= 0)
            part = rows if len(placed) == len(rows) else rows.take(placed)
            own = class_of_row[placed].astype(np.int64)
            failing, counts = violating_classes(part, own, generalized, self._criteria)
            failing |= self._limits.too_fine(generalized)
            if self._policy.shields or self._policy.presence:  # what lay too high before RAISE is gone
                failing |= self._limits.too_coarse(generalized, part.codes, class_of_row[placed])
            below, shields = self._shields.below(part.individuals, own, generalized)
            if not failing.any() and fewer:
                failing, excused = below, below
                bare += int(below[own].sum())
            failing |= below & (not fewer)
            # No violation either: no partitioner knows of the population.
            crowded, presence = self._presence.failing(counts.individuals, generalized)
            crowding += int((crowded & ~failing)[own].sum())
            if not (failing | crowded).any():
                return GatedClasses(
                    class_of_row, generalized, counts, shields, presence, violations, bare, crowding
                )
            violations += int((failing & ~excused).sum())
            classes, fewer = classes.without(failing | crowded), True
