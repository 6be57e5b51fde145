"""Make the partitioner that a policy names."""

from __future__ import annotations

import numpy as np

from stream_anon.clustering.mondrian import Mondrian
from stream_anon.clustering.protocol import Partitioner
from stream_anon.microdata.policy import Policy


def new_partitioner(policy: Policy) -> Partitioner:
    """Return an empty partitioner of the policy's engine."""
    attributes = policy.quasi_identifiers
    sizes = np.array([attribute.size for attribute in attributes], np.int64)
    weights = np.array([attribute.weight for attribute in attributes], np.float64)
    return Mondrian(sizes, weights)
