"""The partitions that the group gave to a source, and a count of how often they may have changed."""

from __future__ import annotations

import asyncio
import contextlib


class Marks:
    """The part of `ports.Source` that a worker asks before each turn; the source calls `_mark`."""

    def __init__(self) -> None:
        self._assigned: frozenset[int] = frozenset()
        self._settled = False
        self._marks = 0
        self._moved = asyncio.Event()

    @property
    def marks(self) -> int:
        """See `ports.Source`."""
        return self._marks

    @property
    def assigned(self) -> frozenset[int]:
        """See `ports.Source`."""
        return self._assigned

    @property
    def settled(self) -> bool:
        """See `ports.Source`."""
        return self._settled

    async def moved(self, marks: int, within: float) -> None:
        """See `ports.Source`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self._marks == marks:
                    self._moved.clear()
                    await self._moved.wait()

    def _mark(self, assigned: frozenset[int], *, settled: bool) -> None:
        self._assigned, self._settled = assigned, settled
        self._marks += 1
        self._moved.set()
