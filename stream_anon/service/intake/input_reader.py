"""Read the input: poll, check that nothing is missing, decode, and hand the rows to the engine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stream_anon.engine.window import SealedWindow
from stream_anon.errors import BrokerError, Cause, TopicError
from stream_anon.microdata.batch import CodedBatch
from stream_anon.ports import Chunk, DeadClient, Held, Lost, Polled
from stream_anon.service.components import Components
from stream_anon.service.events import Away, ReadingFault, Readings, RecordsConsumed
from stream_anon.service.intake.told_losses import ToldLosses, stopped_by
from stream_anon.service.intake.unlearned import Unlearned
from stream_anon.service.intake.unread_records import Backlog
from stream_anon.service.intake.waiting_readings import WaitingReadings

MOST_POLLED = 10_000
MOST_FILLED = 4  # windows, however small, that one poll may fill: each poll costs as much as some hundred records
LEAST_TIMES, MOST_TIMES = 100_000, 1_000_000  # bounds on what is kept of four windows, 16 bytes a record
PROBE_EVERY = 2.0
PROBE_WITHIN = 3.0
_NOBODY = BrokerError("no broker answers", Cause.UNREACHABLE)
# One broker was asked; the others may be well.
_NO_ANSWER = BrokerError(f"the broker that was asked has not answered for {PROBE_WITHIN:g} s", Cause.UNREACHABLE)
POLLS_TO_TRUST = 10  # without a record; 2 s


@dataclass(frozen=True, slots=True, eq=False)
class Full:
    """A window that reading has filled, and how its records were read."""

    window: SealedWindow
    readings: Readings


class Reader:
    """Reads the open partitions, each from exactly the next offset of its window."""

    def __init__(self, parts: Components) -> None:
        self._parts = parts
        self._source, self._engine, self._clock = parts.source, parts.engine, parts.clock
        self._tell, self._reachability = parts.tell, parts.reachability
        self._next: dict[int, int] = {}  # the next offset that each open source must bring
        self._stopped, self._left = Backlog(parts.source), Backlog(parts.source)
        most_times = min(max(LEAST_TIMES, 4 * parts.policy.window.max_records), MOST_TIMES)
        self._readings = WaitingReadings(most_times)
        self._is_behind = False
        self._probe: asyncio.Task[BrokerError | None] | None = None
        self._probed = parts.clock.monotonic()
        self._topic_ids: Mapping[str, str] = {}
        self._is_another_topic = False
        self._unlearned = Unlearned(parts.codec, parts.source, parts.clock)
        self._losses = ToldLosses(parts.tell)
        self._doubts = 0  # polls that must succeed before a broker that answers counts as one that gives records

    def go_on(
        self,
        opened: Mapping[int, int],
        kept: frozenset[int],
        stopped: Mapping[int, int],
        topic_ids: Mapping[str, str],
    ) -> None:
        """Read these sources from these offsets on; rows of `kept` are still in the open window.

        Parameters
        ----------
        stopped
            For each source that is ours but must not be read, where its unread records begin.
        topic_ids
            Kafka's ids of the input topics, as far as known.
        """
        self._next = dict(opened)
        self._unlearned.forget()
        self._readings.keep(kept)
        self._stopped.reset(stopped)
        self._topic_ids, self._is_another_topic = topic_ids, False
        self._left.reset({})
        self._probed = -np.inf  # asks at once how many records wait

    def leave(self, sources: Mapping[int, int | None]) -> None:
        """Leave sources of ours to workers of a newer policy; records that wait there count as lag, if known."""
        self._left.reset({source: begin for source, begin in sources.items() if begin is not None})

    def let_go(self) -> None:
        """Read nothing any more."""
        self._next.clear()
        self._unlearned.forget()
        self._readings.keep(())

    @property
    def is_another_topic(self) -> bool:
        """Return whether an input topic was created anew. Then a takeover is due, and no old offset counts."""
        return self._is_another_topic

    @property
    def is_behind(self) -> bool:
        """Return whether the last poll brought as much as it might: more is at hand."""
        return self._is_behind

    @property
    def reading(self) -> frozenset[int]:
        """Return the sources that are read."""
        return frozenset(self._next)

    @property
    def waits(self) -> bool:
        """Return whether records that were received wait for their schemas."""
        return self._unlearned.since is not None

    @property
    def stopped(self) -> int:
        """Return how many of our partitions are not read and need an operator."""
        return len(self._stopped)

    def lag(self) -> int | None:
        """Return how many records of our partitions are not yet read; None if not known."""
        parts = self._source.lag(self._next.keys()), self._stopped.size, self._left.size
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    def held(self) -> Held:
        """Return how many records of our partitions lie behind open transactions, and for how long."""
        return self._source.held(self._next.keys())

    def filled(self, window: SealedWindow) -> Full:
        """Return a sealed window with what is known of the reading of its records, which is then forgotten."""
        return Full(window, self._readings.take(window.ranges))

    async def poll(self, wait: float, room: int) -> Polled:
        """Return the records that there are, waiting at most `wait` seconds. Raises BrokerError.

        `room` is how many records may still wait to be published: small windows are read several at a time.
        Records that wait for their schemas come first. Meanwhile nothing is fetched, but polls go on: they keep the
        membership.
        """
        try:
            size = self._parts.engine.size
            most = min(max(size, min(MOST_FILLED * size, room // 2)), MOST_POLLED)
            polled = await self._source.poll(wait, most)
        except (BrokerError, DeadClient):
            self._doubts, self._is_behind = POLLS_TO_TRUST, False
            raise
        self._is_behind = sum(len(chunk.offsets) for chunk in polled.chunks) >= most
        self._doubts = 0 if polled.chunks else max(self._doubts - 1, 0)
        return self._unlearned.before(polled)

    async def take(self, polled: Polled) -> list[Full] | None:
        """Hand records to the engine; return the windows they filled, or None if a stretch is missing.

        After None nothing of this poll counts, and a takeover must seek to where the windows stand.

        Raises
        ------
        RegistryError
            If the schemas that the records name cannot be learned. The next poll returns the records again.
        """
        in_hand = {chunk.source for chunk in polled.chunks}
        for lost in polled.lost:
            await self._answer_loss(lost, behind_records=lost.source in in_hand)
        if self._is_another_topic:
            return None
        now = self._clock.monotonic()
        chunks = [chunk for chunk in polled.chunks if chunk.source in self._next]
        if any(chunk.first != self._next[chunk.source] for chunk in chunks):
            return None
        received = now if self._unlearned.since is None else self._unlearned.since
        if chunks:
            if not await self._unlearned.learned(chunks, self.reading):
                return []
            self._reachability.back(Away.ASKING_REGISTRY)
        full, decoding, adding = [], 0.0, 0.0
        for chunk in chunks:
            begun = self._clock.monotonic()
            with self._parts.busy.working():
                batch = self._decoded(chunk)
                decoded = self._clock.monotonic()
                full += self._feed(chunk, batch, now, received)
            decoding += decoded - begun
            adding += self._clock.monotonic() - decoded
        if chunks:
            records = sum(len(chunk.offsets) for chunk in chunks)
            self._tell(RecordsConsumed(records, decoding, adding))
        return full

    def _decoded(self, chunk: Chunk) -> CodedBatch:
        codec = self._parts.codec
        faults, singly, coerced = codec.faults, codec.read_singly, codec.coerced
        batch = codec.decode(chunk.values, chunk.source, chunk.offsets)
        self._readings.add(chunk, codec.read_singly - singly, codec.coerced - coerced)
        if codec.faults > faults:
            self._tell(ReadingFault(self._source.place(chunk.source), int(chunk.offsets[0])))
        return batch

    def _feed(self, chunk: Chunk, batch: CodedBatch, now: float, received: float) -> list[Full]:
        sealed = self._engine.add(batch, now, received)
        self._next[chunk.source] = chunk.end
        return [self.filled(window) for window in sealed]

    async def _answer_loss(self, lost: Lost, *, behind_records: bool) -> None:
        """Go on behind a loss, or stop its partition; records before it may be in hand, which nobody took yet."""
        if lost.source not in self._next:
            return
        marks = self._source.marks
        place = self._source.place(lost.source)
        try:
            await self._look_at_topics()
        except BrokerError:
            return  # it will be told again
        if self._is_another_topic:
            return
        if lost.fault:
            self._tell(ReadingFault(place, lost.position))
        if self._parts.choices.lost_input == "skip":
            try:
                first = await self._first_after(lost)
            except BrokerError:
                return  # it will be told again
            if self._source.marks != marks:
                return  # the group moved meanwhile: a takeover decides who reads this partition, and from where
            if first > lost.position:
                self._source.seek(lost.source, first)
                self._next[lost.source] = first
                if not behind_records:  # else these do not fit any more, and a takeover reads them again
                    self._engine.skip(lost.source, lost.position, first, self._clock.monotonic())
                self._losses.take(place, self._topic_ids.get(place[0]), lost.position, first)
                return
        self._source.pause([lost.source])
        del self._next[lost.source]
        self._stopped.add(lost.source, lost.position)
        self._probed = -np.inf
        self._tell(stopped_by(lost, place))

    async def _look_at_topics(self) -> TopicError | None:
        """Note if an input topic was created anew; return an error if an output is missing. Raises BrokerError."""
        known, outputs = self._topic_ids, self._parts.choices.outputs
        now = await self._parts.sink.topic_ids({*known, *outputs})
        if self._topic_ids is known and now.differ_from(known):  # if not, a takeover has looked meanwhile
            self._is_another_topic = True
        missing = [topic for topic in outputs if topic in now.missing]
        if not missing:
            return None
        return TopicError(f"{missing[0]}: does not exist; create it, then the worker continues by itself")

    async def _first_after(self, lost: Lost) -> int:
        """Return the first offset that can be read again. Raises BrokerError."""
        if lost.unreadable:
            return lost.position if lost.after is None else lost.after
        return (await self._source.bounds([lost.source], "earliest"))[lost.source]

    def watch_broker(self) -> None:
        """Ask now and then whether the broker is there, since fetching fails silently."""
        now = self._clock.monotonic()
        if self._probe is not None and self._probe.done():
            absent = _NOBODY if self._probe.cancelled() else self._probe.result()
            self._probe = None
            if absent is not None:
                self._reachability.failed(Away.CONSUMING, absent)
            elif not self._doubts:  # a broker that answers may still refuse to give records
                self._reachability.back(Away.CONSUMING)
        if self._probe is None and now - self._probed >= PROBE_EVERY:
            self._probed = now
            self._probe = asyncio.create_task(self._ask_broker())

    async def _ask_broker(self) -> BrokerError | None:
        """Return an error that says why no broker serves us, or which topic is missing; None if all is well."""
        absent, missing = None, None
        try:
            async with asyncio.timeout(PROBE_WITHIN):
                if not await self._source.reachable():
                    absent = _NOBODY
        except BrokerError as error:
            return error
        except TimeoutError:
            absent = _NO_ANSWER
        with contextlib.suppress(BrokerError, TimeoutError):  # neither error says anything about the broker
            async with asyncio.timeout(PROBE_WITHIN):
                missing = await self._look_at_topics()
                await self._stopped.look()
                await self._left.look()
        return absent or missing

    async def close(self) -> None:
        """Stop asking."""
        await self._unlearned.close()
        if self._probe is not None:
            self._probe.cancel()
            await asyncio.gather(self._probe, return_exceptions=True)
