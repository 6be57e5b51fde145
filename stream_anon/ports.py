"""The seam between the worker and Kafka: a source, a sink, a ledger, and the values that pass between them.

A client library with transactions and group fencing of its own fits behind the same protocols.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import BrokerError

Place = tuple[str, int]
"""A topic and a partition."""


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
    """

    next: int
    batch: str | None = None
    topic_id: str | None = None
    revision: int = 0


@dataclass(frozen=True, slots=True)
class TopicIds:
    """What the brokers know topics by, at one moment.

    Parameters
    ----------
    ids
        By name, Kafka's id as a UUID in text: a topic that was deleted and created anew has another one. Topics
        are left out where the brokers did not tell.
    missing
        Topics that do not exist.
    """

    ids: Mapping[str, str] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()

    def differ_from(self, known: Mapping[str, str]) -> frozenset[str]:
        """Return the topics of `known` that have another id now; what is not told differs from nothing."""
        return frozenset(topic for topic, its in known.items() if self.ids.get(topic, its) != its)


class DeadClient(BrokerError):  # noqa: N818 - named after what happened
    """A source must be stopped and started again: one of its client's tasks has ended."""


@dataclass(frozen=True, slots=True)
class Membership:
    """What the group knows this worker by; it turns away who shows an old one."""

    generation: int
    member: str


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Records of one partition that one poll returned, in order.

    Parameters
    ----------
    source
        The number that the source gave to the partition.
    first
        Where the source stood before: no record between `first` and `offsets[0]` can be read.
    offsets, times
        int64[n]; times are the broker's, in milliseconds since the epoch.
    """

    source: int
    first: int
    values: Sequence[bytes | None]
    offsets: NDArray[np.int64]
    times: NDArray[np.int64]

    @property
    def end(self) -> int:
        """Return the offset after the last record."""
        return int(self.offsets[-1]) + 1


@dataclass(frozen=True, slots=True)
class Lost:
    """The source stood at an offset whose records are gone, or cannot be read.

    Parameters
    ----------
    after
        Where it can go on behind what cannot be read, if that is known.
    """

    source: int
    position: int
    unreadable: bool = False
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What open transactions on the input keep from every reader of committed records.

    Parameters
    ----------
    records
        From where the oldest open transaction of each partition began to the partition's end.
    seconds
        How long one partition has stood at the same open transaction, of all of them the longest.
    """

    records: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Polled:
    """What a poll brought."""

    chunks: tuple[Chunk, ...] = ()
    lost: tuple[Lost, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """Records for one partition of one topic, alike in headers and time.

    Parameters
    ----------
    values
        None is a tombstone: of compacted topics it takes the key away. `Texts` are sent in bulk.
    keys
        One for each value, or None where records have no key.
    time
        Milliseconds since the epoch.
    """

    topic: str
    partition: int
    values: Sequence[bytes | None]
    time: int
    headers: tuple[tuple[str, bytes], ...] = ()
    keys: Sequence[bytes] | None = None


class Source(Protocol):
    """The input topic as a member of a consumer group; partitions have small numbers that never change."""

    @property
    def marks(self) -> int:
        """Return how often the group has taken or given partitions; a takeover is due where this has moved."""
        ...

    def place(self, source: int) -> Place:
        """Return the topic and partition of a number."""
        ...

    @property
    def assigned(self) -> frozenset[int]:
        """Return the numbers of the partitions the group gave; none while it reassigns."""
        ...

    @property
    def settled(self) -> bool:
        """Return whether the group's last word was what it gave; False while it reassigns."""
        ...

    async def moved(self, marks: int, within: float) -> None:
        """Return as soon as `marks` is another number, or after so many seconds.

        Raises BrokerError where the group has refused us meanwhile, and DeadClient where only a new start helps.
        """
        ...

    def membership(self) -> Membership | None:
        """Return generation and member id; None outside the group."""
        ...

    async def start(self) -> None:
        """Connect and join the group; may be called again after `stop`. Raises BrokerError."""
        ...

    async def poll(self, wait: float, most: int) -> Polled:
        """Return what was fetched, waiting at most `wait` seconds for it.

        Raises BrokerError, and DeadClient where only a new start helps.
        """
        ...

    def seek(self, source: int, offset: int) -> None:
        """Take records of a partition from `offset` on."""
        ...

    def pause(self, sources: Collection[int]) -> None:
        """Fetch nothing of these partitions."""
        ...

    def resume(self, sources: Collection[int]) -> None:
        """Fetch these partitions."""
        ...

    async def bounds(self, sources: Collection[int], start: str) -> Mapping[int, int]:
        """Return the first offset (`earliest`) or the end (`latest`) of each partition. Raises BrokerError."""
        ...

    def lag(self, sources: Collection[int]) -> int | None:
        """Return how many records of assigned partitions are not yet read; None where not known.

        Those behind an open transaction count, though nobody can read them yet.
        """
        ...

    def held(self, sources: Collection[int]) -> Held:
        """Return what of assigned partitions lies behind open transactions, as far as it is known."""
        ...

    async def reachable(self) -> bool:
        """Return whether a broker answers. Raises BrokerError where it is known why none lets us in."""
        ...

    async def stop(self, within: float) -> None:
        """Leave the group and disconnect, in at most so many seconds; never raises."""
        ...


class Sink(Protocol):
    """Where windows go: records and offsets, in one transaction where the broker has transactions.

    The verbs are the numbered steps 4 to 9 of a closing. After any error `discard` follows, then `open`.
    """

    @property
    def delivery(self) -> str:
        """Return `exactly-once` or `at-least-once`."""
        ...

    async def open(self) -> None:
        """Connect, and settle what an earlier producer left open. Raises BrokerError."""
        ...

    async def partitions(self, topic: str) -> int:
        """Return how many partitions a topic has. Raises BrokerError, TopicError that names one that is missing."""
        ...

    async def topic_ids(self, topics: Collection[str]) -> TopicIds:
        """Return what the brokers know topics by; nothing where offsets are all there is. Raises BrokerError."""

    async def largest_batches(self, topics: Collection[str]) -> Mapping[str, int]:
        """Return how many bytes a batch may have in each topic; left out where that is not known.

        What a topic has refused counts where the brokers do not tell.
        """
        ...

    async def stable_offsets(self, places: Collection[Place]) -> dict[Place, int | None]:
        """Return the group's committed offsets; None where there is none. Raises BrokerError.

        Never answers while a transaction that might change them is open.
        """
        ...

    async def pin_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """Commit offsets outside of any transaction. Raises OwnershipLost, BrokerError."""
        ...

    async def begin(self) -> None:
        """Begin a transaction."""
        ...

    async def send(self, parcels: Sequence[Parcel]) -> None:
        """Hand over records; equal parcels give equal batches."""
        ...

    async def settle(self) -> Mapping[Place, int]:
        """Wait until the broker has taken every batch; return the offset of the first one in each partition.

        A partition is left out where the broker did not say.
        """
        ...

    async def add_offsets(self) -> None:
        """Make the group's offsets a part of the transaction."""
        ...

    async def commit_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """Set the group's offsets: the fence. Raises OwnershipLost."""
        ...

    async def commit(self) -> None:
        """Commit the transaction."""
        ...

    async def discard(self) -> None:
        """Throw the producer away, whatever state it is in; never raises."""
        ...


class Ledger(Protocol):
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
