"""Halves and quarters of a window lose what windows of their size lose, and leave it as it is."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.part_losses import PartLosses, loss_of
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import SUPPRESSED, Release
from tests.support.batches import batch_of, small_policy

COUNT = 2_000


def _window(
    policy: Policy, seed: int = 1, people: list[int] | None = None, *, in_order: bool = False
) -> SealedWindow:
    draws = np.random.default_rng(seed)
    codes = np.stack([draws.integers(0, 16, COUNT), draws.integers(0, 6, COUNT)], axis=1)
    if in_order:
        codes = codes[np.lexsort(codes.T)]
    engine = Engine(policy, draws=draws)
    engine.open(0, 0)
    values = draws.integers(0, 4, COUNT).tolist()
    batch = batch_of(policy, 0, range(COUNT), codes=codes.tolist(), values=values, people=people)
    assert not engine.add(batch, 1.0)
    window = engine.seal(2.0)
    assert window is not None
    return window


def _closed(window: SealedWindow, seed: int = 0) -> tuple[SealedWindow, Release]:
    return window, Closer(window.policy).release(window, np.random.default_rng(seed))


@pytest.mark.parametrize("distinct_l", [None, 2])
def test_a_half_and_a_quarter_lose_what_windows_of_their_size_lose(distinct_l: int | None) -> None:
    policy = small_policy(40, distinct_l=distinct_l, max_records=5_000)
    parts = PartLosses(policy, np.random.default_rng(3))
    half, quarter = parts.of(*_closed(_window(policy)), 10)
    assert (half.records, quarter.records) == (COUNT // 2, COUNT // 4)
    whole = loss_of(_closed(_window(policy))[1])
    assert whole is not None
    assert whole.loss < half.loss < quarter.loss < 1
    smaller = Engine(small_policy(40, max_records=COUNT // 2), draws=np.random.default_rng(0))
    assert smaller.space == half.records


def test_parts_below_the_least_size_are_not_closed() -> None:
    policy = small_policy(3, max_records=5_000)
    parts = PartLosses(policy, np.random.default_rng(3))
    closed = _closed(_window(policy))
    assert [len(parts.of(*closed, least)) for least in (COUNT // 4, COUNT // 4 + 1, COUNT // 2 + 1)] == [2, 1, 0]


def test_the_order_of_arrival_has_no_part_in_what_parts_lose() -> None:
    """Neighbours of a sorted window are more alike than its rows are."""
    policy = small_policy(40, max_records=5_000)
    losses = []
    for in_order in (False, True):
        closed = _closed(_window(policy, in_order=in_order))
        found = [PartLosses(policy, np.random.default_rng(seed)).of(*closed, 10) for seed in range(8)]
        losses.append(np.mean([[part.loss for part in parts] for parts in found], axis=0))
    assert losses[0] == pytest.approx(losses[1], rel=0.05)


def test_no_row_of_a_part_was_suppressed(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = small_policy(3, max_records=5_000)
    window, release = _closed(_window(policy))
    gone = window.columns.codes[0] == 0
    release = replace(release, class_of_row=np.where(gone, SUPPRESSED, release.class_of_row).astype(np.int32))
    seen: list[SealedWindow] = []
    parts = PartLosses(policy, np.random.default_rng(3))
    known = parts._closer.release

    def noted(part: SealedWindow, draws: np.random.Generator) -> Release:
        seen.append(part)
        return known(part, draws)

    monkeypatch.setattr(parts._closer, "release", noted)
    parts.of(window, release, 10)
    assert [part.records for part in seen] == [(COUNT - gone.sum()) // 2, (COUNT - gone.sum()) // 4]
    assert all((part.columns.codes[0] > 0).all() for part in seen)


def test_a_window_is_released_alike_whether_its_parts_were_closed_before() -> None:
    policy = small_policy(5, distinct_l=2, max_records=5_000)
    studied, plain = _window(policy), _window(policy)
    _, known = _closed(_window(policy))
    PartLosses(policy, np.random.default_rng(3)).of(studied, known, 10)
    one, other = (Closer(policy).release(window, np.random.default_rng(7)) for window in (studied, plain))
    assert (one.class_of_row == other.class_of_row).all()
    assert (one.order == other.order).all()
    assert one.gcp == other.gcp


def test_a_person_with_records_in_several_places_counts_once_in_a_part() -> None:
    policy = small_policy(3, max_records=5_000, max_records_per_individual=COUNT)
    pair = list(itertools.islice(itertools.cycle([7, 9]), COUNT))
    _, known = _closed(_window(policy))
    parts = PartLosses(policy, np.random.default_rng(3)).of(_window(policy, people=pair), known, 10)
    assert parts == (), "two people are no class of three"
