"""Learn an order for the forest from a sample file."""

from __future__ import annotations

from contextlib import closing

import numpy as np

from stream_anon.clustering.forest.ordering.order_file import learned_from
from stream_anon.errors import InputError
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.tables.format_names import Format
from stream_anon.formats.tables.record_files import open_reader
from stream_anon.microdata.choices.engine_choice import LearnedOrder
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.costs.objective import objective

MOST_LEARNED_FROM = 100_000


def learn_from_file(policy: Policy, sample: str, standard: Format = Format.JSONL) -> tuple[LearnedOrder, int]:
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
    parts, count = [], 0
    with closing(open_reader(sample, policy, codec_of(policy).decode, standard)) as reader:
        for batch in reader:
            parts.append(batch.codes)
            count += len(batch)
            if count >= most:
                break
    k = policy.crowd
    if count < 2 * k:
        raise InputError(
            f"{sample}: holds {count} valid records; at least {2 * policy.crowd} are needed to learn from"
        )
    codes = np.ascontiguousarray(np.concatenate(parts, axis=1)[:, :most])
    model = objective(policy.quasi_identifiers, policy.engine.loss, policy.engine.labels)
    return learned_from(codes, policy.quasi_identifiers, model, k, policy.engine.seed or 0), codes.shape[1]
