"""Tell what was lost of the input once, although a partition that is taken over again meets its loss again."""

from __future__ import annotations

from stream_anon.ports import Place
from stream_anon.service.events import InputSkipped, Listener


class ToldLosses:
    """Keeps the last lost stretch of each partition, for as long as the worker runs.

    Until a window commits what lies behind a loss, each takeover begins before it.
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
