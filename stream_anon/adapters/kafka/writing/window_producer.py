"""What publishes windows on Kafka: a producer, and the requests of its group."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from stream_anon.ports import Membership, Parcel, Place, TopicIds


class WindowProducer(Protocol):
    """Sends records and offsets, in one transaction if the broker has transactions.

    The verbs from `begin` to `commit` are steps of `KafkaSink.publish`. After any error `discard` follows, then
    `open`.
    """

    @property
    def delivery(self) -> str:
        """Return `exactly-once`, `at-least-once`, or `shadow` if nothing is published."""
        ...

    async def open(self) -> None:
        """Connect, and settle what an earlier producer left open. Raises BrokerError."""
        ...

    async def partitions(self, topic: str) -> int:
        """Return how many partitions a topic has. Raises BrokerError; TopicError if it is missing."""
        ...

    async def topic_ids(self, topics: Collection[str]) -> TopicIds:
        """Return Kafka's ids of topics; nothing if there is no ledger to compare them with. Raises BrokerError."""
        ...

    async def largest_batches(self, topics: Collection[str]) -> Mapping[str, int]:
        """Return how many bytes a batch may have in each topic; topics of which that is not known are left out.

        If the brokers do not tell, what a topic has refused counts.
        """
        ...

    async def stable_offsets(self, places: Collection[Place]) -> dict[Place, int | None]:
        """Return the group's committed offsets; None for a partition without one. Raises BrokerError.

        Waits while a transaction is open that might change them.
        """
        ...

    async def pin_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """Commit offsets outside of a transaction. Raises OwnershipLost, BrokerError."""
        ...

    async def begin(self) -> None:
        """Begin a transaction."""
        ...

    async def send(self, parcels: Sequence[Parcel]) -> None:
        """Hand over records; equal parcels give equal batches."""
        ...

    async def settle(self) -> Mapping[Place, int]:
        """Wait until the broker has taken every batch; return the offset of the first one in each partition.

        A partition is left out if the broker did not tell.
        """
        ...

    async def add_offsets(self) -> None:
        """Make the group's offsets a part of the transaction."""
        ...

    async def commit_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """Set the group's offsets. This is the fence: raises OwnershipLost for an old membership."""
        ...

    async def commit(self) -> None:
        """Commit the transaction."""
        ...

    async def discard(self) -> None:
        """Throw the producer away in any state; never raises."""
        ...
