"""An attacker who replays the forest: he knows the policy, its order, and all rows but one value of his victim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.attacks.replaying import ReplayCase, WindowOfReplay
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

    def published(self, codes: NDArray[np.int32], model: CostModel) -> WindowOfReplay:
        """Return what the forest makes of rows by some costs."""
        n = codes.shape[1]
        rows = Columns(codes, np.arange(n, dtype=np.int32), np.empty((0, n), np.int32))
        forest = Forest(model, OrderBook(self.attributes, self.model, 0, self._order))
        forest.add(rows)
        owner = forest.close(rows, self._criteria)
        sizes = np.bincount(owner)
        found = generalize(self._generalizers, self.attributes, codes, owner, len(sizes))
        names = [tuple(one) for one in np.vstack([found.low, found.high, sizes[None]]).T.tolist()]
        return WindowOfReplay(Counter(names), tuple(names[c] for c in owner.tolist()))


@dataclass(frozen=True)
class Case(ReplayCase[CostModel]):
    """One victim of whom the forest is replayed with costs."""

    forests: Forests


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
            own = seen.of_row[row]
            low, high = own[place], min(own[len(codes) + place], size - 1)
            if low < high:
                yield Case(forests.published, codes, seen, row, place, np.arange(low, high + 1), forests), model
                break
