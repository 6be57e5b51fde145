"""Publication time on a quiet topic: a window with few people shows when they came, up to its age limit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.engine import Engine
from stream_anon.microdata.choices.window_limits import Shortfall, WindowLimits
from tests.attacks.conftest import Measured
from tests.attacks.outside import read_output
from tests.support.batches import batch_of, small_policy
from tests.support.driver import Driver, people

DELAY, WINDOWS = 10.0, 80


async def _waits() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return for lone windows the time from arrival to what a live reader sees, and to the timestamp it carries."""
    seen, stamped = [], []
    async with Driver(window={"max_delay": DELAY}) as driver:
        for number in range(WINDOWS):
            driver.clock.advance(0.137)
            driver.send(people(4, 4 * number))
            await driver.settle(3)
            arrived = driver.clock.wall()
            due = driver.worker._engine.deadline
            assert due is not None
            driver.clock.advance(due - driver.clock.monotonic())
            await driver.settle(3)
            records = read_output(driver.broker)
            assert len(records) == 4 * (number + 1), "it is published as soon as it is due"
            seen.append(driver.clock.wall() - arrived)
            stamped.append(records[-1].time / 1000 - arrived)
    return np.array(seen), np.array(stamped)


async def test_publication_does_not_tell_the_moment_of_arrival(measured: Measured) -> None:
    """Promised: the age limit of each window is drawn between 0.9 and 1 times `max_delay`.

    80 uniform draws lie within 0.7 of their range with a probability of 80 * 0.7 ** 79 = 5e-11. Measured is how
    well arrival can be guessed: a tenth of `max_delay` is all that hides it.
    """
    seen, stamped = await _waits()
    assert seen.min() >= 0.9 * DELAY - 1e-6
    assert seen.max() <= DELAY + 1e-6
    assert np.ptp(seen) > 0.7 * 0.1 * DELAY, "publication minus a constant tells the arrival"
    assert abs(np.corrcoef(seen[:-1], seen[1:])[0, 1]) < 6 / np.sqrt(WINDOWS - 1), "one limit tells the next one"
    live = np.abs(seen - 0.95 * DELAY).mean() / DELAY
    later = np.abs(stamped - 0.95 * DELAY + 0.5).mean()
    measured(
        f"max_delay = 10 s, lone windows: who watches the topic live guesses an arrival to {100 * live:.1f} % of "
        f"max_delay on average, who reads timestamps later to {later:.2f} s; of somebody who came {WINDOWS} times "
        f"at the same time of day the minute is known to {DELAY - seen.max():.2f} s"
    )


def test_a_full_window_tells_when_its_last_record_came(measured: Measured) -> None:
    """Not promised: a window that is full is published at once, so that its last record has just arrived.

    It is one of `max_records` records and may be anybody's.
    """
    engine = Engine(small_policy(), draws=np.random.default_rng(0))
    engine.open(0, 0)
    assert not engine.add(batch_of(small_policy(), 0, range(19)), 1.0)
    (window,) = engine.add(batch_of(small_policy(), 0, [19]), 3.25)
    measured(f"a full window closes {window.closed_at - 3.25:g} s after its last record came, whoever's that is")


def test_a_held_window_does_not_tell_the_moment_that_made_it_k(measured: Measured) -> None:
    """Promised: with `shortfall: hold`, an overdue window closes some drawn time after it holds k people.

    Up to a tenth of `max_delay`, as with all windows: else publication would be the arrival of the last of the k.
    Draws are seeded; 40 uniform ones lie within 0.6 of their range with a probability of 40 * 0.6 ** 39 = 9e-8.
    """
    policy = small_policy(shortfall=Shortfall.HOLD)
    assert policy.window == WindowLimits(20, DELAY, Shortfall.HOLD)
    waits = []
    for seed in range(40):
        engine = Engine(policy, draws=np.random.default_rng(seed))
        engine.open(0, 0)
        engine.add(batch_of(policy, 0, [0, 1]), 0.0)
        assert engine.tick(40.0) is None
        came = 40.0 + seed
        engine.add(batch_of(policy, 0, [2], people=[2]), came)
        due = engine.deadline
        assert due is not None
        assert engine.tick(due - 1e-6) is None
        assert engine.tick(due) is not None
        waits.append(due - came)
    assert min(waits) >= 0
    assert max(waits) <= 0.1 * DELAY
    assert np.ptp(waits) > 0.6 * 0.1 * DELAY
    measured(
        f"`hold`, max_delay = 10 s, an overdue window: published {np.mean(waits):.2f} s on average (at most "
        f"{max(waits):.2f} s) after the record came that made it k people"
    )
