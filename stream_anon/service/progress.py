"""Tell in each turn of the loop how the open window, the reading and the group stand."""

from __future__ import annotations

from stream_anon.service.components import Components
from stream_anon.service.events import GroupPacked, GroupSeen, WindowProgress
from stream_anon.service.intake.input_reader import Reader


class Progress:
    """Tells what has changed of the group, and how far the worker is."""

    def __init__(self, parts: Components, reader: Reader) -> None:
        self._parts, self._reader = parts, reader
        self._seen, self._packed = GroupSeen({}, shared=False), GroupPacked(0, 0)  # as they were told last

    def tell_view(self) -> None:
        """Tell how the group looks, if it looks otherwise than before."""
        view = self._parts.source.view()
        seen, packed = (
            GroupSeen(view.partitions, view.shared, view.unwatched),
            GroupPacked(view.members, view.carriers),
        )
        if seen != self._seen:
            self._parts.tell(seen)
        if packed != self._packed:
            self._parts.tell(packed)
        self._seen, self._packed = seen, packed

    def tell(self, left: int, *, closing: bool, paused: bool) -> None:
        """Tell how far the worker is; `left` is the number of partitions that are left to others."""
        window, held = self._parts.engine.open_window, self._reader.held()
        self._parts.tell(
            WindowProgress(
                window.records,
                window.opened_at,
                self._parts.clock.monotonic(),
                closing,
                paused,
                self._reader.lag(),
                self._reader.stopped,
                left,
                held.records,
                held.seconds,
                self._parts.source.view().busy,
            )
        )
