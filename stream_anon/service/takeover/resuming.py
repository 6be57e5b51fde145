"""Where a partition goes on or why it must not, and when the ledger's answer is not believed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from stream_anon.ports import LedgerEntry, Place, Source


@dataclass(frozen=True, slots=True)
class Start:
    """Where a partition goes on, and why there."""

    offset: int
    from_ledger: bool = False
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a partition must not be read, and where its unread records begin."""

    reason: str  # see `events.PartitionStopped`
    text: str
    begins: int


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
