"""An attacker who searches for the draws of a window: costs evolve until replays put others where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from stream_anon.privacy.costs.model import CostModel
from tests.attacks.replaying import Case

FIRST = 30  # draws by chance before the first child
_PARENTS = 5
_SHARES = (0.02, 0.05, 0.15, 0.4)  # of a child's draws that are drawn anew; which of them is drawn too
_NEAR = 10.0  # years of age within which people tell most of each other's classes


class _Told:
    """Stands for a generator, with draws that somebody chose."""

    def __init__(self, chosen: NDArray[np.float64]) -> None:
        self._left = chosen

    def standard_normal(self, count: int) -> NDArray[np.float64]:
        """Return the next of the chosen draws."""
        told, self._left = self._left[:count], self._left[count:]
        return told


@dataclass(frozen=True)
class _Tried:
    """Draws, and how well their replay explains the window."""

    draws: NDArray[np.float64]
    fit: float


def evolved(case: Case, replays: int, draws: np.random.Generator) -> list[CostModel]:
    """Return the costs that explain best where everybody but the victim is, after so many replays.

    The attacker is told everybody's class. A child takes each draw from one of two of the best, and some anew. What
    the victim's value is does not matter yet: each replay takes one of those that the class allows.
    """
    forests = case.forests
    count = sum(1 + attribute.domain.size for attribute in forests.attributes)
    ages = case.codes[[attribute.name for attribute in forests.attributes].index("age")]
    weights = np.exp(-np.abs(ages - ages[case.row]) / _NEAR)
    weights[case.row] = 0

    def tried(chosen: NDArray[np.float64]) -> _Tried:
        found = case.replayed(int(draws.choice(case.values)), _costs(case, chosen))
        alike = [one == other for one, other in zip(found.of_row, case.seen.of_row, strict=True)]
        return _Tried(chosen, float(weights @ alike))

    best = [tried(draws.standard_normal(count)) for _ in range(FIRST)]
    for _ in range(replays - FIRST):
        best = sorted(best, key=lambda one: -one.fit)[:_PARENTS]
        mother, father = (best[int(draws.integers(_PARENTS))].draws for _ in range(2))
        child = np.where(draws.random(count) < 0.5, mother, father)
        fresh = draws.random(count) < draws.choice(_SHARES)
        child[fresh] = draws.standard_normal(int(fresh.sum()))
        best.append(tried(child))
    return [_costs(case, one.draws) for one in sorted(best, key=lambda one: -one.fit)[:_PARENTS]]


def _costs(case: Case, chosen: NDArray[np.float64]) -> CostModel:
    return case.forests.costs.draw(cast("np.random.Generator", _Told(chosen)))
