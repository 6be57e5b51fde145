"""Where windows go."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from stream_anon.ports.polled_records import Place
from stream_anon.ports.publication import Publication, Targets
from stream_anon.ports.source import Membership
from stream_anon.ports.steps import Steps
from stream_anon.ports.topic_ids import TopicIds


class Sink(Protocol):
    """Takes windows, and remembers with each of them up to where the input was released."""

    @property
    def delivery(self) -> str:
        """Return `exactly-once`, `at-least-once`, or `shadow` if nothing is published."""
        ...

    async def open(self) -> None:
        """Connect, and settle what an earlier attempt left open. Raises BrokerError.

        Does nothing while it is open.
        """
        ...

    async def targets(self) -> Targets:
        """Return where windows go. Raises BrokerError; TopicError if an output or an input is missing."""
        ...

    async def topic_ids(self, topics: Collection[str]) -> TopicIds:
        """Return Kafka's ids of topics; nothing if there is no ledger to compare them with. Raises BrokerError."""
        ...

    async def stable_offsets(self, places: Collection[Place]) -> dict[Place, int | None]:
        """Return up to where partitions were released; None for one of which nothing was. Raises BrokerError.

        Waits while a window is on its way that might change them.
        """
        ...

    async def pin_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """Set where partitions begin, without a window. Raises OwnershipLost, BrokerError."""
        ...

    async def publish(self, publication: Publication, membership: Membership, steps: Steps) -> None:
        """Publish a window or a bundle, and set the offsets to its ends: both or none, both visible on return.

        These are steps 4 to 9 of a closing. The service asks which of them was reached: at 6 a window shows that is
        too large, from 7 on it is only waited for.

        Parameters
        ----------
        membership
            The one that the window's records were taken under. It is the fence.

        Raises
        ------
        OwnershipLost
            If the group has moved on since. Nothing is visible.
        Overtaken, Recreated
            If others have released the records, or if the input was created anew. Nothing is visible.
        BatchRefused, TimeRefused
            If the output takes no records like these.
        Exception
            If it broke. What is visible is not known before `discard`, `open` and `stable_offsets`.
        """
        ...

    async def discard(self) -> None:
        """Throw every connection away in any state; never raises. After each error it comes before `open`."""
        ...
