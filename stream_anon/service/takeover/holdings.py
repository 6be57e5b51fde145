"""What is ours since the last takeover."""

from __future__ import annotations

from collections.abc import Mapping

from stream_anon.ports import Membership, Source
from stream_anon.service.events import Listener, PartitionsRevoked, PartitionStopped, StandingBy, Superseded
from stream_anon.service.takeover.taken_over import TakenOver


class Holdings:
    """Knows what windows are taken under, and tells of partitions that came, went, stopped or are left to others.

    Parameters
    ----------
    revision
        `privacy.revision`.
    """

    def __init__(self, source: Source, revision: int, tell: Listener) -> None:
        self._source, self._revision, self._tell = source, revision, tell
        self._owned: frozenset[int] = frozenset()
        self._stands_by = False
        self._superseded_by: int | None = None
        self.left = 0  # number of partitions that are left to workers of a newer policy
        self.membership: Membership | None = None
        self.topic_ids: Mapping[str, str] = {}

    @property
    def is_superseded(self) -> bool:
        """Return whether the last takeover found the output published under a higher revision."""
        return self._superseded_by is not None

    def change(self, taken: TakenOver, attempts: int, seconds: float) -> None:
        """Note what a takeover brought, and tell it; it took so many attempts and seconds."""
        place = self._source.place
        self.membership, self.topic_ids = taken.membership, taken.topic_ids
        self._stand_aside(taken)
        lost, self._owned = self._owned - self._source.assigned, self._source.assigned
        if lost:
            gone = tuple(place(n) for n in sorted(lost))
            self._tell(PartitionsRevoked(gone, taken.gone_rows, len(self._owned)))
        if not self._owned and not self._stands_by:
            self._tell(StandingBy())
        self._stands_by = not self._owned
        self._tell(taken.done(place, len(self._owned), attempts, seconds))
        for number, stop in sorted(taken.stopped.items()):
            self._tell(PartitionStopped(place(number), stop.reason, stop.text))

    def _stand_aside(self, taken: TakenOver) -> None:
        """Leave partitions to workers of a newer policy; tell it once."""
        self.left = len(taken.left)
        if taken.superseded_by not in (None, self._superseded_by):
            self._tell(Superseded(taken.superseded_by, self._revision, self.left))
        self._superseded_by = taken.superseded_by
