"""The input: a member of a consumer group."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from stream_anon.errors import BrokerError
from stream_anon.ports.polled_records import Held, Place, Polled


class DeadClient(BrokerError):  # noqa: N818 - named after what happened
    """A source must be stopped and started again: one of its client's tasks has ended."""


@dataclass(frozen=True, slots=True)
class Membership:
    """What identifies this worker in its group, which turns away an old membership."""

    generation: int
    member: str


@dataclass(frozen=True, slots=True)
class GroupView:
    """What a source has seen of its group.

    Parameters
    ----------
    partitions
        How many partitions each input topic has, whoever owns them.
    shared
        Whether somebody who is no worker is a member of the group, and may be given partitions.
    unwatched
        Whether this user may not ask who the members are, so that nobody would notice.
    members, carriers
        How many members a group has that packs its partitions, and how many of them have partitions; both 0 if the
        group spreads them.
    busy
        Share of the last minute in which this worker was busy; None before it has had its partitions for a minute.
    """

    partitions: Mapping[str, int]
    shared: bool = False
    unwatched: bool = False
    members: int = 0
    carriers: int = 0
    busy: float | None = None


class Source(Protocol):
    """The input topic as a member of a consumer group; partitions have small numbers that never change."""

    @property
    def marks(self) -> int:
        """Return how often the group has taken or given partitions; a takeover is due when this has changed."""
        ...

    def place(self, source: int) -> Place:
        """Return the topic and partition of a number."""
        ...

    @property
    def assigned(self) -> frozenset[int]:
        """Return the numbers of the partitions that the group gave; none while it reassigns."""
        ...

    @property
    def settled(self) -> bool:
        """Return whether the group has given its partitions; False while it reassigns."""
        ...

    async def moved(self, marks: int, within: float) -> None:
        """Return as soon as `marks` is another number, or after `within` seconds.

        Raises BrokerError if the group has refused us meanwhile, and DeadClient if only a new start helps.
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

        Raises BrokerError, and DeadClient if only a new start helps.
        """
        ...

    def seek(self, source: int, offset: int) -> None:
        """Take records of an assigned partition from `offset` on."""
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
        """Return how many records of assigned partitions are not yet read; None if not known.

        Records behind an open transaction count, although nobody can read them yet.
        """
        ...

    def held(self, sources: Collection[int]) -> Held:
        """Return how much of assigned partitions lies behind open transactions, as far as known."""
        ...

    async def reachable(self) -> bool:
        """Return whether a broker answers. Raises BrokerError if the brokers refuse us and say why."""
        ...

    def view(self) -> GroupView:
        """Return what `reachable` saw of the group; no topic if it has seen nothing."""
        ...

    async def stop(self, within: float) -> None:
        """Leave the group and disconnect within `within` seconds; never raises."""
        ...
