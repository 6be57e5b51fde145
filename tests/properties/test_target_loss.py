"""Windows of the engine itself, on real and made-up tables, reach a target of loss within five and keep it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.tables import Table, adult, made_up, taxi
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.part_losses import PartLosses, loss_of
from stream_anon.judging.forecasting.replay import replayed
from stream_anon.microdata.attributes import Identifier
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.policy import Policy
from stream_anon.windowing.target_size import TargetSize
from tests.support.data import DATA, shared_data

K = 5


@dataclass(frozen=True)
class Closed:
    """A window: its records, loss, and seconds from its first record to its close."""

    records: int
    loss: float
    age: float
    needed: int | None


def run(table: Table, times: NDArray[np.float64], limits: WindowLimits) -> Iterator[Closed]:
    """Send the rows of a table again and again at these times; yield the windows that a service would publish."""
    policy = Policy((Identifier("id"), *table.attributes), K, "id", window=limits)
    n = len(times)
    rows = np.arange(n) % len(table.rows)
    batch = CodedBatch(
        np.ascontiguousarray(table.rows.codes[:, rows]),
        np.empty((0, n), np.int64),
        np.arange(n, dtype=np.int64) * 2_654_435_761,
        np.zeros(n, np.int32),
        np.arange(n, dtype=np.int64),
        [()] * n,
        Rejects.of([]),
    )
    draws = np.random.default_rng(1)
    size = TargetSize.of(limits, K)
    assert size is not None
    engine = Engine(policy, draws=draws, size=lambda: size.in_use)
    engine.open(0, 0)
    closer, parts = Closer(policy), PartLosses(policy, draws)
    for window, closed in replayed(engine, batch, times):
        release = closer.release(window, draws)
        lost = loss_of(release)
        assert lost is not None
        size.published(lost)
        size.learn(parts.of(window, release, size.least))
        yield Closed(window.records, lost.loss, closed - window.opened_at, size.needed)


def _adult() -> Table:
    shared_data("arx-adult")
    return adult(DATA)


def _taxi() -> Table:
    shared_data("nyc-taxi")
    return taxi(DATA)


@pytest.mark.parametrize(
    ("table", "target", "most", "count"),
    [(_adult, 0.25, 4_000, 16_000), (_taxi, 0.35, 2_500, 9_000), (lambda: made_up(10_000, 5), 0.33, 4_000, 14_000)],
    ids=["adult", "taxi", "made-up"],
)
def test_within_five_windows_the_loss_is_at_its_target(
    table: Callable[[], Table], target: float, most: int, count: int
) -> None:
    limits = WindowLimits(most, 60.0, target_loss=target)
    found = list(run(table(), np.arange(count) / 100.0, limits))
    later = found[4:]
    assert len(later) >= 3
    assert all(window.age <= 60.0 for window in found)
    assert np.mean([window.loss for window in later]) == pytest.approx(target, rel=0.12)
    assert max(window.records for window in later) < 0.8 * most, "the target was reached before the delay"


def test_a_rate_that_falls_tenfold_is_followed_by_smaller_windows_in_time_and_by_the_target_when_it_rises() -> None:
    times = np.concatenate([np.arange(9_000) / 1_000, 9 + np.arange(1_500) / 50, 39 + np.arange(8_000) / 1_000])
    limits = WindowLimits(10_000, 4.0, target_loss=0.33)
    found = list(run(made_up(10_000, 5), times, limits))
    opened = np.cumsum([0, *(window.records for window in found)])[:-1]
    fast = [window for window, first in zip(found, opened, strict=True) if first < 9_000][4:]
    slow = [window for window, first in zip(found, opened, strict=True) if 9_100 < first < 10_300]
    again = [window for window, first in zip(found, opened, strict=True) if first > 10_500][2:]
    assert all(window.age <= 4.0 for window in found)
    assert np.mean([window.loss for window in fast]) == pytest.approx(0.33, rel=0.12)
    assert all(window.records <= 200 for window in slow)
    assert all(window.needed is not None and window.needed > window.records for window in slow)
    assert np.mean([window.loss for window in again]) == pytest.approx(0.33, rel=0.12)
