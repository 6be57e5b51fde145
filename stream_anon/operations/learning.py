"""Learn an order for the forest from a sample file."""

from __future__ import annotations

import numpy as np

from stream_anon.clustering.forest.ordering.order_file import learned_from
from stream_anon.errors import InputError
from stream_anon.formats.tables.format_names import Format
from stream_anon.microdata.choices.engine_choice import LearnedOrder
from stream_anon.microdata.policy import Policy
from stream_anon.operations.samples import sample_of_file
from stream_anon.privacy.costs.objective import objective

MOST_LEARNED_FROM = 100_000


def learn_from_file(policy: Policy, sample: str, standard: Format) -> tuple[LearnedOrder, int]:
    """Return the order learned from the first records of a CSV or JSON Lines file, and their number.

    Parameters
    ----------
    policy
        Says what the records look like. A window's worth of them is learned from, 100,000 at the most.
    sample
        As in `FileJob`; `-` for standard input.
    standard
        The format of standard input.

    Raises
    ------
    InputError
        If the file cannot be read or has too few valid records.
    """
    most = min(policy.window.max_records, MOST_LEARNED_FROM)
    records, k = sample_of_file(policy, sample, standard, most, look_further=False).batch, policy.crowd
    if len(records) < 2 * k:
        raise InputError(f"{sample}: holds {len(records)} valid records; at least {2 * k} are needed to learn from")
    codes = np.ascontiguousarray(records.codes[:, :most])
    model = objective(policy.quasi_identifiers, policy.engine.loss, policy.engine.labels)
    return learned_from(codes, policy.quasi_identifiers, model, k, policy.engine.seed or 0), codes.shape[1]
