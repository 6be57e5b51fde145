"""What the demo adds up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stream_anon.demo.counting_listener import CountingListener
from stream_anon.service.events import (
    RecordsConsumed,
    TakeoverDone,
    WindowProgress,
    WindowPublished,
)
from tests.support.classes import made_up_classes
from tests.support.told_events import PUBLISHED


def _window(**changes: Any) -> WindowPublished:
    given: dict[str, Any] = {
        "batch": "ab",
        "ranges": (("in", 0, 0, 6), ("in", 2, 5, 9)),
        "records_in": 10,
        "released": 6,
        "suppressed": {"unplaced": 2},
        "rejected": {"malformed": 2},
        "classes": made_up_classes([3, 3]),
        "achieved_k": 3,
    }
    return replace(PUBLISHED, **given | changes)


def test_counts_of_several_windows_add_up() -> None:
    tally = CountingListener()
    tally.listen(RecordsConsumed(20))
    tally.listen(_window())
    tally.listen(_window(batch="cd", released=8, suppressed={}, rejected={"empty": 2}, achieved_k=2))
    assert (tally.consumed, tally.records_in, tally.released) == (20, 20, 14)
    assert dict(tally.suppressed) == {"unplaced": 2}
    assert dict(tally.rejected) == {"malformed": 2, "empty": 2}
    assert (tally.achieved_k, tally.classes) == (2, 4)
    assert [(w.batch, w.ranges) for w in tally.windows] == [
        ("ab", ((0, 0, 6), (2, 5, 9))),
        ("cd", ((0, 0, 6), (2, 5, 9))),
    ]


def test_a_window_without_a_class_has_no_k() -> None:
    tally = CountingListener()
    tally.listen(_window(achieved_k=None, released=0, suppressed={"shortfall": 8}, classes=made_up_classes([])))
    assert tally.achieved_k is None
    tally.listen(_window())
    tally.listen(_window(achieved_k=None, released=0, suppressed={"shortfall": 8}, classes=made_up_classes([])))
    assert tally.achieved_k == 3


def test_windows_weigh_in_the_loss_by_their_records() -> None:
    tally = CountingListener()
    assert tally.gcp is None
    tally.listen(_window(gcp=0.5))
    tally.listen(_window(gcp=1.0, released=24, suppressed={}))
    assert tally.gcp == pytest.approx((0.5 * 8 + 1.0 * 24) / 32)


def test_delays_are_weighted_by_records() -> None:
    tally = CountingListener()
    assert tally.delay(0.5) is None
    tally.listen(_window(arrivals=((100.0, 1), (102.0, 98), (90.0, 1)), at=103.0))
    assert tally.delay(0.5) == 1.0
    assert tally.delay(0.98) == 1.0
    assert tally.delay(0.99) == 3.0
    assert tally.delay(1.0) == 13.0


def test_the_demo_is_ready_once_a_worker_has_taken_over() -> None:
    tally = CountingListener()
    tally.listen(WindowProgress(7, 1.0, 2.0, False, False, None))
    assert tally.waiting == 7
    assert not tally.ready
    tally.listen(TakeoverDone((("in", 0, 0),), 1, 0, 0, 0, (), (), 1, 1, 0.1))
    assert tally.ready
