"""For how long a worker was busy."""

from __future__ import annotations

from stream_anon.service.busy_time import BusyTime
from tests.support.clock import FakeClock


def test_what_is_done_at_once_counts_once_and_what_goes_on_counts_so_far() -> None:
    clock = FakeClock()
    busy = BusyTime(clock)
    clock.advance(5.0)
    assert busy.seconds == 0.0
    with busy.working():
        clock.advance(1.0)
        with busy.working():
            clock.advance(2.0)
        clock.advance(0.5)
        assert busy.seconds == 3.5
    clock.advance(7.0)
    with busy.working():
        clock.advance(0.25)
    assert busy.seconds == 3.75
