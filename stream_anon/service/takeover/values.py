"""What a takeover starts from, what it brings, and what its steps are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from stream_anon.errors import BrokerError
from stream_anon.ports import (
    Membership,
    Place,
)
from stream_anon.service.events import TakeoverDone
from stream_anon.service.takeover.resuming import Start, Stop


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
