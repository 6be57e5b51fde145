from __future__ import annotations

import numpy as np

from stream_anon.microdata.policy import WindowLimits
from stream_anon.windowing.limits import WindowTimer, is_mature

LIMITS = WindowLimits(max_records=10, max_delay=20.0)


def test_every_window_lives_equally_long() -> None:
    draws = np.random.default_rng(1)
    ages = [WindowTimer.draw(LIMITS, draws).age_limit for _ in range(500)]
    assert min(ages) >= 18.0
    assert max(ages) <= 20.0
    assert min(ages) < 18.1
    assert max(ages) > 19.9


def test_a_window_is_due_before_or_after_its_deadline() -> None:
    timer = WindowTimer(LIMITS, 19.3)
    due = timer.due_at(0.1)
    assert timer.is_due(0.1, due)
    assert not timer.is_due(0.1, np.nextafter(due, 0))


def test_a_full_window_has_room() -> None:
    timer = WindowTimer(LIMITS, 19.0)
    assert [timer.room(n) for n in (0, 9, 10, 11)] == [10, 1, 0, 0]


def test_a_young_window_is_closed_at_shutdown() -> None:
    assert not is_mature(5.0, 14.9, LIMITS)
    assert is_mature(5.0, 15.0, LIMITS)
