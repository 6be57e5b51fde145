"""What happens to partitions: given, taken over, stopped, read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

Place = tuple[str, int]
"""A topic and a partition."""


@dataclass(frozen=True, slots=True)
class PartitionsRevoked:
    """The group took partitions away.

    Parameters
    ----------
    dropped
        Rows that left the open window; their next owner reads them again.
    owned
        Partitions this worker still has.
    """

    places: tuple[Place, ...]
    dropped: int
    owned: int


@dataclass(frozen=True, slots=True)
class TakeoverStarted:
    """The group gave partitions; their records are not taken before `TakeoverDone`."""

    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class TakeoverDone:
    """Partitions are open.

    Parameters
    ----------
    starts
        (topic, partition, first offset that will be taken).
    kept
        Partitions whose rows of the open window stayed.
    dropped
        Rows that left the open window.
    skipped
        Partitions whose committed offset lies beyond the ledger: somebody chose to skip.
    from_ledger
        Partitions that go on from the ledger, since their committed offset was missing.
    owned
        Partitions this worker has now.
    unprotected
        Partitions with a committed offset and no entry in the ledger: if somebody had set the offset back, nobody
        would notice.
    """

    starts: tuple[tuple[str, int, int], ...]
    generation: int
    kept: int
    dropped: int
    read_again: int
    skipped: tuple[Place, ...]
    from_ledger: tuple[Place, ...]
    owned: int
    attempts: int
    seconds: float
    unprotected: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class StandingBy:
    """The group has no partition left for this worker: it waits for another one to fail. Sent once until it has."""


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """The worker has looked at its group and found something else than before; see `ports.source.GroupView`."""

    partitions: Mapping[str, int]
    shared: bool
    unwatched: bool = False


@dataclass(frozen=True, slots=True)
class Superseded:
    """The output has been published under a higher revision of the policy. Sent once for each such revision.

    The worker stays a member of the group and reads nothing; workers of the newer policy go on.

    Parameters
    ----------
    by, own
        The two revisions.
    partitions
        How many partitions the worker owns and does not read.
    """

    by: int
    own: int
    partitions: int


@dataclass(frozen=True, slots=True)
class PartitionStopped:
    """A partition is owned but not read: its offsets contradict the ledger, or its input is lost or damaged."""

    place: Place
    reason: str  # one of `STOPS` in `service/wiring/metrics/partitions.py`
    explanation: str


@dataclass(frozen=True, slots=True)
class ReadingOrdered:
    """An operator paused or resumed the reading, or a pause ended by itself; the open window keeps its deadline.

    Parameters
    ----------
    until
        When the pause ends by itself, as `Clock.wall`; infinite if it does not.
    expired
        Whether the pause ended by itself.
    """

    paused: bool
    until: float = math.inf
    expired: bool = False


@dataclass(frozen=True, slots=True)
class InputSkipped:
    """Records were deleted unread, or cannot be read, and the settings say to go on (`lost_input: skip`)."""

    place: Place
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ReadingFault:
    """A kernel left the bounds of its arrays: a bug, which records may have been made for.

    Parameters
    ----------
    start
        The offset of the first record of the stretch that was read.
    """

    place: Place
    start: int


@dataclass(frozen=True, slots=True)
class RecordsConsumed:
    """A poll brought records, rejected ones included.

    Parameters
    ----------
    decoding, adding
        Seconds that it took to decode them and to put them into the window. They may not be shown as they are: of a
        record that comes alone they tell its length, and how it was read.
    """

    records: int
    decoding: float = 0.0
    adding: float = 0.0
