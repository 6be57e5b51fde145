"""Where a partition goes on, or why it must not: what offsets and the ledger say, and doubts of both."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stream_anon.ports import LedgerEntry, Place, Source
from stream_anon.service.takeover.taken_over import Beginnings, Start, Stop


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
        The present id of the topic, if known.
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
    """Return whether an entry is of a deleted topic; False if either id is unknown."""
    return entry.topic_id is not None and topic_id is not None and entry.topic_id != topic_id


def unprotected(
    stable: Mapping[Place, int | None], entries: Mapping[Place, LedgerEntry], beginnings: Beginnings
) -> tuple[Place, ...]:
    """Return the partitions with a committed offset and no entry: nobody can tell whether the offset was set back.

    With `latest`, every partition is in this state until its first window is out, unless the ledger itself is new.
    """
    if beginnings.start == "latest" and not beginnings.ledger_is_new:
        return ()
    return tuple(sorted(place for place, offset in stable.items() if offset and place not in entries))


async def unbacked(
    source: Source, entries: Mapping[Place, LedgerEntry], judged: Mapping[int, Start | Stop | None]
) -> Mapping[int, Stop]:
    """Return the partitions whose entry lies beyond the end of the input, so that no window can have written it.

    Only partitions are checked about which the entry alone decides.
    """
    asked = [
        number
        for number, verdict in judged.items()
        if (isinstance(verdict, Start) and verdict.from_ledger)
        or (isinstance(verdict, Stop) and verdict.reason == "rewound")
    ]
    if not asked:
        return {}
    ends = await source.bounds(asked, "latest")
    found = {}
    for number in asked:
        (topic, partition), end = source.place(number), ends[number]
        entry = entries[topic, partition].next
        if entry > end:
            found[number] = Stop(
                "unbacked",
                f"the ledger's {entry} for {topic}-{partition} lies beyond the input's end {end}: no window can "
                "have written it. Somebody else wrote to the ledger, or the input has lost records. Find out who "
                "may write there, compare with the certificates, and take the entry away with `stream-anon forget`",
                0,
            )
    return found


async def unrecorded(source: Source, numbers: Collection[int]) -> Mapping[int, Stop]:
    """Return the partitions that may have been released although neither ledger nor group knows about it.

    A partition that never held a record is not among them.
    """
    ends = await source.bounds(numbers, "latest") if numbers else {}
    found = {}
    for number, end in ends.items():
        topic, partition = source.place(number)
        if end:
            found[number] = Stop(
                "unrecorded",
                f"neither the group nor the ledger knows how far {topic}-{partition} was released, and the "
                "ledger has lost entries: it was deleted, or cut off at its beginning. If certificates name this "
                "partition, set the group's offset to the end of its range in the newest one; if none does, let it "
                f"begin at its first record with `stream-anon forget --recreated --partition {topic}:{partition}`",
                0,
            )
    return found
