"""The size that a target of loss asks for: found within five windows, steady, and within its bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.windowing.loss_law import WindowLoss
from stream_anon.windowing.target_size import TargetSize

Loss = Callable[[float], float]
CENSUS = np.array([[333, 0.379], [1e3, 0.287], [3333, 0.206], [1e4, 0.146], [33_333, 0.096], [1e5, 0.064]])


def census(records: float) -> float:
    """Return the loss that the census had at some sizes, between which it is no power law."""
    sizes, losses = np.log(CENSUS).T
    slope = (losses[-1] - losses[-2]) / (sizes[-1] - sizes[-2])
    beyond = losses[-1] + slope * (np.log(records) - sizes[-1])
    return float(np.exp(beyond if records > CENSUS[-1, 0] else np.interp(np.log(records), sizes, losses)))


def used(size: TargetSize, loss: Loss, most: int, windows: int, *, study: bool = True) -> Iterator[int]:
    """Publish windows as large as the size in use, or as `most` that come in time; yield the size of each."""
    for _ in range(windows):
        records = min(size.in_use, most)
        yield records
        size.published(WindowLoss(records, loss(records)))
        if study:
            size.learn(WindowLoss(records // part, loss(records // part)) for part in (2, 4))


@pytest.mark.parametrize("study", [True, False])
@pytest.mark.parametrize("target", [0.07, 0.10, 0.15, 0.25])
@pytest.mark.parametrize("most", [1_000_000, 100_000])
def test_within_five_windows_the_loss_is_at_its_target_and_no_more_than_an_eighth_below(
    most: int, target: float, study: bool
) -> None:
    size = TargetSize(target, 100, most)
    *_, last = used(size, census, most, 6, study=study)
    assert 0.88 * target <= census(last) <= 1.02 * target


def test_a_drift_is_followed_within_five_windows() -> None:
    size = TargetSize(0.10, 100, 1_000_000)
    before = list(used(size, census, 1_000_000, 12))[-1]
    after = list(used(size, lambda n: 1.4 * census(n), 1_000_000, 6))[-1]
    assert after > 1.5 * before
    assert 1.4 * census(after) == pytest.approx(0.10, rel=0.12)
    back = list(used(size, census, 1_000_000, 6))[-1]
    assert census(back) == pytest.approx(0.10, rel=0.12)


def test_a_rate_that_falls_tenfold_changes_what_comes_and_not_what_is_needed() -> None:
    size = TargetSize(0.10, 100, 1_000_000)
    list(used(size, census, 60_000, 6))
    before = size.in_use
    assert list(used(size, census, 6_000, 20)) == [6_000] * 20
    assert size.needed is not None
    assert size.needed > 6_000, "the target is out of reach, and that is said"
    assert census(list(used(size, census, 60_000, 6))[-1]) == pytest.approx(0.10, rel=0.12)
    assert size.in_use == pytest.approx(before, rel=0.15)


def test_noise_does_not_move_the_size_to_and_fro() -> None:
    draws = np.random.default_rng(5)
    size = TargetSize(0.10, 100, 1_000_000)
    sizes = list(used(size, lambda n: census(n) * draws.normal(1.0, 0.01), 1_000_000, 60))
    assert sum(a != b for a, b in pairwise(sizes[6:])) <= 3


def test_a_law_is_not_trusted_below_a_tenth_of_what_was_seen() -> None:
    size = TargetSize(0.5, 100, 1_000_000)
    sizes = list(used(size, census, 1_000_000, 4, study=False))
    assert sizes == [1_000_000, 100_000, 10_000, 1_000]


def test_a_size_never_tells_exactly_how_many_records_a_window_had() -> None:
    sizes = set()
    for records in range(1_000, 10_000, 7):
        size = TargetSize(0.5, 10, 1_000_000)
        size.published(WindowLoss(records, 0.05))
        assert size.in_use * 10 >= records
        sizes.add(size.in_use)
    assert sizes <= {math.ceil(10 ** (step / 20) - 1e-9) for step in range(40, 61)}


def test_before_a_window_was_published_windows_are_as_large_as_they_may_be() -> None:
    size = TargetSize(0.10, 100, 5_000)
    assert (size.in_use, size.needed) == (5_000, None)
    size.learn([])
    assert (size.in_use, size.needed) == (5_000, None)


def test_windows_that_lose_everything_ask_for_far_larger_ones() -> None:
    size = TargetSize(0.10, 100, 5_000)
    for _ in range(10):
        size.published(WindowLoss(5, 1.0))
    assert size.in_use > 3_000


def test_windows_that_lose_nothing_are_no_smaller_than_the_least() -> None:
    size = TargetSize(0.10, 100, 5_000)
    for _ in range(10):
        size.published(WindowLoss(size.in_use, 0.0))
    assert size.in_use == 100


@pytest.mark.parametrize(
    ("limits", "least"),
    [
        (WindowLimits(5_000, target_loss=0.1), 30),
        (WindowLimits(20, target_loss=0.1), 20),
    ],
)
def test_the_least_size_holds_several_classes_or_is_the_largest(limits: WindowLimits, least: int) -> None:
    size = TargetSize.of(limits, people=3)
    assert size is not None
    assert size.least == least
    assert TargetSize.of(WindowLimits(5_000), people=3) is None


@given(
    st.floats(0.01, 0.9),
    st.lists(st.builds(WindowLoss, st.integers(0, 10**7), st.floats(0.0, 1.0)), max_size=30),
    st.integers(2, 1000),
    st.integers(2, 10**6),
)
def test_whatever_was_published_the_size_stays_within_its_bounds(
    target: float, seen: list[WindowLoss], least: int, most: int
) -> None:
    size = TargetSize(target, least, most)
    for place, window in enumerate(seen):
        size.learn([window]) if place % 3 else size.published(window)
        assert min(least, most) <= size.in_use <= most
        assert size.needed is None or 1 <= size.needed <= 10**9
