"""What is told of lost input: once, although a partition that is taken over again meets its loss again."""

from __future__ import annotations

from stream_anon.ports import Lost, Place
from stream_anon.service.events import InputSkipped, Listener, PartitionStopped


class ToldLosses:
    """Keeps the last lost stretch of each partition, for as long as the worker runs.

    Until a window commits what lies behind a loss, each takeover begins before it. Of several losses in one window
    the earlier ones are told again then.
    """

    def __init__(self, tell: Listener) -> None:
        self._tell = tell
        self._told: dict[tuple[Place, str | None], tuple[int, int]] = {}

    def take(self, place: Place, topic_id: str | None, start: int, end: int) -> None:
        """Tell that the offsets from `start` to before `end` were lost, except for those that were told."""
        first, told = self._told.get((place, topic_id), (0, 0))
        if not first <= start < told:
            first = told = start
        self._told[place, topic_id] = first, max(told, end)
        if told < end:
            self._tell(InputSkipped(place, told, end))


def stopped_by(lost: Lost, place: Place) -> PartitionStopped:
    """Return what is told of a partition that stops at a loss."""
    topic, partition = place
    where = f"offset {lost.position} of {topic}-{partition}"
    if lost.unreadable:
        text = (
            f"what the brokers keep from {where} on cannot be read: it is damaged, or in a format that the client "
            "does not know. Set the group's offset behind it, or kafka.lost_input: skip"
        )
        return PartitionStopped(place, "unreadable", text)
    text = (
        f"{where} is not there any more, nor will it be: records were deleted before they were read. Set the "
        "group's offset, or kafka.lost_input: skip"
    )
    return PartitionStopped(place, "lost-input", text)
