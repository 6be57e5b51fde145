"""The law of loss by records: what a fit of published windows must be like, whatever they lost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.windowing.loss_law import FLATTEST, STEEPEST, USUAL, LossLaw, WindowLoss

losses = st.floats(0.0, 1.0)
windows = st.builds(WindowLoss, st.integers(1, 10_000_000), losses)
several = st.lists(windows, min_size=1, max_size=12)


@given(several, st.floats(1e-4, 0.99), st.floats(1.01, 10.0))
def test_a_larger_window_loses_less_and_a_lower_loss_needs_a_larger_window(
    seen: Sequence[WindowLoss], loss: float, times: float
) -> None:
    law = LossLaw.fit(seen)
    assert FLATTEST <= law.exponent <= STEEPEST
    assert 0 < law.loss(1000 * times) <= law.loss(1000) <= 1
    assert law.records(loss) >= law.records(min(loss * times, 0.999)) >= 1
    assert law.loss(law.records(loss)) <= max(loss, law.loss(1e12)) * (1 + 1e-9)


@given(several, st.randoms(use_true_random=False))
def test_the_order_of_windows_does_not_matter(seen: list[WindowLoss], draws: st.DataObject) -> None:
    weights = [1 / (1 + place) for place in range(len(seen))]
    pairs = list(zip(seen, weights, strict=True))
    draws.shuffle(pairs)  # type: ignore[attr-defined]
    assert LossLaw.fit(seen, weights) == LossLaw.fit(*map(list, zip(*pairs, strict=True)))


@given(st.lists(st.builds(WindowLoss, st.integers(1, 10**7), st.floats(1e-3, 0.4)), min_size=1, max_size=12))
def test_twice_the_loss_shifts_the_law_and_needs_more_records(seen: list[WindowLoss]) -> None:
    law, twice = LossLaw.fit(seen), LossLaw.fit([WindowLoss(n, 2 * loss) for n, loss in seen])
    assert twice.exponent == pytest.approx(law.exponent)
    assert twice.level - law.level == pytest.approx(math.log(2))
    assert twice.records(0.1) >= law.records(0.1)


@given(st.integers(1, 10**7), st.floats(1e-3, 1.0), st.integers(1, 5))
def test_windows_of_one_size_pass_on_their_loss_and_the_usual_exponent(
    records: int, loss: float, times: int
) -> None:
    law = LossLaw.fit([WindowLoss(records, loss)] * times)
    assert law.exponent == pytest.approx(USUAL)
    assert law.loss(records) == pytest.approx(loss)


@pytest.mark.parametrize("exponent", [0.1, 0.25, 0.5, 0.9])
def test_a_power_law_is_found_from_windows_of_several_sizes(exponent: float) -> None:
    sizes = [500, 1000, 2000, 50_000]
    law = LossLaw.fit([WindowLoss(n, 3.0 * n**-exponent) for n in sizes])
    assert law.exponent == pytest.approx(exponent, abs=0.01)
    assert law.records(3.0 * 5000**-exponent) == pytest.approx(5000, rel=0.02)


def test_what_weighs_nothing_next_to_others_hardly_counts() -> None:
    new = WindowLoss(1000, 0.2)
    law = LossLaw.fit([WindowLoss(1000, 0.8), new], [1e-6, 1.0])
    assert law.loss(1000) == pytest.approx(new.loss, rel=1e-4)


def test_sizes_that_are_nearly_alike_leave_the_exponent_near_the_usual_one() -> None:
    draws = np.random.default_rng(0)
    for _ in range(50):
        seen = [WindowLoss(1000 + i, float(draws.uniform(0.27, 0.33))) for i in range(20)]
        assert LossLaw.fit(seen).exponent == pytest.approx(USUAL, abs=0.1)


@given(st.lists(st.tuples(st.integers(1, 1_000), losses), max_size=9), st.integers(0, 10_000))
def test_the_loss_of_what_was_published_does_not_depend_on_what_was_suppressed(
    classes: list[tuple[int, float]], suppressed: int
) -> None:
    released = sum(count for count, _ in classes)
    lost = math.fsum(count * loss for count, loss in classes)
    gcp = (lost + suppressed) / (released + suppressed) if released + suppressed else None
    found = WindowLoss.of_published(gcp, released, suppressed)
    if not released:
        assert found is None
        return
    assert found is not None
    assert found.records == released
    assert found.loss == pytest.approx(lost / released, abs=1e-9)
    assert found.loss >= 0
