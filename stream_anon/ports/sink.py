"""Where windows go."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from stream_anon.ports.place import Place
from stream_anon.ports.records import Parcel
from stream_anon.ports.source import Membership
from stream_anon.ports.topic_ids import TopicIds


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
