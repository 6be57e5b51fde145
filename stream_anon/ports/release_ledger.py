"""What was released of each input partition, kept beside the group's offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from stream_anon.ports.polled_records import Place


def newest_revision(entries: Iterable[LedgerEntry]) -> int:
    """Return the highest revision of the policy under which anything was released; 0 if nothing was."""
    return max((entry.revision for entry in entries), default=0)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What the ledger says about one input partition.

    Parameters
    ----------
    next
        The next offset to release. Everything below was released, suppressed or rejected.
    batch
        The window that wrote the entry; None where no window did, as of `stream-anon realign`.
    topic_id
        Kafka's id of the input topic, as a UUID in text. A topic that was deleted and created again under the same
        name has another id. None if the broker did not tell.
    revision
        `privacy.revision` of the policy under which the window was released.
    cluster
        Kafka's id of the cluster that the entry was written to; in another cluster the entry is a copy. None if not
        known. Equality ignores it.
    """

    next: int
    batch: str | None = None
    topic_id: str | None = None
    revision: int = 0
    cluster: str | None = field(default=None, compare=False)


class ReleaseLedger(Protocol):
    """What was released of each input partition, whatever happens to committed offsets."""

    async def open(self) -> None:
        """Read the ledger and follow it from now on. Raises LedgerMissing, BrokerError."""
        ...

    @property
    def is_gone(self) -> bool:
        """Return whether its topic was deleted, so that it must be opened again."""
        ...

    @property
    def is_incomplete(self) -> bool:
        """Return whether records of partitions without an entry may have been released, as `open` found it."""
        ...

    @property
    def held_seconds(self) -> float:
        """Return how long the ledger has stood at the same open transaction, of whomever; 0 without one."""
        ...

    def remembered(self) -> Mapping[Place, LedgerEntry]:
        """Return the entries of a deleted ledger that was followed, except those that were written again."""
        ...

    async def caught_up(self) -> Mapping[Place, LedgerEntry]:
        """Return the entry of each partition, those of all earlier transactions included."""
        ...

    def holds(self, batch: str) -> bool | None:
        """Return whether a partition's last entry is of this window, as `caught_up` found them.

        None if there is no ledger.
        """
        ...

    async def discard(self) -> None:
        """Stop following and disconnect; never raises."""
        ...
