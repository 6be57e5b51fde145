"""The ledger: a compacted topic with the next offset to release of every input partition.

Its entries are part of each window's transaction. Committed offsets can expire, be deleted or be set back. The
ledger keeps its entries, so that no record is released twice whatever happens to the offsets.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import replace

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from stream_anon.adapters.kafka.client.connection import Connection, broker_error, connection_error
from stream_anon.adapters.kafka.client.open_transactions import OpenTransactions
from stream_anon.adapters.kafka.ledger.entry_format import key_of, value_of
from stream_anon.adapters.kafka.ledger.following import (
    fetched,
    follows,
    positions,
    raise_if_ended,
    stop_politely,
    unless_ended,
)
from stream_anon.adapters.kafka.ledger.marking import has_records, send_one
from stream_anon.adapters.kafka.ledger.noted_entries import NotedEntries
from stream_anon.adapters.kafka.ledger.tail import Tail
from stream_anon.adapters.kafka.protocol.topic_ids import topic_ids
from stream_anon.adapters.kafka.reading.topic_consumer import places_of
from stream_anon.errors import BrokerError, Cause, LedgerMissing, TopicError
from stream_anon.ports import LedgerEntry, Parcel, Place

_OPEN_WITHIN = 60.0
_STALLED = 30.0  # seconds in which no further entry can be read
_FETCH_WAIT_MS = 100
_PARTITION = 0  # of the ledger; all entries go there, for a key must stay in one partition
_FOLLOWING = "following the ledger"
_LOOK_EVERY = 2.0  # seconds until a deletion of the topic is noticed
_UNCONTESTED = 0.10  # of a transaction's timeout


class KafkaLedger:
    """A follower of the ledger's topic; see `ports.ReleaseLedger`.

    Parameters
    ----------
    revision
        `privacy.revision`, for the entries that are written. Nothing is written after entries of a higher one.
    output
        The topic of the released records. If it holds records and the ledger never held an entry, the ledger is not
        the one that was written with them, and is marked as incomplete. Without this, nothing is marked.
    """

    def __init__(self, connection: Connection, topic: str, revision: int = 0, output: str | None = None) -> None:
        self._connection = connection
        self._topic = topic
        self._output = output
        self._is_incomplete = False
        self._revision = revision
        self._consumer: AIOKafkaConsumer | None = None
        self._tail: Tail | None = None
        self._follower: asyncio.Task[None] | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._noted = NotedEntries(topic)
        self._topic_id: str | None = None  # of the topic that is followed
        self._cluster: str | None = None
        self._transactions = OpenTransactions()
        self._held_answered, self._held_seconds = 0, 0.0  # when the last answer came, and what it told

    async def open(self) -> None:
        """See `ports.ReleaseLedger`. Does nothing while the ledger is followed; otherwise it begins again.

        Each of the two followers may have ended by itself: after a refusal, or with a task of its client.
        """
        if self._tail is not None and self._tail.follows and follows(self._consumer, self._follower):
            return
        await self.discard()
        self._consumer = self._connection.client(
            AIOKafkaConsumer,
            "ledger",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            fetch_max_wait_ms=_FETCH_WAIT_MS,
        )
        self._connection.keep_up(self._consumer._client)  # noqa: SLF001 - pinned by a test
        self._tail = Tail(self._connection)
        try:
            async with asyncio.timeout(_OPEN_WITHIN):
                await self._consumer.start()
                await self._raise_if_gone(self._consumer)
                await self._tail.start()
                self._consumer.assign(await places_of(self._consumer, self._topic))
                self._noted.begin()
                self._follower = asyncio.create_task(self._follow(self._consumer, self._tail))
            await self.caught_up()  # as long as entries come, however many there are
            async with asyncio.timeout(_OPEN_WITHIN):
                self._is_incomplete = await self._lacks_entries(self._consumer, self._tail)
                # All before these positions is settled.
                self._tail.follow({p: await self._consumer.position(p) for p in self._consumer.assignment()})
        except BrokerError:
            await self.discard()
            raise
        except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
            await self.discard()
            raise await connection_error(self._connection, "opening the ledger", error) from None
        except BaseException:
            await self.discard()
            raise

    async def _raise_if_gone(self, consumer: AIOKafkaConsumer) -> None:
        """Raise LedgerMissing if the topic does not exist, or is not the one that was followed until now."""
        now = await topic_ids(consumer._client, [self._topic])  # noqa: SLF001 - pinned by a test
        known = self._topic_id
        self._cluster = now.cluster
        found = now.ids.get(self._topic, known)
        missing = self._topic in now.missing
        self._topic_id = None if missing else found
        if not missing and known in (None, found):
            return
        self._noted.remember()
        what = "does not exist" if missing else "was deleted and created anew by somebody else"
        raise LedgerMissing(f"the ledger {self._topic} {what}")

    async def _look(self, consumer: AIOKafkaConsumer, tail: Tail) -> None:
        """Stop following a topic that is gone, for the client would ask for it without a pause."""
        with contextlib.suppress(KafkaError, OSError, AssertionError):  # an absent broker tells nothing
            try:
                await self._raise_if_gone(consumer)
            except LedgerMissing:
                consumer.unsubscribe()
                tail.let_go()
                raise

    @property
    def is_gone(self) -> bool:
        """See `ports.ReleaseLedger`."""
        ended = self._follower
        if ended is None or not ended.done() or ended.cancelled():
            return False
        return isinstance(ended.exception(), LedgerMissing)

    @property
    def is_incomplete(self) -> bool:
        """See `ports.ReleaseLedger`."""
        return self._is_incomplete

    @property
    def held_seconds(self) -> float:
        """See `ports.ReleaseLedger`. Goes by the last answers to fetches, and does not grow while none comes.

        An absent broker tells nothing: a transaction that was open when it went is not held all that time.
        """
        consumer = self._consumer
        places = [] if consumer is None else sorted(consumer.assignment())
        if consumer is None or not all(consumer.last_poll_timestamp(place) for place in places):
            return self._held_seconds  # nothing was fetched yet: this is of the connection before
        answered = max((consumer.last_poll_timestamp(place) for place in places), default=0)
        if not places or answered != self._held_answered:
            self._held_answered, self._held_seconds = answered, self._transactions.look(consumer, places).seconds
        return self._held_seconds

    async def _lacks_entries(self, consumer: AIOKafkaConsumer, tail: Tail) -> bool:
        """Return whether the ledger has lost its beginning, or is not the one that was written with the output.

        Compaction never moves the beginning. A window writes to output and ledger in one transaction. So if the
        output holds anything, its ledger holds something too, even if only of an aborted attempt.
        """
        places = list(consumer.assignment())
        begins = await consumer.beginning_offsets(places)
        if self._mark in self._noted.current or any(begins.values()):
            return True
        # The output is asked first, so that a window that others commit meanwhile is in the ledger too.
        if self._output is None or not await has_records(self._connection, self._output):
            return False
        if any((await tail.ends(places)).values()):
            return False
        await send_one(self._connection, self.written({self._mark: LedgerEntry(0)}, 0))
        return True

    @property
    def _mark(self) -> Place:
        """Return the key of the entry that marks a ledger as incomplete: that of the ledger's own partition."""
        return self._topic, _PARTITION

    def remembered(self) -> Mapping[Place, LedgerEntry]:
        """See `ports.ReleaseLedger`."""
        return self._noted.remembered()

    async def _follow(self, consumer: AIOKafkaConsumer, tail: Tail) -> None:
        clock = asyncio.get_running_loop()
        looked = clock.time()
        while True:
            if clock.time() - looked > _LOOK_EVERY:
                await self._look(consumer, tail)
                looked = clock.time()
            for record in await fetched(consumer, _FOLLOWING):
                self._noted.take(record)
            # No answer brings aborted entries, but positions pass over them. The tail may forget everything below
            # a position: the client moves it in the step that hands the records out, and nothing is awaited from
            # there to `take`. So every committed entry below it is noted, where `uncontested` looks last.
            # An entry that `uncontested` finds in the tail only tells it to wait for this one.
            for partition, offset in (await positions(consumer, _FOLLOWING)).items():
                tail.forget_before(partition, offset)

    def _connected(self) -> tuple[AIOKafkaConsumer, Tail, asyncio.Task[None]]:
        if self._consumer is None or self._tail is None or self._follower is None:
            raise BrokerError("the ledger is not connected")
        return self._consumer, self._tail, self._follower

    async def caught_up(self) -> Mapping[Place, LedgerEntry]:
        """See `ports.ReleaseLedger`. Waits for the end of transactions that are open on the ledger now.

        The entries of a transaction may become readable later than its offsets. Without waiting, a partition whose
        offsets are missing could be released twice.
        """
        consumer, tail, follower = self._connected()
        ends: Mapping[TopicPartition, int] | None = None
        try:
            async with asyncio.timeout(_STALLED) as deadline:
                ends = await unless_ended(follower, _FOLLOWING, tail.ends(consumer.assignment()))
                await self._settled(consumer, follower, ends, 0.01, deadline)
        except BrokerError:
            raise
        except TimeoutError as error:
            if ends is None:
                raise broker_error("reading the ledger", error) from None
            raise TopicError(self._held_open(), Cause.OPEN_TRANSACTION) from None
        except Exception as error:  # noqa: BLE001 - as above
            raise broker_error("reading the ledger", error) from None
        self._noted.raise_if_strange()
        return dict(self._noted.current)

    async def _settled(
        self,
        consumer: AIOKafkaConsumer,
        follower: asyncio.Task[None],
        ends: Mapping[TopicPartition, int],
        every: float,
        renewed: asyncio.Timeout | None = None,
    ) -> None:
        """Wait until every record below `ends` is settled, and the committed ones are noted.

        Parameters
        ----------
        renewed
            A deadline that every step forward puts off to `_STALLED` from then.
        """
        now = asyncio.get_running_loop().time
        for place, end in ends.items():
            raise_if_ended(follower, _FOLLOWING)
            reached = -1
            while (position := await consumer.position(place)) < end:
                if renewed is not None and position > reached:
                    reached = position
                    renewed.reschedule(now() + _STALLED)
                await asyncio.sleep(every)
                raise_if_ended(follower, _FOLLOWING)
        raise_if_ended(follower, _FOLLOWING)  # it may have ended between fetching and noting

    async def uncontested(self, starts: Mapping[Place, int], sent: Mapping[Place, int]) -> None:
        """Return once it is certain that nobody whose entries lie before ours has released the same records.

        Of two windows over the same records, the entries of one come first. The worker of the second window sees
        them here, before its own commit, and waits until the first one has ended. So at most one of them is
        committed.

        Parameters
        ----------
        starts
            Where the window begins on each input partition.
        sent
            What `WindowProducer.settle` returned.

        Raises
        ------
        Overtaken
            If somebody has, or if the ledger holds an entry of a higher revision of the policy than ours.
        BrokerError
            If this is not decided in time.
        """
        consumer, tail, follower = self._connected()
        ours = TopicPartition(self._topic, _PARTITION)
        end: int | None = None
        try:
            async with asyncio.timeout(self._connection.transaction_timeout * _UNCONTESTED):
                end = sent.get((self._topic, _PARTITION))
                if end is None:
                    end = (await tail.ends({ours}))[ours]
                last = await tail.last_before(_PARTITION, end, starts, self._revision)
                if last is not None:
                    await self._settled(consumer, follower, {ours: last + 1}, 0.002)
                raise_if_ended(follower, _FOLLOWING)
        except BrokerError:
            raise
        except TimeoutError as error:
            if end is None:
                raise broker_error("reading the ledger", error) from None
            undecided = "it is not known whether others have released the same records"
            raise BrokerError(f"{undecided}: {self._held_open()}", Cause.OPEN_TRANSACTION) from None
        except Exception as error:  # noqa: BLE001 - as above
            raise broker_error("reading the ledger", error) from None
        self._noted.raise_if_overtaken(starts, self._revision)

    def _held_open(self) -> str:
        return (
            f"{self._topic}: the newest entries cannot be read, because a transaction is open on it or the brokers "
            "are slow. If the transaction is not a worker's, abort it with kafka-transactions.sh, and let only the "
            "workers WRITE to this topic"
        )

    def holds(self, batch: str) -> bool:
        """See `ports.ReleaseLedger`."""
        return self._noted.holds(batch)

    def entries(
        self, offsets: Mapping[Place, int], batch: str, topic_ids: Mapping[str, str], time: int
    ) -> Parcel | None:
        """Return the parcel that goes into a window's transaction."""
        revision = self._revision
        return self.written(
            {p: LedgerEntry(offset, batch, topic_ids.get(p[0]), revision) for p, offset in offsets.items()}, time
        )

    def written(self, entries: Mapping[Place, LedgerEntry | None], time: int) -> Parcel:
        """Return the parcel that writes entries, all to one partition, for a key must stay in one.

        None is written as a tombstone: the ledger forgets the partition.
        """
        kept = [(key_of(place), entries[place]) for place in sorted(entries)]
        values = [None if entry is None else value_of(replace(entry, cluster=self._cluster)) for _, entry in kept]
        return Parcel(self._topic, _PARTITION, values, time, keys=[key for key, _ in kept])

    async def discard(self) -> None:
        """See `ports.ReleaseLedger`. If cancelled, it goes on in the background; the next caller waits for it."""
        follower, self._follower = self._follower, None
        consumer, tail = self._consumer, self._tail
        self._consumer = self._tail = None
        if consumer is not None and tail is not None:  # they come and go together
            task = asyncio.create_task(_leave(follower, consumer, tail))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)
        if self._leaving:
            await asyncio.wait(self._leaving)


async def _leave(follower: asyncio.Task[None] | None, consumer: AIOKafkaConsumer, tail: Tail) -> None:
    if follower is not None:
        follower.cancel()
        await asyncio.gather(follower, return_exceptions=True)
    await asyncio.gather(stop_politely(consumer), tail.stop())
