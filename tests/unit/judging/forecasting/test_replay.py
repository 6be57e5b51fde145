"""Records put through the engine by a clock of their own close windows when a service would close them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.engine.engine import Engine
from stream_anon.judging.forecasting.replay import replayed
from stream_anon.microdata.policy import Policy
from tests.support.batches import batch_of, small_policy


def _closed(policy: Policy, times: NDArray[np.float64], people: list[int] | None = None) -> list[tuple[int, float]]:
    """Return records and closing time of each window."""
    batch = batch_of(policy, 0, range(len(times)), people=people)
    engine = Engine(policy, draws=np.random.default_rng(3))
    engine.open(0, 0)
    found = [(window.records, closed) for window, closed in replayed(engine, batch, times)]
    engine.check_invariants()
    return found


def test_a_full_window_closes_when_its_last_record_arrives() -> None:
    policy = small_policy(2, max_records=10, max_delay=100.0)
    assert _closed(policy, np.arange(35) / 2) == [(10, 4.5), (10, 9.5), (10, 14.5)]


@pytest.mark.parametrize("rate", [3.0, 200.0, 5_000.0])
def test_a_window_that_is_due_closes_at_its_deadline_and_not_at_the_next_record(rate: float) -> None:
    #   0 ............ deadline, 0.9 to 1.0 s ... next record opens the next window
    policy = small_policy(2, max_records=100_000, max_delay=1.0)
    times = np.arange(int(4 * rate)) / rate
    closed = _closed(policy, times)
    begun, first = 0.0, 0
    assert len(closed) >= 3
    for records, at in closed:
        assert begun + 0.9 <= at <= begun + 1.0
        assert records == np.searchsorted(times, at) - first
        first += records
        begun = float(times[first])


def test_a_gap_in_the_input_closes_the_window_before_it() -> None:
    policy = small_policy(2, max_records=100, max_delay=1.0)
    ((records, at),) = _closed(policy, np.array([0.0, 0.1, 0.2, 50.0, 50.1]))
    assert records == 3
    assert 0.9 <= at <= 1.0


def test_records_beyond_a_persons_limit_fill_no_window() -> None:
    policy = small_policy(2, max_records=5, max_delay=1_000.0, max_records_per_individual=1)
    people = [0, 0, 0, 1, 1, 2, 3, 4, 5, 6]
    assert _closed(policy, np.arange(10.0), people) == [(5, 7.0)]
