"""Take over the partitions that the group gave: seven numbered steps.

A window takes a record only of an open partition, from its next offset on; a partition is opened here and nowhere
else. Whatever fails, the whole starts over: every step may be repeated; nothing is read, and no row is dropped,
before the last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, TypeVar

from stream_anon.errors import BrokerError, OwnershipLost, TopicError
from stream_anon.ports import (
    LedgerEntry,
    Membership,
    Place,
    ReleaseLedger,
    Sink,
    Source,
    TopicIds,
    newest_revision,
)
from stream_anon.service.events import TakeoverDone
from stream_anon.service.fault_points import At
from stream_anon.service.takeover.resuming import Start, Stop, unbacked, unrecorded

_T = TypeVar("_T")


class OpenRows(Protocol):
    """What a takeover does to the engine; see `engine.engine.Engine`."""

    @property
    def sources(self) -> frozenset[int]:
        """Return the open sources."""
        ...

    def started_at(self, source: int) -> int:
        """Return where the open window began on an open source."""
        ...

    def position(self, source: int) -> int:
        """Return the next offset to take of an open source."""
        ...

    def revoke(self, sources: Collection[int]) -> int:
        """Close sources; return how many rows left the open window."""
        ...

    def open(self, source: int, offset: int) -> None:
        """Take records of a source from `offset` on."""
        ...


class OnFailure(Enum):
    """What happens when a step fails."""

    START_OVER = "start over after a pause"
    START_OVER_AT_ONCE = "the group has moved: start over at once"
    STOP_PARTITION = "the partition is not read until an operator decides; the others go on"


@dataclass(frozen=True, slots=True)
class Step:
    """A step's number, name, deadline in seconds, and what happens when it fails."""

    number: int
    name: str
    within: float
    policy: OnFailure


MARK = Step(1, "wait for the group's word", 0.0, OnFailure.START_OVER_AT_ONCE)
MEMBERSHIP = Step(2, "read generation and member id", 0.0, OnFailure.START_OVER_AT_ONCE)
STABLE_OFFSETS = Step(3, "read stable offsets", 60.0, OnFailure.START_OVER)
LEDGER = Step(4, "compare with the ledger", 60.0, OnFailure.START_OVER)
STOPPED = Step(4, "compare with the ledger", 0.0, OnFailure.STOP_PARTITION)
ROWS = Step(5, "decide which rows stay", 0.0, OnFailure.START_OVER)
SEEK = Step(6, "seek", 0.0, OnFailure.START_OVER)
RESUME = Step(7, "drop the other rows and resume, in an unchanged generation", 0.0, OnFailure.START_OVER_AT_ONCE)
STEPS = (MARK, MEMBERSHIP, STABLE_OFFSETS, LEDGER, STOPPED, ROWS, SEEK, RESUME)


class Moved(BrokerError):  # noqa: N818 - named after what happened
    """The group moved on during a takeover: start over at once."""


