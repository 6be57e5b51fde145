"""Shares of successes with their intervals, and what of a success is due to a release."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from stream_anon.attacks.success import Share, risk_beyond, success

counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_the_interval_is_wilsons(count: tuple[int, int]) -> None:
    right, attempts = count
    found = success(right, attempts)
    expected = binomtest(right, attempts).proportion_ci(0.95, method="wilson")
    assert found.value == right / attempts
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-4)


def test_without_an_attempt_everything_is_open() -> None:
    assert success(0, 0) == Share(0.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="attempts"):
        success(2, 1)


@given(counts, counts)
def test_a_risk_lies_in_its_interval_and_is_none_where_the_control_does_as_well(
    attack: tuple[int, int], control: tuple[int, int]
) -> None:
    inside, outside = success(*attack), success(*control)
    risk = risk_beyond(inside, outside)
    assert 0 <= risk.low <= risk.value <= risk.high <= 1
    if inside.value <= outside.value:
        assert risk.value == risk.low == 0
    elif outside.value == 0:
        assert risk.value == inside.value


def test_the_error_is_that_of_independent_figures() -> None:
    """By the derivatives of (a - c) / (1 - c), as the paper's library has it."""
    attack, control = Share(0.6, 0.5, 0.7), Share(0.2, 0.1, 0.3)
    risk = risk_beyond(attack, control)
    error = ((0.1 / 0.8) ** 2 + (0.4 / 0.64 * 0.1) ** 2) ** 0.5
    assert (risk.value, risk.low, risk.high) == pytest.approx((0.5, 0.5 - error, 0.5 + error))
    assert risk_beyond(attack, Share(1.0, 0.9, 1.0)) == Share(0.0, 0.0, 1.0)
