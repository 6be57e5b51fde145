"""The input topics: a consumer that commits nothing, resets nothing and reads only what is committed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Mapping
from dataclasses import replace

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError, OffsetOutOfRangeError

from stream_anon.adapters.kafka.assigning.sharing import Sharing
from stream_anon.adapters.kafka.bulk.draining import Unreadable, drain_in_batches
from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.bulk.unpacking_budget import AT_ONCE, FRAMED_AT_ONCE, Budget
from stream_anon.adapters.kafka.client.connection import Connection, broker_error, connection_error
from stream_anon.adapters.kafka.client.disconnecting import leave_consumer
from stream_anon.adapters.kafka.client.liveness import has_died
from stream_anon.adapters.kafka.client.open_transactions import OpenTransactions
from stream_anon.adapters.kafka.protocol.group_fencing import membership_of
from stream_anon.adapters.kafka.protocol.group_members import GroupMembers
from stream_anon.adapters.kafka.reading.assignment import Marks
from stream_anon.adapters.kafka.reading.subscription import LOOK_EVERY, Subscription
from stream_anon.errors import BrokerError, Cause
from stream_anon.ports import Chunk, DeadClient, GroupView, Held, Lost, Membership, Place, Polled
from stream_anon.ports.headers import NO_HEADERS, HeaderRule
from stream_anon.ports.input_topics import InputTopics

# A worker that waits for a broker does not poll, so heartbeats alone keep its membership.
_MAX_POLL_INTERVAL_MS = 2**31 - 1
_FETCH_WAIT_MS = 200
_JOIN_WITHIN = 30.0
_DETAILS_WITHIN = 1.0
_READ_AGAIN = 2  # how often an unreadable batch is fetched again


class KafkaSource(Marks, ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka ships no types
    """A member of a consumer group; see `ports.Source`.

    The group's callbacks only pause what was assigned and count; they never wait for the broker, since heartbeats
    start after they return.

    What the headers of a record put before its value is told by `headers`.

    If a record of more than `max_record_bytes` was compressed with others, only its beginning is given. Of records
    that name a schema (`framed`), a poll gives fewer bytes.

    How the group shares out its partitions follows from `sharing`; without it they are spread.
    """

    def __init__(
        self,
        connection: Connection,
        inputs: InputTopics,
        max_record_bytes: int = 2**31,
        headers: HeaderRule = NO_HEADERS,
        *,
        framed: bool = False,
        sharing: Sharing | None = None,
    ) -> None:
        super().__init__()
        self._headers = headers
        self._budget = Budget(max_record_bytes, at_once=FRAMED_AT_ONCE if framed else AT_ONCE)
        self._connection = connection
        self._subscription = Subscription(connection, inputs)
        self._sharing = sharing or Sharing()
        self._numbers: dict[TopicPartition, int] = {}
        self._places: list[TopicPartition] = []
        self._consumer: AIOKafkaConsumer | None = None
        self._next: dict[int, int] = {}
        self._unread: dict[int, tuple[Lost, int]] = {}  # each partition's unreadable batch, and its fetches
        self._since = 0.0  # when the group began to reassign, on the loop's clock
        self._ends: Mapping[TopicPartition, int] = {}
        self._transactions = OpenTransactions()
        self._view = GroupView({})
        self._members = GroupMembers(connection.group, connection.client_id("source"))

    def place(self, source: int) -> Place:
        """See `ports.Source`. Numbers are given in the order in which partitions were first assigned."""
        place = self._places[source]
        return place.topic, place.partition

    def _number(self, place: TopicPartition) -> int:
        number = self._numbers.setdefault(place, len(self._places))
        if number == len(self._places):
            self._places.append(place)
        return number

    def membership(self) -> Membership | None:
        """See `ports.Source`."""
        return membership_of(self._consumer) if self._consumer is not None else None

    async def start(self) -> None:
        """See `ports.Source`."""
        session = int(self._connection.session_timeout * 1000)
        # A join is answered once the slowest member has joined. Giving up earlier would begin another rebalance.
        within = max(self._connection.request_timeout_ms, 2 * session + 5000)
        consumer = self._connection.client(
            AIOKafkaConsumer,
            "source",
            request_timeout_ms=within,
            group_id=self._connection.group,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level="read_committed",
            partition_assignment_strategy=(self._sharing.assignor,),
            session_timeout_ms=session,
            heartbeat_interval_ms=max(session // 5, 100),
            # A member that has not joined by then is left behind, so that a dead one does not stop the others.
            rebalance_timeout_ms=session,
            max_poll_interval_ms=_MAX_POLL_INTERVAL_MS,
            fetch_max_wait_ms=_FETCH_WAIT_MS,
            metadata_max_age_ms=int(LOOK_EVERY * 1000),
        )
        self._connection.keep_up(consumer._client)  # noqa: SLF001 - pinned by a test
        self._consumer = consumer
        try:
            async with asyncio.timeout(self._patience):
                await self._subscription.begin(consumer, self)
                await consumer.start()
                drain_in_batches(consumer, self._budget, self._headers)
            self._since = asyncio.get_running_loop().time()  # its first assignment may still be on its way
            self._subscription.watch(consumer, self, lambda: self._mark(frozenset(), settled=False))
        except (KafkaError, OSError, AssertionError, TimeoutError) as error:
            await self.stop(1.0)
            raise await connection_error(self._connection, "joining the group", error) from None
        except BaseException:
            await self.stop(1.0)
            raise

    async def moved(self, marks: int, within: float) -> None:
        """See `ports.Source`."""
        if self._consumer is not None:
            _raise_if_dead(self._consumer)
            try:
                # Nobody polls while the group reassigns, and the client tries again only when it is asked.
                self._consumer._coordinator.check_errors()  # noqa: SLF001 - pinned by a test
            except KafkaError as error:
                raise broker_error("joining the group again", error) from None
            if not self._settled and asyncio.get_running_loop().time() - self._since > self._patience:
                raise DeadClient("the group has assigned nothing for too long")
        await super().moved(marks, within)

    @property
    def _patience(self) -> float:
        """Return the seconds that a join may take: it waits for the slowest member."""
        return _JOIN_WITHIN + 2 * self._connection.session_timeout

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:  # noqa: ARG002
        """Count; the eager protocol always takes all partitions."""
        self._mark(frozenset(), settled=False)

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Pause what was given, and count: a takeover is due."""
        consumer = self._running()
        consumer.pause(*assigned)
        for place in assigned:
            # With a position of any kind aiokafka does not use the committed offset, which may be unstable.
            consumer.seek(place, 0)
        membership = self.membership()
        if membership is not None:
            self._sharing.assignor.on_generation_assignment(membership.generation)
        self._mark(frozenset(self._number(place) for place in sorted(assigned)), settled=True)

    def _mark(self, assigned: frozenset[int], *, settled: bool) -> None:
        self._next.clear()
        if self._settled and not settled:
            self._since = asyncio.get_running_loop().time()
        super()._mark(assigned, settled=settled)

    async def poll(self, wait: float, most: int) -> Polled:
        """See `ports.Source`. May be cancelled: what was not returned stays with the client."""
        consumer = self._running()
        _raise_if_dead(consumer)
        self._budget.begin_poll()
        try:
            async with asyncio.timeout(wait + 0.05):  # while the group reassigns, aiokafka waits without limit
                answer = await consumer.getmany(timeout_ms=int(wait * 1000), max_records=most)
        except TimeoutError:
            return Polled()
        except OffsetOutOfRangeError as error:
            lost = self._lost(error)
            self._take_back({each.source for each in lost})
            return Polled(lost=tuple(lost))
        except (KafkaError, OSError) as error:
            self._take_back()
            raise broker_error("fetching", error) from None
        except Exception as error:  # noqa: BLE001 - a bug in the client; a new client may not meet it
            raise DeadClient(f"fetching: {type(error).__name__}") from None
        chunks, lost = [], []
        for place, records in answer.items():
            if isinstance(records, Unreadable):
                lost += self._unreadable(place, records)
            else:
                chunks += self._chunk(place, records)
        return Polled(tuple(chunks), tuple(lost))

    def _take_back(self, but: Collection[int] = ()) -> None:
        """Fetch again the records of other partitions that were lost with one partition's error.

        The client drains its partitions in turn and has moved their positions when one of them raises. Nobody would
        notice that records are missing, for offsets may have gaps.
        """
        for number, offset in self._next.items():
            if number not in but:
                with contextlib.suppress(IllegalStateError):  # not ours any more
                    self._running().seek(self._places[number], offset)

    def _unreadable(self, place: TopicPartition, found: Unreadable) -> list[Lost]:
        """Return where a partition cannot be read; nothing the first times: transport may be at fault."""
        number = self._numbers.get(place, -1)
        if number not in self._next:  # fetched for an earlier assignment
            return []
        lost = Lost(number, self._next[number], unreadable=True, after=found.after, fault=found.fault)
        before, fetches = self._unread.get(number, (None, 0))
        fetches = fetches + 1 if before == lost else 1
        self._unread[number] = lost, fetches
        return [lost] if fetches > _READ_AGAIN else []

    def _chunk(self, place: TopicPartition, records: Records | list[ConsumerRecord]) -> list[Chunk]:
        number = self._numbers.get(place, -1)
        first = self._next.get(number)
        if first is None or not records:  # fetched for an earlier assignment
            return []
        columns = records if isinstance(records, Records) else Records.of(records, self._headers)
        chunk = Chunk(number, first, columns.values, columns.offsets, columns.times)
        self._next[number] = chunk.end
        self._sharing.read(self.place(number), len(chunk.offsets))
        return [chunk]

    def _lost(self, error: OffsetOutOfRangeError) -> list[Lost]:
        positions: Mapping[TopicPartition, int] = error.args[0]
        return [Lost(self._number(place), position) for place, position in positions.items()]

    def seek(self, source: int, offset: int) -> None:
        """See `ports.Source`."""
        try:
            self._running().seek(self._places[source], offset)
        except IllegalStateError:
            raise BrokerError("seeking: the partition is not ours any more") from None
        self._next[source] = offset

    def pause(self, sources: Collection[int]) -> None:
        """See `ports.Source`."""
        if self._consumer is not None:  # without a consumer nothing is fetched
            self._consumer.pause(*self._given(sources))

    def resume(self, sources: Collection[int]) -> None:
        """See `ports.Source`."""
        self._running().resume(*self._given(sources))

    def _given(self, sources: Collection[int]) -> list[TopicPartition]:
        return [self._places[source] for source in sources if source in self._assigned]

    async def bounds(self, sources: Collection[int], start: str) -> Mapping[int, int]:
        """See `ports.Source`."""
        consumer = self._running()
        places = [self._places[source] for source in sources]
        ask = consumer.beginning_offsets if start == "earliest" else consumer.end_offsets
        try:
            answer = await ask(places)
        except (KafkaError, OSError) as error:
            raise broker_error("reading the input's bounds", error) from None
        if answer.keys() != set(places):
            raise BrokerError("reading the input's bounds: an answer without all partitions")
        return {self._numbers[place]: offset for place, offset in answer.items()}

    def lag(self, sources: Collection[int]) -> int | None:
        """See `ports.Source`."""
        if self._consumer is None:
            return None
        total = 0
        for source in self._assigned.intersection(sources):
            place, position = self._places[source], self._next.get(source)
            fetched = self._consumer.highwater(place)
            if fetched is None or position is None:
                return None
            # The end that a fetch told is old if much was fetched ahead.
            total += max(fetched - position, self._ends.get(place, 0) - position, 0)
        return total

    def held(self, sources: Collection[int]) -> Held:
        """See `ports.Source`. Goes by the last answers to fetches."""
        if self._consumer is None:
            return Held()
        return self._transactions.look(self._consumer, self._given(sources))

    async def reachable(self) -> bool:
        """See `ports.Source`."""
        if self._consumer is None:
            return False
        consumer = self._consumer
        self._sharing.begin_look()
        try:
            there = bool(await consumer._client.force_metadata_update())  # noqa: SLF001 - pinned by a test
        except KafkaError:
            there = False
        if not there:
            door = await self._connection.knock()
            if door.refused:
                raise BrokerError(f"connecting: {door.refused}", door.cause)
            if not door.absent:
                raise BrokerError("connecting: some brokers answer and others do not", Cause.UNREACHABLE)
            return False
        partitions = self._subscription.partitions(consumer._client.cluster)  # noqa: SLF001 - as above
        self._view = replace(self._view, partitions=partitions)
        # The ends serve the lag alone, and members a warning, so failing to read them is no error.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_DETAILS_WITHIN):
                given = self._given(self._assigned)
                self._ends = await consumer.end_offsets(given) if given else {}
        now = asyncio.get_running_loop().time()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_DETAILS_WITHIN):
                if self._settled:
                    await self._members.look(consumer._client, self._marks, now)  # noqa: SLF001 - as above
        if self._settled:
            self._sharing.look(consumer, now, self._waiting(consumer))
        view = replace(self._view, shared=self._members.strangers, unwatched=self._members.refused)
        self._view = self._sharing.seen(view)
        return there

    def _waiting(self, consumer: AIOKafkaConsumer) -> Mapping[Place, int]:
        """Return how many records of each partition wait; while others are read, none of one that stopped."""
        stopped = {self._numbers[place] for place in consumer.paused() if place in self._numbers}
        counts = self._assigned - stopped or self._assigned
        return {self.place(n): (self.lag([n]) or 0) if n in counts else 0 for n in self._assigned}

    def view(self) -> GroupView:
        """See `ports.Source`."""
        return self._view

    async def stop(self, within: float) -> None:
        """See `ports.Source`."""
        consumer, self._consumer = self._consumer, None
        self._mark(frozenset(), settled=False)
        await self._subscription.stop()
        if consumer is not None:
            await leave_consumer(consumer, within, 1.0)

    def _running(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise BrokerError("the consumer is not connected")
        return self._consumer


def _raise_if_dead(consumer: AIOKafkaConsumer) -> None:
    if has_died(consumer):
        raise DeadClient("a task of the consumer has ended")
