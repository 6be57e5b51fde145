"""Warm up: compile every kernel that a policy's windows will call, before the first record waits for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.policy import EVERY_RECORD, Policy


def warm_up(policy: Policy) -> None:
    """Put windows of made-up codes through an engine of its own and throw them away.

    Two windows of people who come once, one of them prepared before its end; another of people who return, where
    the policy can tell: engines have kernels of their own for these, and the first real window must not wait for a
    compiler.
    """
    draws = np.random.default_rng(0)
    count = min(policy.window.max_records, 8 * policy.k)
    crowds = [np.arange(count, dtype=np.int64)] * 2
    if policy.individual != EVERY_RECORD:
        # Half of the records are a few people's, so that some classes do not come out legal at first.
        often = draws.integers(0, policy.k, count)
        crowds.append(np.where(draws.random(count) < 0.5, often, crowds[0] + policy.k))
    engine, closer = Engine(policy, draws=draws), Closer(policy)
    engine.open(0, 0)
    now = 0.0
    for turn, people in enumerate(crowds):
        batch, rows = _made_up(policy, people, turn * count, draws), np.arange(count)
        sealed = engine.add(batch.take(rows[:-2]), now)
        deadline = engine.deadline
        if deadline is not None:
            # Near the end of its age: one more record, then what is due is prepared, and one that comes too late.
            now += 0.98 * (deadline - now)
            sealed += engine.add(batch.take(rows[-2:-1]), now)
            now += 0.5 * (deadline - now)
            while (work := engine.preparation(now)) is not None:
                work()
        sealed += engine.add(batch.take(rows[-1:]), now)
        rest = engine.seal(now)
        for window in [*sealed, *([rest] if rest else [])]:
            closer.release(window, draws)


def _made_up(policy: Policy, people: NDArray[np.int64], first: int, draws: np.random.Generator) -> CodedBatch:
    count = len(people)
    codes = [draws.integers(0, attribute.size, count, np.int32) for attribute in policy.quasi_identifiers]
    keys = [draws.integers(0, 4 * policy.k, count) for _ in policy.diverse]
    return CodedBatch(
        np.array(codes, np.int32),
        np.array(keys, np.int64).reshape(len(keys), count),
        people,
        np.zeros(count, np.int32),
        np.arange(first, first + count, dtype=np.int64),
        [(None,) * len(policy.passed)] * count,
        Rejects.of([]),
    )
