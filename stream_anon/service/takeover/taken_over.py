"""What a takeover starts from and what it brings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from stream_anon.engine.release_counts import SourceCounts
from stream_anon.errors import BrokerError
from stream_anon.ports import Membership, Place
from stream_anon.service.events import TakeoverDone


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

    def open(self, source: int, offset: int, counts: SourceCounts | None = None) -> None:
        """Take records of a source from `offset` on; `counts` are of who of it was released before."""
        ...


class Moved(BrokerError):  # noqa: N818 - named after what happened
    """The group has moved during a takeover, which starts over at once."""


@dataclass(slots=True)
class Beginnings:
    """Where partitions begin if nothing of them was ever committed; the worker keeps it between takeovers.

    Parameters
    ----------
    start
        `earliest` or `latest`.
    ledger_is_new
        Whether this worker created the ledger and has not taken over since.
    found
        The offsets that earlier takeovers found.
    topic_ids
        The ids of the input topics at the last takeover.
    published_revision
        The revision of the newest certificate when the worker started, since entries of the ledger may have been
        deleted.
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
        """Forget all other partitions: they have a committed offset, another owner, or another topic by now."""
        kept = set(numbers)
        self.found = {number: offset for number, offset in self.found.items() if number in kept}


@dataclass(frozen=True, slots=True)
class TakenOver:
    """The result of a takeover.

    Parameters
    ----------
    opened
        Next offset of each source that is open now.
    kept
        Sources whose rows of the open window stayed.
    gone
        Sources that the group gave to somebody else, and the rows that left with them.
    dropped, read_again
        Rows that left of sources that are still ours, and how many of their offsets will be read again.
    unprotected
        Partitions with a committed offset and no entry in the ledger.
    stopped
        Why a source is not read.
    topic_ids
        Kafka's ids of the input topics, as far as the brokers told them.
    superseded_by
        The revision of the policy under which the output has been published, if ours is lower; then no source is
        open. None otherwise.
    left
        Sources that are left to workers of that revision, and the offset from which on they are not read, if known.
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
        """Return the event that reports it."""
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
