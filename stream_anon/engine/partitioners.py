"""Make the partitioner that a policy names."""

from __future__ import annotations

from stream_anon.clustering.mondrian import Mondrian
from stream_anon.clustering.protocol import Partitioner
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.cost import CostModel, cost_model


class Partitioners:
    """Makes an empty partitioner of the policy's engine for each window; the cost tables are built once."""

    def __init__(self, policy: Policy) -> None:
        self._model: CostModel = cost_model(policy.quasi_identifiers)

    def __call__(self) -> Partitioner:
        """Return an empty partitioner."""
        return Mondrian(self._model)
