"""What happens to partitions: given, taken over, stopped, read."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stream_anon.ports import Place
from stream_anon.ports.log_lines import LogLine, Said
from stream_anon.service.events.event import MOST_NAMED, Event


@dataclass(frozen=True, slots=True)
class PartitionsRevoked(Event):
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

    def _lines(self) -> Iterator[Said]:
        yield LogLine.REVOKED.said(**_named(self.places), dropped=self.dropped, owned=self.owned)


@dataclass(frozen=True, slots=True)
class TakeoverStarted(Event):
    """The group gave partitions; their records are not taken before `TakeoverDone`."""

    places: tuple[Place, ...]

    def _lines(self) -> Iterator[Said]:
        yield LogLine.ASSIGNED.said(**_named(self.places))


@dataclass(frozen=True, slots=True)
class TakeoverDone(Event):
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

    def _lines(self) -> Iterator[Said]:
        yield LogLine.TAKEN_OVER.said(
            partitions=len(self.starts),
            starts=[f"{topic}-{partition}@{start}" for topic, partition, start in self.starts[:MOST_NAMED]],
            generation=self.generation,
            kept=self.kept,
            dropped=self.dropped,
            read_again=self.read_again,
            from_ledger=len(self.from_ledger),
            owned=self.owned,
            attempts=self.attempts,
            seconds=self.seconds,
        )
        if self.skipped:
            yield LogLine.OFFSET_SKIPPED.said(**_named(self.skipped))
        if self.unprotected:
            yield LogLine.LEDGER_ENTRY_MISSING.said(
                **_named(self.unprotected),
                explanation="the ledger does not know some committed offsets: it was deleted, emptied or made to "
                "forget. If the offsets were set back, records are released a second time: compare `starts` with "
                "the last certificates",
            )


@dataclass(frozen=True, slots=True)
class StandingBy(Event):
    """The group has no partition left for this worker: it waits for another one to fail. Sent once until it has."""

    line = LogLine.STANDING_BY


@dataclass(frozen=True, slots=True)
class GroupSeen(Event):
    """The worker has looked at its group and found something else than before; see `ports.source.GroupView`."""

    partitions: Mapping[str, int]
    shared: bool
    unwatched: bool = False

    def _lines(self) -> Iterator[Said]:
        if self.shared:
            yield LogLine.GROUP_SHARED.said()
        if self.unwatched:
            yield LogLine.GROUP_UNWATCHED.said()


@dataclass(frozen=True, slots=True)
class GroupPacked(Event):
    """The group packs its partitions, and its members are others than before, or others have partitions.

    Parameters
    ----------
    members
        Workers of the group; 0 if it has begun to spread its partitions.
    carriers
        How many of them have partitions; the others stand by.
    """

    members: int
    carriers: int

    def _lines(self) -> Iterator[Said]:
        yield (
            LogLine.PACKED.said(members=self.members, carriers=self.carriers)
            if self.members
            else LogLine.SPREAD.said()
        )


@dataclass(frozen=True, slots=True)
class Superseded(Event):
    """The output has been published under a higher revision of the policy. Sent once for each such revision.

    The worker stays a member of the group and reads nothing; workers of the newer policy go on.

    Parameters
    ----------
    by, own
        The two revisions.
    partitions
        How many partitions the worker owns and does not read.
    """

    line = LogLine.SUPERSEDED

    by: int
    own: int
    partitions: int


@dataclass(frozen=True, slots=True)
class PartitionStopped(Event):
    """A partition is owned but not read: its offsets contradict the ledger, or its input is lost or damaged."""

    place: Place
    reason: str  # one of `STOPS` in `service/wiring/metrics/partitions.py`
    explanation: str

    def _lines(self) -> Iterator[Said]:
        topic, partition = self.place
        yield LogLine.PARTITION_STOPPED.said(
            topic=topic, partition=partition, reason=self.reason, explanation=self.explanation
        )


@dataclass(frozen=True, slots=True)
class ReadingOrdered(Event):
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

    def _lines(self) -> Iterator[Said]:
        if self.paused:
            yield LogLine.PAUSED.said(until=end_in_words(self.until))
        else:
            yield LogLine.RESUMED.said(by="time" if self.expired else "order")


@dataclass(frozen=True, slots=True)
class InputSkipped(Event):
    """Records were deleted unread, or cannot be read, and the settings say to go on (`lost_input: skip`)."""

    place: Place
    start: int
    end: int

    def _lines(self) -> Iterator[Said]:
        topic, partition = self.place
        yield LogLine.INPUT_LOST.said(topic=topic, partition=partition, start=self.start, end=self.end)


@dataclass(frozen=True, slots=True)
class ReadingFault(Event):
    """A kernel left the bounds of its arrays: a bug, which records may have been made for.

    Parameters
    ----------
    start
        The offset of the first record of the stretch that was read.
    """

    place: Place
    start: int

    def _lines(self) -> Iterator[Said]:
        topic, partition = self.place
        yield LogLine.READING_FAULT.said(topic=topic, partition=partition, start=self.start)


@dataclass(frozen=True, slots=True)
class RecordsConsumed(Event):
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


def end_in_words(until: float) -> str:
    """Return what ends a pause: a time on `Clock.wall`, or the command."""
    if math.isinf(until):
        return "`stream-anon resume`"
    return dt.datetime.fromtimestamp(until, dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _named(places: Sequence[Place]) -> dict[str, object]:
    return {
        "partitions": len(places),
        "places": [f"{topic}-{partition}" for topic, partition in places[:MOST_NAMED]],
    }
