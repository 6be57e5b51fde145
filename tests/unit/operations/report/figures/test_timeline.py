"""Stretches of time stay few, and lose nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.operations.report.figures.timeline import MOST_STRETCHES, Timeline, TimeStretch

DAY = 86_400


@given(st.lists(st.tuples(st.integers(0, 40 * 365 * DAY), st.integers(0, 50), st.integers(0, 9)), max_size=400))
def test_stretches_are_few_in_order_and_add_up(windows: list[tuple[int, int, int]]) -> None:
    timeline = Timeline()
    for closed, records, suppressed in windows:
        judged = records + suppressed
        timeline.add(closed, TimeStretch(1, judged, suppressed, judged / 2, {"age": judged / 4}, {"age": judged}))
    found = list(timeline)
    starts = [start for start, _ in found]
    assert len(found) <= MOST_STRETCHES
    assert starts == sorted(set(starts))
    assert all(start % timeline.width == 0 for start in starts)
    whole = timeline.whole
    assert (whole.windows, whole.suppressed) == (len(windows), sum(suppressed for _, _, suppressed in windows))
    for start, stretch in found:
        within = [one for one in windows if start <= one[0] < start + timeline.width]
        assert stretch.windows == len(within)
        assert stretch.judged == sum(records + suppressed for _, records, suppressed in within)
    if whole.judged:
        assert whole.gcp == pytest.approx(0.5)
        assert whole.losses() == {"age": pytest.approx(0.25)}


def test_a_quiet_hour_is_told_by_the_minute() -> None:
    timeline = Timeline()
    for minute in range(60):
        timeline.add(minute * 60 + 7.5, TimeStretch(1, 1, 0, 0.0))
    assert [start for start, _ in timeline] == [minute * 60 for minute in range(60)]
    assert timeline.width == 60


def test_a_stretch_without_a_record_has_no_loss() -> None:
    assert TimeStretch(windows=1).gcp is None
    assert TimeStretch(windows=1).losses() == {}
