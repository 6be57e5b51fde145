"""An attacker who replays the forest: he knows the policy, its order, and all rows but one value of his victim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.forest import Forest
from stream_anon.clustering.forest.ordering.current_order import OrderBook
from stream_anon.clustering.forest.ordering.order_file import learned_from, order_of
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.costs.cost import cost_model
from stream_anon.privacy.costs.drawn_costs import DrawnCosts
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.criteria import Criteria
from stream_anon.privacy.generalization import Generalizer, generalize
from tests.attacks.town import Person

Tuple = tuple[int, ...]


@dataclass(frozen=True)
class Published:
    """The classes of a window: how often each pair of published tuple and size occurs, and each person's class."""

    classes: Counter[Tuple]
    of_row: tuple[Tuple, ...]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    class_of_row: NDArray[np.int32]

    def likeness(self, other: Published) -> float:
        """Return the share of the classes that the other one has too."""
        return (self.classes & other.classes).total() / self.classes.total()


class Forests:
    """Makes the classes of a window again and again, with an order that everybody knows."""

    def __init__(self, policy: Policy, learned: Sequence[Person]) -> None:
        self._policy = policy
        self.attributes = policy.quasi_identifiers
        self.model = cost_model(self.attributes)
        self.costs = DrawnCosts(self.model)
        self._criteria = Criteria.of(policy)
        self._generalizers = [Generalizer(attribute) for attribute in self.attributes]
        order = learned_from(self.codes(learned), self.attributes, self.model, policy.k, 0)
        self._order = order_of(order, self.attributes)

    def codes(self, people: Sequence[Person]) -> NDArray[np.int32]:
        """Return the quasi-identifiers of people as codes int32[q, n]."""
        return np.array([[a.code(person[a.name]) for person in people] for a in self.attributes], np.int32)

    def published(self, codes: NDArray[np.int32], model: CostModel) -> Published:
        """Return what the forest makes of rows by some costs."""
        n = codes.shape[1]
        rows = Columns(codes, np.arange(n, dtype=np.int32), np.empty((0, n), np.int32))
        forest = Forest(model, OrderBook(self.attributes, self.model, 0, self._order))
        forest.add(rows)
        owner = forest.close(rows, self._criteria)
        sizes = np.bincount(owner)
        found = generalize(self._generalizers, self.attributes, codes, owner, len(sizes))
        names = [tuple(one) for one in np.vstack([found.low, found.high, sizes[None]]).T.tolist()]
        return Published(Counter(names), tuple(names[c] for c in owner.tolist()), found.low, found.high, owner)


@dataclass(frozen=True)
class Case:
    """One victim: what was published, and the values that are possible by the class alone."""

    forests: Forests
    codes: NDArray[np.int32]
    seen: Published
    row: int
    attribute: int
    values: NDArray[np.int64]

    @property
    def chance(self) -> float:
        """Return how often a guess is right that takes any value that the victim's class allows."""
        return 1 / len(self.values)

    def guessed(self, models: Sequence[CostModel]) -> float:
        """Return the chance that the value is right for which replays with these costs come nearest.

        A value's likelihood is how often the replays put the victim into a class as the one that was published;
        where that is equal, how many of the window's classes they find.
        """
        scores = np.array([self._score(value, models) for value in self.values.tolist()])
        best = scores >= scores.max() - 1e-9
        return float((best & (self.values == self.codes[self.attribute, self.row])).sum() / best.sum())

    def _score(self, value: int, models: Sequence[CostModel]) -> float:
        tried = [self.replayed(value, model) for model in models]
        hits = [one.of_row[self.row] == self.seen.of_row[self.row] for one in tried]
        return float(np.mean(hits) + 1e-3 * np.mean([self.seen.likeness(one) for one in tried]))

    def replayed(self, value: int, model: CostModel) -> Published:
        """Return what would have been published if the victim had this value."""
        codes = self.codes.copy()
        codes[self.attribute, self.row] = value
        return self.forests.published(codes, model)


def cases(
    forests: Forests,
    people: Sequence[Person],
    attribute: str,
    draws: np.random.Generator,
    models: Sequence[CostModel],
) -> Iterator[tuple[Case, CostModel]]:
    """Yield a victim for each model of costs, whose class leaves several values possible, with that model."""
    codes = forests.codes(people)
    place = [a.name for a in forests.attributes].index(attribute)
    size = forests.attributes[place].domain.size
    for model in models:
        seen = forests.published(codes, model)
        for row in draws.permutation(len(people)).tolist():
            own = int(seen.class_of_row[row])
            low, high = int(seen.low[place, own]), min(int(seen.high[place, own]), size - 1)
            if low < high:
                yield Case(forests, codes, seen, row, place, np.arange(low, high + 1)), model
                break
