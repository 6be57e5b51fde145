"""Studies keep to their share of the time, and go on after one that fails."""

from __future__ import annotations

import threading
import time

from stream_anon.adapters.clock import SystemClock
from stream_anon.service.closing.studies import SHARE, Studies


def test_studies_take_a_bounded_share_of_the_time() -> None:
    studies, begun, ended = Studies(SystemClock()), [], threading.Event()

    def study() -> None:
        begun.append(time.monotonic())
        time.sleep(0.02)
        if len(begun) == 3:
            ended.set()
        else:
            studies(study)

    studies(study)
    assert ended.wait(10)
    # The first one at once; each other one after a rest of nine times its length.
    assert begun[2] - begun[0] > 0.9 * 2 * 0.02 / SHARE


def test_a_study_that_fails_does_not_end_the_studies() -> None:
    studies, done = Studies(SystemClock()), threading.Event()

    def failing() -> None:
        raise ValueError("a bug")

    studies(failing)
    studies(done.set)
    assert done.wait(10)
