"""What was lost is told once, and every offset of it."""

from __future__ import annotations

import pytest

from stream_anon.service.events import Event, InputSkipped
from stream_anon.service.intake.told_losses import ToldLosses

P = ("people", 0)


@pytest.mark.parametrize(
    ("losses", "told"),
    [
        ([(5, 12), (5, 12)], [(5, 12)]),
        ([(5, 12), (7, 12)], [(5, 12)]),  # the next owner had published a part of what lies between
        ([(5, 12), (5, 20)], [(5, 12), (12, 20)]),
        ([(5, 12), (12, 20)], [(5, 12), (12, 20)]),
        ([(5, 12), (30, 40)], [(5, 12), (30, 40)]),
        ([(5, 12), (0, 12)], [(5, 12), (0, 12)]),  # somebody set the offset back: what lies between is not known
    ],
)
def test_no_offset_is_told_twice_unless_reading_began_before_the_loss(
    losses: list[tuple[int, int]], told: list[tuple[int, int]]
) -> None:
    events = list[Event]()
    kept = ToldLosses(events.append)
    for start, end in losses:
        kept.take(P, "id", start, end)
    assert events == [InputSkipped(P, start, end) for start, end in told]


def test_losses_of_another_partition_or_topic_are_told() -> None:
    events = list[Event]()
    kept = ToldLosses(events.append)
    for place, topic_id in ((P, "a"), (P, "b"), (("people", 1), "a")):
        kept.take(place, topic_id, 5, 12)
    assert len(events) == 3
