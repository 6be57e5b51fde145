"""The moment of an overdue window: who knows when people came, and not what they have, asks what it waited for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.microdata.choices.window_limits import Shortfall
from stream_anon.microdata.policy import Policy
from tests.attacks.conftest import Measured
from tests.support.batches import batch_of, small_policy

WINDOWS, MOST_PEOPLE = 108, 400
DELAY, EVERY = 10.0, 3.0  # seconds: a window is overdue before k people came
RARE = 0.03


def _published(policy: Policy, ill: NDArray[np.int64], seed: int) -> tuple[int, float] | None:
    """Return how many people are in the first window that is published, and how old it is then."""
    draws = np.random.default_rng(seed)
    engine, first = Engine(policy, draws=draws), 0
    engine.open(0, 0)
    for person in range(MOST_PEOPLE):
        now = EVERY * person
        engine.add(batch_of(policy, 0, [person], people=[person], values=[ill[person]]), now)
        due = engine.deadline
        if due is None or due >= now + EVERY:
            continue
        window = engine.tick(due)
        assert window is not None
        if Closer(policy).release(window, draws).released:
            return person + 1 - first, due - EVERY * first
        first = person + 1
    return None


def test_the_moment_of_a_held_window_names_nobodys_value(measured: Measured) -> None:
    """Promised: a window waits for people, and never for what they have.

    The attacker speaks of a window of more than k people that was overdue: had it waited for people alone, it would
    have been published before. It must have waited for a second value, so the last person has the rarer one.
    """
    policy = small_policy(5, distinct_l=2, shortfall=Shortfall.HOLD, max_records=10_000)
    published = spoken = 0
    for seed in range(WINDOWS):
        ill = (np.random.default_rng(seed).random(MOST_PEOPLE) < RARE).astype(np.int64)
        found = _published(policy, ill, seed)
        if found is not None:
            published += 1
            people, age = found
            spoken += people > policy.k and age > DELAY + EVERY
    assert published > WINDOWS / 2, "else there is nothing to attack"
    assert not spoken
    measured(
        f"one person in {EVERY:g} s, k = 5, distinct_l = 2, `hold`, {100 * RARE:g} % have the rarer illness: of "
        f"{published} windows {spoken} tell by their moment what their last person has"
    )
