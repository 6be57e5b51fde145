"""What a rate and a delay cost, told from windows of some sizes."""

from __future__ import annotations

import pytest

from stream_anon.judging.forecasting.loss_by_delay import loss_by_delay
from stream_anon.microdata.policy import WindowLimits
from stream_anon.windowing.loss_law import WindowLoss

SEEN = [WindowLoss(n, 3.53 * n**-0.35) for n in (1_000, 5_000, 20_000)]


def test_a_rate_and_a_delay_are_told_as_loss_and_a_higher_loss_as_an_earlier_publication() -> None:
    found = loss_by_delay(SEEN, 2_000, WindowLimits(100_000, 10.0))
    assert (
        str(found) == "at 2,000/s and 10 s: loss 0.11 in windows of 20,000; at 0.15 you could publish after 4.2 s"
    )


def test_a_window_has_no_more_than_max_records() -> None:
    found = loss_by_delay(SEEN, 2_000, WindowLimits(5_000, 10.0))
    assert found is not None
    assert (found.records, found.loss) == (5_000, pytest.approx(SEEN[1].loss, rel=0.02))


def test_the_target_of_the_policy_is_told_and_that_it_takes_longer_than_the_delay() -> None:
    found = loss_by_delay(SEEN, 2_000, WindowLimits(100_000, 10.0, target_loss=0.1))
    assert str(found).endswith("0.10 takes 13 s")
    again = loss_by_delay(SEEN, 2_000, WindowLimits(100_000, 10.0, target_loss=0.1), 0.2)
    assert again is not None
    assert again.target == 0.2, "what is asked for here goes first"


def test_long_delays_are_told_without_an_exponent() -> None:
    found = loss_by_delay(SEEN, 2, WindowLimits(100_000, 30.0, target_loss=0.1))
    assert str(found).endswith("0.10 takes 13,000 s")


def test_what_lies_far_beyond_the_windows_that_were_seen_is_called_a_guess() -> None:
    assert "a guess: the sample fills windows of 1,000" in str(
        loss_by_delay(SEEN[:1], 2_000, WindowLimits(100_000, 10.0))
    )


def test_without_a_window_nothing_is_told() -> None:
    assert loss_by_delay([], 10.0, WindowLimits()) is None
    assert loss_by_delay([WindowLoss(0, 0.0)], 10.0, WindowLimits()) is None
