"""Log what is wrong with the consumer group, once until it has changed."""

from __future__ import annotations

from stream_anon.adapters.log_lines import Line
from stream_anon.adapters.logs import Log
from stream_anon.service.events import GroupSeen


class GroupLines:
    """Writes a line when something has become wrong with the group."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._before = GroupSeen({}, shared=False)

    def take(self, event: GroupSeen) -> None:
        """Write what this look at the group found and the one before did not."""
        before, self._before = self._before, event
        if event.shared and not before.shared:
            self._log.warning(Line.GROUP_SHARED)
        if event.unwatched and not before.unwatched:
            self._log.warning(Line.GROUP_UNWATCHED)
