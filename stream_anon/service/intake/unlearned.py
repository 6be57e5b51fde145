"""Records that were polled and cannot be read yet: nobody has learned the schemas that they name."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from stream_anon.ports import Chunk, Codec, Polled, Source

LEARN_WITHIN = 0.2  # seconds for which the loop waits at a time, so that windows close in time


class Unlearned:
    """Holds chunks back until the codec has learned what reading them needs.

    Meanwhile their partitions are paused. What is held is forgotten at a takeover, which seeks.

    Parameters
    ----------
    codec
        Learns.
    source
        Is paused and resumed.
    """

    def __init__(self, codec: Codec, source: Source) -> None:
        self._codec, self._source = codec, source
        self._held: tuple[Chunk, ...] = ()
        self._paused = False
        self._learning: asyncio.Task[None] | None = None
        self._learns: Sequence[Chunk] = ()

    def before(self, polled: Polled) -> Polled:
        """Return what is held, and then what was polled."""
        held, self._held = self._held, ()
        return Polled(held + polled.chunks, polled.lost) if held else polled

    async def learned(self, chunks: Sequence[Chunk], reading: Collection[int]) -> bool:
        """Return whether the codec can read these chunks; if not, they are held.

        Raises
        ------
        RegistryError
            If the codec could not learn; they are held likewise.
        """
        if self._learning is None:
            self._learns = chunks
            self._learning = asyncio.create_task(self._codec.learn([chunk.values for chunk in chunks]))
        await asyncio.wait([self._learning], timeout=LEARN_WITHIN)
        if self._learning.done():
            learning, self._learning = self._learning, None
            if learning.exception() is None and list(self._learns) == list(chunks):
                self._learns = ()
                self._resume(reading)
                return True
            self._hold(chunks, reading)
            learning.result()
            return False
        self._hold(chunks, reading)
        return False

    def _hold(self, chunks: Sequence[Chunk], reading: Collection[int]) -> None:
        self._held, self._paused = tuple(chunks), True
        self._source.pause(reading)

    def _resume(self, reading: Collection[int]) -> None:
        if self._paused:
            self._paused = False
            self._source.resume(reading)

    def forget(self) -> None:
        """Hold nothing any more."""
        self._held, self._paused = (), False

    async def close(self) -> None:
        """Stop learning."""
        if self._learning is not None:
            self._learning.cancel()
            await asyncio.gather(self._learning, return_exceptions=True)
