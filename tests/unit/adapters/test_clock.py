import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.adapters.clock import SET_BACK, SystemClock

TIMES = st.lists(st.integers(0, 4_000_000_000), min_size=1, max_size=30)


def test_a_monotonic_clock_that_falls_stands_still_until_it_has_caught_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic() + 1000
    readings = iter([now, now - 500, now + 1])
    clock = SystemClock()
    monkeypatch.setattr(time, "monotonic", lambda: next(readings))

    assert [clock.monotonic() for _ in range(3)] == [now, now, now + 1]


def test_a_wall_clock_that_is_corrected_by_seconds_stands_still_until_it_has_caught_up() -> None:
    readings = iter([1000.0, 1000.0, 997.0, 996.0, 1000.5])
    clock = SystemClock(lambda: next(readings))

    assert [clock.wall() for _ in range(4)] == [1000.0, 1000.0, 1000.0, 1000.5]


def test_a_wall_clock_that_was_two_hours_ahead_is_followed_back() -> None:
    readings = iter([1000.0, 8200.0, 1015.0, 1016.0])
    clock = SystemClock(lambda: next(readings))

    assert [clock.wall() for _ in range(3)] == [8200.0, 1015.0, 1016.0]


@given(TIMES)
def test_the_wall_clock_is_never_behind_the_machine_nor_ahead_by_more_than_a_correction(times: list[int]) -> None:
    readings = iter([times[0], *times])
    clock = SystemClock(lambda: next(readings))
    for machine in times:
        assert machine <= clock.wall() <= machine + SET_BACK


def test_the_clock_runs() -> None:
    clock = SystemClock()
    before, wall = clock.monotonic(), clock.wall()
    time.sleep(0.002)

    assert clock.monotonic() > before
    assert clock.wall() > wall


def test_the_wall_clock_counts_seconds_since_1970() -> None:
    assert abs(SystemClock().wall() - time.time()) < 5
