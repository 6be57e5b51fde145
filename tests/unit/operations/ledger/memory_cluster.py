"""What the commands on a ledger ask of a cluster, of a broker in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from stream_anon.ports import Place
from tests.support.memory import INPUT, MemoryBroker


@dataclass
class MemoryCluster:
    """A cluster of one broker, with strangers in the group, topics that are missing, and ends that may be given."""

    broker: MemoryBroker
    count: int = 0
    end: int | None = None
    missing: frozenset[str] = frozenset()

    async def topics(self) -> Collection[str]:
        return [INPUT, "other"]

    async def partitions(self, topic: str) -> int | None:
        return None if topic in self.missing else len(self.broker.input)

    async def members(self) -> int:
        return self.count + len(self.broker.members)

    async def first_offsets(self, places: Collection[Place]) -> Mapping[Place, int]:
        return {place: self.broker.first[place[1]] for place in places}

    async def end_offsets(self, places: Collection[Place]) -> Mapping[Place, int]:
        return {place: len(self.broker.input[place[1]]) if self.end is None else self.end for place in places}
