"""Take over the partitions that the group gave: seven numbered steps.

A window takes records of open partitions only, each from its next offset on. Only this module opens a partition. If
a step fails, the takeover starts over: at once after `Moved`, after a pause for any other `BrokerError`. Every step
may be repeated, for no record is read and no row is dropped before the last one. A partition that contradicts the
ledger does not fail the takeover: it is not read until an operator decides, and the others go on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stream_anon.errors import OwnershipLost, TopicError
from stream_anon.ports import (
    At,
    LedgerEntry,
    Membership,
    Place,
    ReleaseLedger,
    Sink,
    Source,
    Steps,
    TopicIds,
    newest_revision,
)
from stream_anon.service.counting import Counting
from stream_anon.service.takeover.resuming import judge, unbacked, unprotected, unrecorded
from stream_anon.service.takeover.taken_over import Beginnings, Moved, OpenRows, Start, Stop, TakenOver

ANSWER_WITHIN = 60.0  # seconds for each step that asks the brokers


async def take_over(  # noqa: PLR0913, PLR0915, PLR0917 - the steps stand in one function
    source: Source,
    sink: Sink,
    ledger: ReleaseLedger,
    rows: OpenRows,
    beginnings: Beginnings,
    at: At,
    revision: int = 0,
    counting: Counting | None = None,
) -> TakenOver:
    """Open the partitions that the group assigned, each at the one offset that neither loses nor repeats a record.

    Parameters
    ----------
    beginnings
        Where partitions begin if nothing of them was ever released.
    revision
        `privacy.revision`. If the output has been published under a higher one, no partition is opened.
    counting
        Reads how often people were released before; None where nobody counts.

    Raises
    ------
    Moved
        Start over at once.
    BrokerError
        Start over after a pause.
    """
    steps = Steps("takeover", at)
    # The callbacks have paused everything and marked it. No window is on its way out, nothing is being polled.
    async with steps.step(1, "wait for the group's word"):
        marks, assigned = source.marks, source.assigned
        if not source.settled:
            raise Moved("the group is reassigning")
    # What is read from here on belongs to this membership.
    async with steps.step(2, "read generation and member id"):
        membership = source.membership()
        if membership is None:
            raise Moved("not a member of the group")
    # An error or a missing partition is a reason to ask again, never "no offset".
    async with steps.step(3, "read stable offsets", ANSWER_WITHIN):
        places = {source.place(number): number for number in assigned}
        stable = await sink.stable_offsets(places.keys())
    # The ledger knows what was released, and of which topic, whatever has happened to the offsets.
    async with steps.step(4, "compare with the ledger", ANSWER_WITHIN):
        topics = await _topics(sink, places.keys())
        await ledger.open()
        entries = await ledger.caught_up()
        known = {**ledger.remembered(), **entries}
        newest = max(newest_revision(known.values()), beginnings.published_revision)
        left: dict[int, int | None] = {}
        judged: dict[int, Start | Stop | None] = {}
        if newest > revision:  # a newer policy has taken over: its workers go on, and ours stands by
            left = {n: entries[p].next if p in entries else stable[p] for p, n in places.items()}
        else:
            doubtful = beginnings.at_the_first_record if ledger.is_incomplete else ()
            judged = await _judged(source, places, stable, known, topics, doubtful)
        anew = topics.differ_from(beginnings.topic_ids)
        beginnings.keep(number for place, number in places.items() if place[0] not in anew)
        untouched = frozenset(number for number, verdict in judged.items() if verdict is None)
        first = await _first_offsets(source, sink, untouched, beginnings, membership)
    # Rows stay where the stable offset is still the one where the open window began, in the same topic. What the
    # ledger has told above is out, and so is what was noted with it of the people who were released.
    async with steps.step(5, "decide which rows stay, and read who was released of the others"):
        starts, stopped = _starts(judged, first)
        kept = frozenset(
            n
            for n, begin in starts.items()
            if n in rows.sources and begin.offset == rows.started_at(n) and source.place(n)[0] not in anew
        )
        opened = {n: rows.position(n) if n in kept else begin.offset for n, begin in starts.items()}
        fresh = [source.place(n) for n in opened.keys() - kept]
        counts = {} if counting is None else await counting.of(fresh)
    # What was fetched before is thrown away.
    async with steps.step(6, "seek"):
        if source.marks != marks:
            raise Moved("the group moved during the takeover")
        for number, offset in opened.items():
            source.seek(number, offset)
    # All this holds only in the generation of step 2. All other rows leave. Nothing fails after the first check.
    async with steps.step(7, "drop the other rows and resume"):
        if source.marks != marks or source.membership() != membership:
            raise Moved("the group moved during the takeover")
        gone = rows.sources - assigned
        gone_rows = rows.revoke(gone)
        leaving = rows.sources - kept
        read_again = sum(max(rows.position(n) - opened[n], 0) for n in leaving if n in opened)
        dropped = rows.revoke(leaving)
        for number in opened.keys() - kept:
            rows.open(number, opened[number], counts.get(source.place(number)))
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
    """Return the ids of the input topics, which show later whether a topic was created anew."""
    found = await sink.topic_ids({topic for topic, _ in places})
    for topic in sorted(found.missing):
        raise TopicError(f"{topic}: does not exist; create it, then the worker continues by itself")
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


async def _first_offsets(
    source: Source, sink: Sink, numbers: frozenset[int], beginnings: Beginnings, membership: Membership
) -> Mapping[int, int]:
    """Return where partitions begin if nothing of them was ever committed.

    An offset that was found holds as long as the partition is ours. The start of the open window would not do, for
    earlier records may have been in a window that was sealed and then abandoned. With `latest` the offset is
    committed, since the next owner would begin later otherwise.
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
