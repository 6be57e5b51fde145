"""What was released of each input partition, kept beside the group's offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from stream_anon.ports.place import Place
from stream_anon.ports.records import Parcel


def newest_revision(entries: Iterable[LedgerEntry]) -> int:
    """Return the highest revision of the policy under which anything was released; 0 where nothing was."""
    return max((entry.revision for entry in entries), default=0)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What the ledger says of one input partition.

    Parameters
    ----------
    next
        The next offset to release: everything below was released, suppressed or rejected.
    batch
        The window that did it; None in entries from before they named one.
    topic_id
        Kafka's id of the input topic, as a UUID in text: a topic that was deleted and made anew under the same name
        has another one. None in entries of version 1, and where the broker did not tell.
    revision
        `privacy.revision` of the policy under which the window was released; 0 in entries of version 1.
    cluster
        Kafka's id of the cluster that the entry was written to: elsewhere it is a copy. None where it is not known.
        Entries are equal whatever it is.
    """

    next: int
    batch: str | None = None
    topic_id: str | None = None
    revision: int = 0
    cluster: str | None = field(default=None, compare=False)


class ReleaseLedger(Protocol):
    """What was released of each input partition, whatever happens to committed offsets."""

    async def open(self) -> None:
        """Begin to follow; read what is there. Raises LedgerMissing, BrokerError."""
        ...

    @property
    def is_gone(self) -> bool:
        """Return whether its topic was found to be deleted, so that it must be opened again."""
        ...

    @property
    def is_incomplete(self) -> bool:
        """Return whether partitions may have been released of which there is no entry, as `open` found it."""
        ...

    @property
    def held_seconds(self) -> float:
        """Return how long the ledger has stood at the same open transaction, somebody else's or ours; 0 at none."""
        ...

    def remembered(self) -> Mapping[Place, LedgerEntry]:
        """Return entries that were followed in a ledger that was deleted, and that nobody has written again."""
        ...

    async def caught_up(self) -> Mapping[Place, LedgerEntry]:
        """Return the entry of each partition, all entries sent before the call included."""
        ...

    def holds(self, batch: str) -> bool | None:
        """Return whether a partition's last entry is of this window, as `caught_up` found them.

        None where there is no ledger.
        """
        ...

    def entries(
        self, offsets: Mapping[Place, int], batch: str, topic_ids: Mapping[str, str], time: int
    ) -> Parcel | None:
        """Return the parcel that goes into a window's transaction; None where there is no ledger."""
        ...

    async def uncontested(self, starts: Mapping[Place, int], sent: Mapping[Place, int]) -> None:
        """Return once nobody whose entries lie before ours has released what begins at `starts`.

        Parameters
        ----------
        starts
            Where the window begins on each input partition.
        sent
            What `Sink.settle` returned.

        Raises
        ------
        Overtaken
            If somebody has, or if the ledger holds an entry of a higher revision of the policy than ours.
        BrokerError
            If that is not decided in time.
        """
        ...

    async def discard(self) -> None:
        """Stop following and disconnect; never raises."""
        ...
