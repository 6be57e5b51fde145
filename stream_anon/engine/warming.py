"""Warm up: compile every kernel that a policy's windows will call, before the first record waits for it."""

from __future__ import annotations

import numpy as np

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.policy import Policy


def warm_up(policy: Policy) -> None:
    """Put a window of made-up codes through an engine of its own and throw it away."""
    draws = np.random.default_rng(0)
    count = min(policy.window.max_records, 4 * policy.k)
    people = np.arange(count, dtype=np.int64)
    codes = [draws.integers(0, attribute.size, count, np.int32) for attribute in policy.quasi_identifiers]
    keys = [draws.permutation(people) for _ in policy.diverse]
    batch = CodedBatch(
        np.array(codes, np.int32),
        np.array(keys, np.int64).reshape(len(keys), count),
        people,
        np.zeros(count, np.int32),
        people.copy(),
        [None] * count,
        Rejects.of([]),
    )
    engine = Engine(policy, draws=draws)
    engine.open(0, 0)
    sealed = engine.add(batch, 0.0)
    rest = engine.seal(0.0)
    closer = Closer(policy)
    for window in [*sealed, *([rest] if rest else [])]:
        closer.release(window, draws)
