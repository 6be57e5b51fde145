"""Windows close by numbers of records and people, by times and draws, and by nothing that a record says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.engine.engine import Engine
from stream_anon.microdata.bounds import RecordBound
from stream_anon.microdata.choices.window_limits import AboveMost, Shortfall
from stream_anon.microdata.policy import Policy
from tests.support.batches import batch_of, small_policy

Arrival = tuple[float, int, int]  # seconds since the one before, person, what the person is like
LEAST = 0.25

arrivals = st.lists(st.tuples(st.sampled_from([LEAST, 1.0, 4.0, 30.0]), st.integers(0, 9), st.integers(0, 7)))


def moments(policy: Policy, arrived: list[Arrival], seed: int) -> list[tuple[float, int]]:
    """Return when windows close, and with how many records."""
    engine = Engine(policy, draws=np.random.default_rng(seed))
    engine.open(0, 0)
    now, found = 0.0, list[tuple[float, int]]()
    for offset, (wait, person, like) in enumerate(arrived):
        until = now + wait
        while now < until:
            now += LEAST
            window = engine.tick(now)
            found += [] if window is None else [(now, window.records)]
        batch = batch_of(policy, 0, [offset], people=[person], codes=[[like % 4, like % 2]], values=[like])
        found += [(now, window.records) for window in engine.add(batch, now)]
    return found


@given(
    arrived=arrivals,
    others=st.lists(st.integers(0, 7), min_size=1),
    distinct_l=st.sampled_from([None, 2, 4]),
    shortfall=st.sampled_from(Shortfall),
    above=st.sampled_from(AboveMost),
    seed=st.integers(0, 2**32 - 1),
)
def test_moments_are_the_same_whatever_people_are_like(
    arrived: list[Arrival],
    others: list[int],
    distinct_l: int | None,
    shortfall: Shortfall,
    above: AboveMost,
    seed: int,
) -> None:
    policy = small_policy(distinct_l=distinct_l, shortfall=shortfall, max_records=12)
    policy = replace(policy, max_suppressed=RecordBound(0.1), above_max_suppressed=above)
    changed = [(wait, who, others[place % len(others)]) for place, (wait, who, _) in enumerate(arrived)]
    assert moments(policy, arrived, seed) == moments(policy, changed, seed)
