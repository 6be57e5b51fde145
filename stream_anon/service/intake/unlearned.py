"""Records that were polled and cannot be read yet: nobody has learned the schemas that they name."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from stream_anon.errors import RegistryError
from stream_anon.ports import Chunk, Clock, Codec, Polled, Source
from stream_anon.service.retrying import Growth

LEARN_WITHIN = 0.2  # seconds for which the loop waits at a time, so that windows close in time
TOLD_AFTER = 10.0  # seconds after which schemas that are still asked for count as a registry that is away


class Unlearned:
    """Holds chunks back until the codec has learned what reading them needs.

    Meanwhile their partitions are paused. What is held is forgotten at a takeover, which seeks. After a failure the
    codec learns again with growing pauses, while the loop goes on.

    Parameters
    ----------
    codec
        Learns.
    source
        Is paused and resumed.
    """

    def __init__(self, codec: Codec, source: Source, clock: Clock) -> None:
        self._codec, self._source, self._clock = codec, source, clock
        self._held: tuple[Chunk, ...] = ()
        self._since: float | None = None
        self._learning: asyncio.Task[None] | None = None
        self._learns: Sequence[Chunk] = ()
        self._begun = self._again = 0.0  # when learning began, and when it may begin again
        self._growth = Growth()

    @property
    def since(self) -> float | None:
        """Return when the records that are held were received; None if none are."""
        return self._since

    def before(self, polled: Polled) -> Polled:
        """Return what is held, and then what was polled."""
        held, self._held = self._held, ()
        return Polled(held + polled.chunks, polled.lost) if held else polled

    async def learned(self, chunks: Sequence[Chunk], reading: Collection[int]) -> bool:
        """Return whether the codec can read these chunks; if not, they are held.

        Raises
        ------
        RegistryError
            If the codec could not learn, or takes long; they are held likewise.
        """
        received = self._clock.monotonic()
        try:
            learned = await self._learned(chunks)
        except BaseException:
            self._hold(chunks, reading, received)
            raise
        if learned:
            self._resume(reading)
        else:
            self._hold(chunks, reading, received)
        return learned

    async def _learned(self, chunks: Sequence[Chunk]) -> bool:
        now = asyncio.get_running_loop().time
        if self._learning is None:
            if self._again > now():
                await asyncio.sleep(min(LEARN_WITHIN, self._again - now()))
                return False
            self._learns, self._begun = chunks, now()
            self._learning = asyncio.create_task(self._codec.learn([chunk.values for chunk in chunks]))
        await asyncio.wait([self._learning], timeout=LEARN_WITHIN)
        if not self._learning.done():
            if now() - self._begun >= TOLD_AFTER:
                raise RegistryError(f"registry: schemas are still asked for after {TOLD_AFTER:.0f} s")
            return False
        learning, self._learning = self._learning, None
        try:
            learning.result()
        except RegistryError as error:
            self._again = now() + self._growth.next(error)
            raise
        self._growth.relax()
        return list(self._learns) == list(chunks)

    def _hold(self, chunks: Sequence[Chunk], reading: Collection[int], received: float) -> None:
        self._held = tuple(chunks)
        if self._since is None:
            self._since = received
        self._source.pause(reading)

    def _resume(self, reading: Collection[int]) -> None:
        if self._since is not None:
            self._since = None
            self._source.resume(reading)

    def forget(self) -> None:
        """Hold nothing any more, and ask for nothing that only records needed which are gone."""
        self._held, self._since, self._again = (), None, 0.0
        if self._learning is not None:
            self._learning.cancel()
            self._learning.add_done_callback(
                lambda task: task.cancelled() or task.exception()
            )  # nobody else hears it
            self._learning = None

    async def close(self) -> None:
        """Stop learning."""
        learning = self._learning
        self.forget()
        if learning is not None:
            await asyncio.gather(learning, return_exceptions=True)
