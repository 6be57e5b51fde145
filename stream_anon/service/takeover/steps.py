"""Take over the partitions that the group gave: seven numbered steps.

A window takes a record only of an open partition, from its next offset on; a partition is opened here and nowhere
else. Whatever fails, the whole starts over: every step may be repeated; nothing is read, and no row is dropped,
before the last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Mapping
from typing import TypeVar

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
from stream_anon.service.fault_points import At
from stream_anon.service.takeover.judging import judge, unprotected
from stream_anon.service.takeover.resuming import Start, Stop, unbacked, unrecorded
from stream_anon.service.takeover.values import Beginnings, Moved, OnFailure, OpenRows, Step, TakenOver

_T = TypeVar("_T")
MARK = Step(1, "wait for the group's word", 0.0, OnFailure.START_OVER_AT_ONCE)
MEMBERSHIP = Step(2, "read generation and member id", 0.0, OnFailure.START_OVER_AT_ONCE)
STABLE_OFFSETS = Step(3, "read stable offsets", 60.0, OnFailure.START_OVER)
LEDGER = Step(4, "compare with the ledger", 60.0, OnFailure.START_OVER)
STOPPED = Step(4, "compare with the ledger", 0.0, OnFailure.STOP_PARTITION)
ROWS = Step(5, "decide which rows stay", 0.0, OnFailure.START_OVER)
SEEK = Step(6, "seek", 0.0, OnFailure.START_OVER)
RESUME = Step(7, "drop the other rows and resume, in an unchanged generation", 0.0, OnFailure.START_OVER_AT_ONCE)
STEPS = (MARK, MEMBERSHIP, STABLE_OFFSETS, LEDGER, STOPPED, ROWS, SEEK, RESUME)


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
        unprotected=unprotected(stable, entries, beginnings) if sink.delivery == "exactly-once" else (),
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


async def _topics(sink: Sink, places: Collection[Place]) -> TopicIds:
    """Return the ids of the input topics; without one nobody could tell later that a topic is another one."""
    found = await sink.topic_ids({topic for topic, _ in places})
    for topic in sorted(found.missing):
        raise TopicError(f"{topic}: does not exist; create it, the worker goes on by itself then")
    return found


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
