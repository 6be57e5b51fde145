"""Change the ledger by hand while no worker runs: entries and offsets change in one transaction or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.kafka.writing.window_producer import WindowProducer
from stream_anon.adapters.logs import open_log, quiet_libraries
from stream_anon.errors import BrokerError, Refused
from stream_anon.ports import LedgerEntry, Membership, Parcel, Place, ReleaseLedger
from stream_anon.settings.model import Settings

_T = TypeVar("_T")
NOBODY = Membership(-1, "")  # a group without members lets this one set its offsets


class Counted(Protocol):
    """A look at a group."""

    @property
    def group(self) -> str:
        """Return its name."""
        ...

    @property
    def members(self) -> int:
        """Return how many members it has."""
        ...


def refuse_members(seen: Counted) -> None:
    """Raise Refused if the group has members."""
    if seen.members:
        noun = "member" if seen.members == 1 else "members"
        raise Refused(
            f"the group {seen.group} has {seen.members} live {noun}: stop all workers first; one that was killed "
            "counts until kafka.session_timeout is over"
        )


async def change_entries(
    parcel: Parcel,
    begun: Mapping[Place, LedgerEntry],
    places: Collection[Place],
    done: str,
    sink: WindowProducer,
    ledger: ReleaseLedger,
) -> None:
    """Change the ledger's entries of some partitions, and the group's offsets where there are new ones, at once.

    Parameters
    ----------
    parcel
        What changes the entries.
    begun
        The new entries; partitions without one have none afterwards.
    done
        The participle that errors name it by.

    Raises
    ------
    BrokerError
        If it could not be done; the message says whether that is known.
    """
    broken: BrokerError | None = None
    try:
        # 2. Begin.
        await sink.begin()
        # 3. Send one tombstone a partition to where its entries are, or the entry of one that begins elsewhere.
        await sink.send([parcel])
        # 4. Await every batch, by all replicas in sync.
        await sink.settle()
        # 5. The group's offsets of another topic would let this one skip or repeat records: set them too.
        if begun:
            await sink.add_offsets()
            await sink.commit_offsets({place: entry.next for place, entry in begun.items()}, NOBODY)
        # 6. Commit: all of them at once.
        await sink.commit()
    except BrokerError as error:
        broken = error
    # 7. Read back: only the ledger tells how it ended.
    try:
        if broken is not None:  # a new producer with the same transactional id settles what was open
            await sink.discard()
            await sink.open()
        entries = await ledger.caught_up()
    except BrokerError as error:
        raise BrokerError(f"whether anything was {done} is not known, look again ({error})") from None
    if any(entries.get(place) != begun.get(place) for place in places):
        raise BrokerError(f"nothing was {done} ({broken or 'the ledger has not changed'})")


def run_quietly(settings: Settings, work: Coroutine[Any, Any, _T]) -> _T:
    """Return what a command does on the brokers, with a log of errors only."""
    clock = SystemClock()
    with quiet_libraries(open_log(clock.wall, settings.logs.format, "error"), clock.monotonic):
        return asyncio.run(work)
