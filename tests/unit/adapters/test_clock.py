import time

import pytest

from stream_anon.adapters.clock import SystemClock


@pytest.mark.parametrize(("reading", "source"), [("monotonic", "monotonic"), ("wall", "time")])
def test_a_clock_that_is_set_back_stands_still_until_it_has_caught_up(
    reading: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = getattr(time, source)() + 1000
    readings = iter([now, now - 500, now + 1])
    clock = SystemClock()
    monkeypatch.setattr(time, source, lambda: next(readings))

    assert [getattr(clock, reading)() for _ in range(3)] == [now, now, now + 1]


def test_the_clock_runs() -> None:
    clock = SystemClock()
    before, wall = clock.monotonic(), clock.wall()
    time.sleep(0.002)

    assert clock.monotonic() > before
    assert clock.wall() > wall


def test_the_wall_clock_counts_seconds_since_1970() -> None:
    assert abs(SystemClock().wall() - time.time()) < 5
