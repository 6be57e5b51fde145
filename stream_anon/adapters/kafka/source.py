"""The input topic: a consumer that commits nothing, resets nothing and reads only what is committed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Mapping
from operator import attrgetter

import numpy as np
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import IllegalStateError, KafkaError, OffsetOutOfRangeError

from stream_anon.adapters.kafka.connection import Connection, broker_error
from stream_anon.adapters.kafka.draining import drain_plainly
from stream_anon.adapters.kafka.group_fencing import membership_of
from stream_anon.adapters.kafka.leaving import leave
from stream_anon.adapters.kafka.seam import Chunk, DeadClient, Lost, Membership, Place, Polled
from stream_anon.errors import BrokerError

# A worker that waits for a broker does not poll; the group is told of it by heartbeats alone.
_MAX_POLL_INTERVAL_MS = 2**31 - 1
_FETCH_WAIT_MS = 200
_JOIN_WITHIN = 30.0
_OFFSET, _TIME = attrgetter("offset"), attrgetter("timestamp")


class KafkaSource(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka ships no types
    """A member of a consumer group on one topic; see `seam.Source`.

    The group's callbacks only pause what was assigned and count; they never wait for the broker, since heartbeats
    start after they return.
    """

    def __init__(self, connection: Connection, topic: str) -> None:
        self._connection = connection
        self._topic = topic
        self._consumer: AIOKafkaConsumer | None = None
        self._assigned: frozenset[int] = frozenset()
        self._marks = 0
        self._moved = asyncio.Event()
        self._settled = False
        self._next: dict[int, int] = {}

    @property
    def marks(self) -> int:
        """See `seam.Source`."""
        return self._marks

    def place(self, source: int) -> Place:
        """See `seam.Source`. A partition's number is its Kafka number: there is one input topic."""
        return self._topic, source

    @property
    def assigned(self) -> frozenset[int]:
        """See `seam.Source`."""
        return self._assigned

    @property
    def settled(self) -> bool:
        """See `seam.Source`."""
        return self._settled

    async def moved(self, marks: int, within: float) -> None:
        """See `seam.Source`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self._marks == marks:
                    self._moved.clear()
                    await self._moved.wait()

    def membership(self) -> Membership | None:
        """See `seam.Source`."""
        return membership_of(self._consumer) if self._consumer is not None else None

    async def start(self) -> None:
        """See `seam.Source`."""
        session = int(self._connection.session_timeout * 1000)
        options = self._connection.options("source")
        # The answer to a join waits for the slowest member; giving up before it would begin another rebalance.
        options["request_timeout_ms"] = max(options["request_timeout_ms"], 2 * session + 5000)
        consumer = AIOKafkaConsumer(
            **options,
            group_id=self._connection.group,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level="read_committed",
            partition_assignment_strategy=(StickyPartitionAssignor,),
            session_timeout_ms=session,
            heartbeat_interval_ms=max(session // 5, 100),
            # Whoever has not joined again after so long is left behind; a dead member must not stop the rest.
            rebalance_timeout_ms=session,
            max_poll_interval_ms=_MAX_POLL_INTERVAL_MS,
            fetch_max_wait_ms=_FETCH_WAIT_MS,
        )
        consumer.subscribe([self._topic], listener=self)
        self._consumer = consumer
        try:
            # A join may have to wait for the slowest member's rebalance timeout.
            async with asyncio.timeout(_JOIN_WITHIN + 2 * self._connection.session_timeout):
                await consumer.start()
        except (KafkaError, OSError, AssertionError, TimeoutError) as error:
            await self.stop(1.0)
            raise broker_error("joining the group", error) from None
        except BaseException:
            await self.stop(1.0)
            raise

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:  # noqa: ARG002
        """Count; the eager protocol always takes all partitions."""
        self._mark(frozenset(), settled=False)

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Pause what was given, and count: a takeover is due."""
        consumer = self._running()
        consumer.pause(*assigned)
        for place in assigned:
            # With a position of any kind aiokafka does not go by the committed offset, which may be unstable.
            consumer.seek(place, 0)
        self._mark(frozenset(place.partition for place in assigned), settled=True)

    def _mark(self, assigned: frozenset[int], *, settled: bool) -> None:
        self._assigned, self._settled = assigned, settled
        self._next.clear()
        self._marks += 1
        self._moved.set()

    async def poll(self, wait: float, most: int) -> Polled:
        """See `seam.Source`. May be cancelled: what was not returned stays with the client."""
        consumer = self._running()
        self._raise_if_dead(consumer)
        drain_plainly(consumer)
        try:
            async with asyncio.timeout(wait + 0.05):  # while the group reassigns, aiokafka waits without limit
                answer = await consumer.getmany(timeout_ms=int(wait * 1000), max_records=most)
        except TimeoutError:
            return Polled()
        except OffsetOutOfRangeError as error:
            return Polled(lost=tuple(self._lost(error)))
        except (KafkaError, OSError) as error:
            raise broker_error("fetching", error) from None
        except Exception as error:  # noqa: BLE001 - a bug of the client's: a new one may do better
            raise DeadClient(f"fetching: {type(error).__name__}") from None
        chunks = (self._chunk(place, records) for place, records in answer.items())
        return Polled(tuple(chunk for chunk in chunks if chunk is not None))

    def _chunk(self, place: TopicPartition, records: list[ConsumerRecord]) -> Chunk | None:
        first = self._next.get(place.partition)
        if first is None or not records:  # fetched for an assignment that is over
            return None
        n = len(records)
        values = [record.value for record in records]
        offsets = np.fromiter(map(_OFFSET, records), np.int64, n)
        times = np.fromiter(map(_TIME, records), np.int64, n)
        chunk = Chunk(place.partition, first, values, offsets, times)
        self._next[place.partition] = chunk.end
        return chunk

    def _lost(self, error: OffsetOutOfRangeError) -> list[Lost]:
        positions: Mapping[TopicPartition, int] = error.args[0]
        return [Lost(place.partition, position) for place, position in positions.items()]

    def seek(self, source: int, offset: int) -> None:
        """See `seam.Source`."""
        try:
            self._running().seek(TopicPartition(self._topic, source), offset)
        except IllegalStateError:
            raise BrokerError("seeking: the partition is not ours any more") from None
        self._next[source] = offset

    def pause(self, sources: Collection[int]) -> None:
        """See `seam.Source`."""
        if self._consumer is not None:  # else nothing is fetched
            self._consumer.pause(*self._given(sources))

    def resume(self, sources: Collection[int]) -> None:
        """See `seam.Source`."""
        self._running().resume(*self._given(sources))

    def _given(self, sources: Collection[int]) -> list[TopicPartition]:
        return [TopicPartition(self._topic, source) for source in sources if source in self._assigned]

    async def bounds(self, sources: Collection[int], start: str) -> Mapping[int, int]:
        """See `seam.Source`."""
        consumer = self._running()
        places = [TopicPartition(self._topic, source) for source in sources]
        ask = consumer.beginning_offsets if start == "earliest" else consumer.end_offsets
        try:
            answer = await ask(places)
        except (KafkaError, OSError) as error:
            raise broker_error("reading the input's bounds", error) from None
        if answer.keys() != set(places):
            raise BrokerError("reading the input's bounds: an answer without all partitions")
        return {place.partition: offset for place, offset in answer.items()}

    def lag(self, sources: Collection[int]) -> int | None:
        """See `seam.Source`."""
        if self._consumer is None:
            return None
        total = 0
        for source in self._assigned.intersection(sources):
            end = self._consumer.last_stable_offset(TopicPartition(self._topic, source))
            position = self._next.get(source)
            if end is None or position is None:
                return None
            total += max(end - position, 0)
        return total

    async def reachable(self) -> bool:
        """See `seam.Source`."""
        if self._consumer is None:
            return False
        client = self._consumer._client  # noqa: SLF001 - pinned by a test
        try:
            return bool(await client.force_metadata_update())
        except KafkaError:
            return False

    async def stop(self, within: float) -> None:
        """See `seam.Source`."""
        consumer, self._consumer = self._consumer, None
        self._mark(frozenset(), settled=False)
        if consumer is None:
            return
        await leave(consumer.stop(), within)
        # What the polite way left: connections and the tasks behind them.
        client = consumer._client  # noqa: SLF001 - pinned by a test
        await leave(client.close(), 1.0)

    def _running(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise BrokerError("the consumer is not connected")
        return self._consumer

    def _raise_if_dead(self, consumer: AIOKafkaConsumer) -> None:
        """Raise where a background task of the client has ended: it would fetch nothing, in silence."""
        tasks = (consumer._fetcher._fetch_task, consumer._coordinator._coordination_task)  # noqa: SLF001 - pinned
        if any(task.done() for task in tasks):
            raise DeadClient("a task of the consumer has ended")
