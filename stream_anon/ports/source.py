"""The input: a member of a consumer group."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from stream_anon.errors import BrokerError
from stream_anon.ports.place import Place
from stream_anon.ports.records import Held, Polled


class DeadClient(BrokerError):  # noqa: N818 - named after what happened
    """A source must be stopped and started again: one of its client's tasks has ended."""


@dataclass(frozen=True, slots=True)
class Membership:
    """What the group knows this worker by; it turns away who shows an old one."""

    generation: int
    member: str


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
