"""A Faust app in memory: a group that gives partitions, and a stream that hands over every record."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from stream_anon.hosts.faust.faust_source import FaustSource
from stream_anon.ports import Membership, Place


class FaustStream:
    """The app beside a `FaustSource`: its consumer seeks, and one task feeds the source as an agent does.

    Partitions are read from their first record on until somebody seeks.
    """

    def __init__(self, places: Collection[Place]) -> None:
        self.records: dict[Place, list[tuple[bytes | None, int]]] = {place: [] for place in places}
        self.first = dict.fromkeys(places, 0)
        self.generation = 0
        self._cursors: dict[Place, int] = {}
        self._wake = asyncio.Event()
        self._agent: asyncio.Task[None] | None = None

    def give(self, source: FaustSource) -> None:
        """Take all partitions and give them anew, in a new generation."""
        self.generation += 1
        source.revoked()
        source.assigned_now(self.records.keys(), self.generation)
        self._cursors = dict(self.first)
        if self._agent is None:
            self._agent = asyncio.create_task(self._stream(source))
        self._wake.set()

    def write(self, place: Place, values: Collection[bytes | None]) -> None:
        self.records[place] += [(value, 1000) for value in values]
        self._wake.set()

    async def _stream(self, source: FaustSource) -> None:
        while True:
            self._wake.clear()
            for place, records in self.records.items():
                offset = max(self._cursors[place], self.first[place])
                if offset < len(records):
                    self._cursors[place] = offset + 1
                    self._wake.set()
                    await source.feed(place, offset, *records[offset], self.generation)
            await self._wake.wait()
            await asyncio.sleep(0)

    async def stop(self) -> None:
        if self._agent is not None:
            self._agent.cancel()
            await asyncio.gather(self._agent, return_exceptions=True)

    # -- what the source asks of the app's consumer; see `stream_anon.hosts.faust.group.FaustGroup` ---------------

    def membership(self) -> Membership | None:
        return Membership(self.generation, "app") if self.generation else None

    def read_committed(self) -> None:
        """Do nothing: no record is of an open transaction."""

    async def seek(self, place: Place, offset: int) -> None:
        self._cursors[place] = offset
        self._wake.set()

    async def bounds(self, places: Collection[Place], start: str) -> Mapping[Place, int]:
        return {place: self.first[place] if start == "earliest" else len(self.records[place]) for place in places}

    def end(self, place: Place) -> int | None:
        return len(self.records[place])

    async def reachable(self) -> bool:
        return True
