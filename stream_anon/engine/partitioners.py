"""Make the partitioner that a policy names."""

from __future__ import annotations

from collections.abc import Callable

from stream_anon.clustering.forest.book import OrderBook
from stream_anon.clustering.forest.forest import Forest
from stream_anon.clustering.mondrian import Mondrian
from stream_anon.clustering.protocol import Partitioner
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.cost import cost_model


def partitioners(policy: Policy) -> Callable[[], Partitioner]:
    """Return what makes an empty partitioner of the policy's engine for each window.

    Cost tables are built once; what an engine learns from one window serves those after it.
    """
    model = cost_model(policy.quasi_identifiers)
    if policy.engine.name == "mondrian":
        return lambda: Mondrian(model)
    book = OrderBook(policy.quasi_identifiers, model, policy.engine.seed)
    return lambda: Forest(model, book)
