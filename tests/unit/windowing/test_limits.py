from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.windowing.bounds import WindowBound
from stream_anon.windowing.limits import LEAST_REJECTS, WindowTimer, is_mature, takes_more

LIMITS = WindowLimits(max_records=10, max_delay=20.0)
TEN = WindowBound(10)


def test_the_age_limit_of_each_window_is_drawn() -> None:
    draws = np.random.default_rng(1)
    ages = [WindowTimer.draw(LIMITS, draws).age_limit for _ in range(500)]
    assert min(ages) >= 18.0
    assert max(ages) <= 20.0
    assert min(ages) < 18.1
    assert max(ages) > 19.9


def test_a_window_is_due_at_its_deadline() -> None:
    timer = WindowTimer(LIMITS, 19.3, TEN)
    assert timer.due_at(0.1) == pytest.approx(19.4)
    assert timer.due_at(0.1, enough_since=19.4) == timer.due_at(0.1)


def test_a_held_window_is_due_a_drawn_time_after_it_has_company() -> None:
    #  oldest 0 ─── 18.0 ── age limit 19.3 ─── company 50.0 ── due 51.3
    timer = WindowTimer(LIMITS, 19.3, TEN)
    assert timer.due_at(0.0, enough_since=50.0) == pytest.approx(51.3)


def test_a_full_window_has_no_room() -> None:
    timer = WindowTimer(LIMITS, 19.0, TEN)
    assert [timer.room(n) for n in (0, 9, 10, 11)] == [10, 1, 0, 0]


def test_a_window_is_mature_from_half_its_max_delay() -> None:
    assert not is_mature(5.0, 14.9, LIMITS)
    assert is_mature(5.0, 15.0, LIMITS)


def test_so_many_dead_letters_wait_as_four_windows_of_a_chosen_size_and_else_no_more_than_the_least() -> None:
    auto = WindowLimits(max_records=1_000_000, max_delay=20.0, auto=True)
    for limits, many in ((LIMITS, LEAST_REJECTS), (auto, LEAST_REJECTS), (replace(auto, auto=False), 4_000_000)):
        assert takes_more(limits, many - 1, 0, 0)
        assert not takes_more(limits, many, 0, 0)