@dataclass(slots=True)
class Beginnings:
    """Where partitions begin of which nothing was ever committed; the worker keeps it between takeovers.

    Parameters
    ----------
    start
        `earliest` or `latest`.
    ledger_is_new
        Whether this worker made the ledger and has not taken over since.
    found
        What an earlier takeover found.
    topic_ids
        The input topics that the last takeover saw.
    published_revision
        The revision of the newest certificate when the worker started: the ledger may have been deleted, or made to
        forget.
    """

    start: str
    ledger_is_new: bool = False
    found: dict[int, int] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    published_revision: int = 0

    @property
    def at_the_first_record(self) -> tuple[Start | Stop | None, ...]:
        """Return the verdicts that let a partition begin where its input does."""
        return (Start(0), None) if self.start == "earliest" else (Start(0),)

    def keep(self, numbers: Iterable[int]) -> None:
        """Forget all others: something was committed of them, somebody else has them, or their topic is another."""
        kept = set(numbers)
        self.found = {number: offset for number, offset in self.found.items() if number in kept}


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What a takeover did.

    Parameters
    ----------
    opened
        Next offset of each source that is open now.
    kept
        Sources whose rows of the open window stayed.
    gone
        Sources that the group gave to somebody else, and the rows that left with them.
    dropped, read_again
        OpenRows that left of sources that are still ours; offsets of theirs that will be read again.
    unprotected
        Partitions with a committed offset of which the ledger knows nothing.
    stopped
        Why a source is not read.
    topic_ids
        Kafka's ids of the input topics, where the brokers told them.
    superseded_by
        The revision of the policy under which the output has been published, where ours is a lower one: then no
        source is open. None otherwise.
    left
        Sources that are left to workers of that revision; the offset from which on they are not read, where known.
    """

    membership: Membership
    marks: int
    opened: Mapping[int, int]
    kept: frozenset[int]
    gone: frozenset[int]
    gone_rows: int
    dropped: int
    read_again: int
    skipped: tuple[Place, ...]
    from_ledger: tuple[Place, ...]
    unprotected: tuple[Place, ...] = ()
    stopped: Mapping[int, Stop] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    superseded_by: int | None = None
    left: Mapping[int, int | None] = field(default_factory=dict)

    def done(self, place: Callable[[int], Place], owned: int, attempts: int, seconds: float) -> TakeoverDone:
        """Return the event that tells of it."""
        return TakeoverDone(
            starts=tuple((*place(number), offset) for number, offset in sorted(self.opened.items())),
            generation=self.membership.generation,
            kept=len(self.kept),
            dropped=self.dropped,
            read_again=self.read_again,
            skipped=self.skipped,
            from_ledger=self.from_ledger,
            owned=owned,
            attempts=attempts,
            seconds=seconds,
            unprotected=self.unprotected,
        )


async def take_over(  # noqa: PLR0915 - the steps stand in one function
    source: Source,
    sink: Sink,
    ledger: ReleaseLedger,
    rows: OpenRows,
    beginnings: Beginnings,
    at: At,
    revision: int = 0,
) -> TakenOver:
    """Open the partitions that the group gave, each from the one offset that loses and repeats nothing.

    Parameters
    ----------
    beginnings
        Where partitions begin of which nothing was ever released.
    revision
        `privacy.revision`: once the output has been published under a higher one, no partition is opened.

    Raises
    ------
    Moved
        Start over at once.
    BrokerError
        Start over after a pause.
    """
    # 1. The callbacks have paused everything and marked it. No window is on its way out, nothing is being polled.
    await at("takeover.1")
    marks, assigned = source.marks, source.assigned
    if not source.settled:
        raise Moved("the group is reassigning")
    # 2. Generation and member id: what is read from here on belongs to them.
    await at("takeover.2")
    membership = source.membership()
    if membership is None:
        raise Moved("not a member of the group")
    # 3. Stable offsets. An error or a missing partition is a reason to ask again, never "no offset".
    await at("takeover.3")
    places = {source.place(number): number for number in assigned}
    stable = await _within(STABLE_OFFSETS, sink.stable_offsets(places.keys()))
    # 4. The ledger knows what was released, whatever became of the offsets, and of which topic.
    await at("takeover.4")
    topics = await _within(LEDGER, _topics(sink, places.keys()))
    entries = await _within(LEDGER, _entries(ledger))
    known = {**ledger.remembered(), **entries}
    newest = max(newest_revision(known.values()), beginnings.published_revision)
    left: dict[int, int | None] = {}
    judged: dict[int, Start | Stop | None] = {}
    if newest > revision:  # another policy has taken over: its workers go on, and ours stands by
        left = {n: entries[p].next if p in entries else stable[p] for p, n in places.items()}
    else:
        doubtful = beginnings.at_the_first_record if ledger.is_incomplete else ()
        judged = await _within(LEDGER, _judged(source, places, stable, known, topics, doubtful))
    anew = topics.differ_from(beginnings.topic_ids)
    beginnings.keep(number for place, number in places.items() if place[0] not in anew)
    untouched = frozenset(number for number, verdict in judged.items() if verdict is None)
    first = await _within(LEDGER, _first_offsets(source, sink, untouched, beginnings, membership))
    # 5. Decide: rows stay where the stable offset is still the one where the open window began, in the same topic.
    await at("takeover.5")
    starts, stopped = _starts(judged, first)
    kept = frozenset(
        n
        for n, begin in starts.items()
        if n in rows.sources and begin.offset == rows.started_at(n) and source.place(n)[0] not in anew
    )
    opened = {n: rows.position(n) if n in kept else begin.offset for n, begin in starts.items()}
    # 6. Seek: what was fetched before is thrown away.
    await at("takeover.6")
    if source.marks != marks:
        raise Moved("the group moved during the takeover")
    for number, offset in opened.items():
        source.seek(number, offset)
    # 7. Only in the generation of step 2 does all this hold. All other rows leave; nothing fails from here on.
    await at("takeover.7")
    if source.marks != marks or source.membership() != membership:
        raise Moved("the group moved during the takeover")
    gone = rows.sources - assigned
    gone_rows = rows.revoke(gone)
    leaving = rows.sources - kept
    read_again = sum(max(rows.position(n) - opened[n], 0) for n in leaving if n in opened)
    dropped = rows.revoke(leaving)
    for number in opened.keys() - kept:
        rows.open(number, opened[number])
    source.resume(opened.keys())
    beginnings.topic_ids = topics.ids
    return TakenOver(
        membership=membership,
        marks=marks,
        opened=opened,
        kept=kept,
        gone=gone,
        gone_rows=gone_rows,
        dropped=dropped,
        read_again=read_again,
        skipped=tuple(source.place(n) for n, begin in starts.items() if begin.skipped),
        from_ledger=tuple(source.place(n) for n, begin in starts.items() if begin.from_ledger),
        unprotected=_unprotected(stable, entries, beginnings) if sink.delivery == "exactly-once" else (),
        stopped=stopped,
        topic_ids=topics.ids,
        superseded_by=newest if newest > revision else None,
        left=left,
    )


async def _judged(
    source: Source,
    places: Mapping[Place, int],
    stable: Mapping[Place, int | None],
    entries: Mapping[Place, LedgerEntry],
    topics: TopicIds,
    doubtful: Collection[Start | Stop | None],
) -> dict[int, Start | Stop | None]:
    judged = {
        number: judge(place, stable[place], entries.get(place), topics.ids.get(place[0]))
        for place, number in places.items()
    }
    judged.update(await unbacked(source, entries, judged))
    unknown = [n for place, n in places.items() if place not in entries and judged[n] in doubtful]
    judged.update(await unrecorded(source, unknown))
    return judged


def judge(
    place: Place, stable: int | None, entry: LedgerEntry | None, topic_id: str | None = None
) -> Start | Stop | None:
    """Return where a partition goes on, why it must not, or None if nothing of it was ever committed.

    Parameters
    ----------
    stable
        The group's committed offset.
    entry
        The ledger's.
    topic_id
        The topic's present one, where it is known.
    """
    topic, partition = place
    if entry is not None and is_another(entry, topic_id):
        return Stop(
            "recreated",
            f"{topic} was deleted and created anew: the ledger's {entry.next} for {topic}-{partition} and the "
            "group's offset count records of the topic that is gone. Stop all workers, and let the new topic begin "
            "at its first record with `stream-anon forget --recreated`; if MirrorMaker copied it from another "
            "cluster, go on with `stream-anon realign` instead",
            0,
        )
    if stable is None:
        return None if entry is None else Start(entry.next, from_ledger=True)
    if entry is None or stable == entry.next:
        return Start(stable)
    if stable > entry.next:
        return Start(stable, skipped=True)
    return Stop(
        "rewound",
        f"the committed offset {stable} of {topic}-{partition} lies below the ledger's {entry.next}: the records "
        "between were released already, and would be released again in other classes. Set the group's offset to "
        f"{entry.next}, or allow it with `stream-anon forget`",
        entry.next,
    )


def is_another(entry: LedgerEntry, topic_id: str | None) -> bool:
    """Return whether an entry is of a topic that is gone; what is not known on either side is no proof."""
    return entry.topic_id is not None and topic_id is not None and entry.topic_id != topic_id


async def _topics(sink: Sink, places: Collection[Place]) -> TopicIds:
    """Return the ids of the input topics; without one nobody could tell later that a topic is another one."""
    found = await sink.topic_ids({topic for topic, _ in places})
    for topic in sorted(found.missing):
        raise TopicError(f"{topic}: does not exist; create it, the worker goes on by itself then")
    return found


def _unprotected(
    stable: Mapping[Place, int | None], entries: Mapping[Place, LedgerEntry], beginnings: Beginnings
) -> tuple[Place, ...]:
    """Return where something was committed of which the ledger knows nothing: nobody can say if it was set back.

    With `latest` that is so until a partition's first window is out, unless the ledger itself is new.
    """
    if beginnings.start == "latest" and not beginnings.ledger_is_new:
        return ()
    return tuple(sorted(place for place, offset in stable.items() if offset and place not in entries))


def _starts(
    judged: Mapping[int, Start | Stop | None], first: Mapping[int, int]
) -> tuple[dict[int, Start], dict[int, Stop]]:
    starts: dict[int, Start] = {}
    stopped: dict[int, Stop] = {}
    for number, verdict in judged.items():
        if isinstance(verdict, Start):
            starts[number] = verdict
        elif isinstance(verdict, Stop):
            stopped[number] = verdict
        else:
            starts[number] = Start(first[number])
    return starts, stopped


async def _entries(ledger: ReleaseLedger) -> Mapping[Place, LedgerEntry]:
    await ledger.open()
    return await ledger.caught_up()


async def _first_offsets(
    source: Source, sink: Sink, numbers: frozenset[int], beginnings: Beginnings, membership: Membership
) -> Mapping[int, int]:
    """Return where partitions begin of which nothing was ever committed.

    What was found once holds for as long as the partition is ours: its records may be in a window that was sealed
    and then abandoned, so where the open window began says nothing. `latest` is written down, or the next owner
    would begin later.
    """
    beginnings.keep(numbers)
    unknown = numbers - beginnings.found.keys()
    if unknown:
        bounds = await source.bounds(unknown, beginnings.start)
        if beginnings.start == "latest":
            try:
                await sink.pin_offsets({source.place(n): offset for n, offset in bounds.items()}, membership)
            except OwnershipLost:
                raise Moved("the group moved during the takeover") from None
        beginnings.found.update(bounds)
    return dict(beginnings.found)


async def _within(step: Step, work: Awaitable[_T]) -> _T:
    try:
        async with asyncio.timeout(step.within):
            return await work
    except TimeoutError:
        raise BrokerError(f"takeover, step {step.number} ({step.name}): no answer in {step.within:g} s") from None
