"""The ledger skips no entry, misses no rival, and outlives the ends of its clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaTimeoutError, TopicAuthorizationFailedError

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger import ledger as ledger_module
from stream_anon.adapters.kafka.ledger import tail
from stream_anon.adapters.kafka.ledger.entry_format import entry_of, value_of
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.ledger.tail import Tail
from stream_anon.errors import BrokerError, Cause, LedgerMissing, Overtaken, TopicError, UnreadableRecords
from stream_anon.ports import LedgerEntry, Place, TopicIds
from tests.support.skipping_loop import SkippingLoop

TOPIC = "out.ledger"
KEY = b'["people",1]'


class Client:
    """What a consumer speaks through."""

    def __init__(self, close: Callable[[], Awaitable[None]]) -> None:
        self.close = close
        self._wait_on_metadata: Any = None


class Log:
    """A consumer of one partition; `probe` of the same log."""

    def __init__(self, records: list[tuple[bytes | None, bytes | None]]) -> None:
        self.records = records
        self.read = 0
        self.error: Exception | None = None
        self.stopped = self.closed = self.let_go = False
        self._coordinator = object()  # as of a consumer without a group: it has no task that must run
        self._fetcher = SimpleNamespace(_fetch_task=asyncio.get_running_loop().create_future())
        self._client = Client(self._close)

    async def getmany(self, timeout_ms: int) -> dict[object, list[Any]]:
        await asyncio.sleep(0.001)
        if self.error is not None:
            raise self.error
        if self._fetcher._fetch_task.done():
            return {}
        first, self.read = self.read, len(self.records)
        fresh = enumerate(self.records[first:], first)
        return {0: [SimpleNamespace(topic=TOPIC, partition=0, offset=i, key=k, value=v) for i, (k, v) in fresh]}

    async def beginning_offsets(self, places: object) -> dict[object, int]:
        return {TopicPartition(TOPIC, 0): 0}

    async def end_offsets(self, places: object) -> dict[object, int]:
        return {TopicPartition(TOPIC, 0): len(self.records)}

    async def position(self, place: object) -> int:
        return self.read

    def assignment(self) -> set[Any]:
        return {TopicPartition(TOPIC, 0)}

    def unsubscribe(self) -> None:
        self.let_go = True

    # What the last answer to a fetch told.
    answered: int | None = None
    high, stable = 0, 0

    def last_poll_timestamp(self, place: object) -> int | None:
        return self.answered

    def highwater(self, place: object) -> int:
        return self.high

    def last_stable_offset(self, place: object) -> int:
        return self.stable

    async def stop(self) -> None:
        await asyncio.sleep(0.02)
        self.stopped = True

    async def _close(self) -> None:
        self.closed = True


def follow(log: Log, everything: Log | None = None, **options: Any) -> KafkaLedger:
    """Return a ledger that reads a log, and whose tail reads everything."""
    ledger = KafkaLedger(Connection("127.0.0.1:9", "g", **options), TOPIC)
    consumer: Any = log
    tail = Tail(ledger._connection)
    tail._consumer = everything or consumer  # type: ignore[assignment]
    ledger._consumer, ledger._tail = consumer, tail
    ledger._follower = asyncio.create_task(ledger._follow(consumer, tail))
    return ledger


@asynccontextmanager
async def following(*logs: Log, **options: Any) -> AsyncIterator[KafkaLedger]:
    ledger = follow(*logs, **options)
    try:
        yield ledger
    finally:
        await ledger.discard()


async def nexts(ledger: KafkaLedger) -> dict[Place, int]:
    """Return the next offset of each partition."""
    return {place: entry.next for place, entry in (await ledger.caught_up()).items()}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (KEY, b"not json"),
        (KEY, b"\xff"),
        (KEY, b"7"),
        (KEY, b'{"schema":2,"next":"7"}'),
        (KEY, b'{"schema":2,"next":-1}'),
        (KEY, b'{"schema":2,"next":true}'),
        (KEY, b'{"next":7}'),
        (KEY, b'{"schema":1,"next":7}'),
        (KEY, b'{"schema":3,"next":7}'),
        (KEY, b'{"schema":true,"next":7}'),
        (KEY, b'{"schema":2,"next":7,"topic_id":9}'),
        (KEY, b'{"schema":2,"next":7,"revision":-1}'),
        (KEY, b"[]"),
        (b"people", b'{"next":7}'),
        (b'["people"]', b'{"next":7}'),
        (b'["people",-1]', b'{"next":7}'),
    ],
)
async def test_record_that_is_no_entry_is_named_with_its_place(key: bytes, value: bytes) -> None:
    good = (b'["people",0]', b'{"schema":2,"next":5}')
    log = Log([good, (key, value), good])
    async with following(log) as ledger:
        for _ in range(2):
            with pytest.raises(TopicError, match=r"^out\.ledger-0, offset 1: is not a ledger entry"):
                await ledger.caught_up()
        # The last word on a key counts.
        log.records.append((KEY, b'{"schema":2,"next":9}') if key == KEY else (key, None))
        expected = {("people", 0): 5, ("people", 1): 9} if key == KEY else {("people", 0): 5}
        assert await nexts(ledger) == expected


@pytest.mark.parametrize("entry", [LedgerEntry(5), LedgerEntry(0, "b", "0a5d", 3)])
def test_an_entry_is_read_as_it_was_written(entry: LedgerEntry) -> None:
    assert entry_of(value_of(entry)) == entry
    assert entry_of(b'{"schema":2,"next":5,"later":1}') == LedgerEntry(5), "keys may be added"


async def test_entry_that_was_taken_away_holds_its_window_no_more() -> None:
    log = Log([(b'["people",0]', b'{"schema":2,"next":5}'), (KEY, b'{"schema":2,"next":7,"batch":"b"}')])
    async with following(log) as ledger:
        assert await nexts(ledger) == {("people", 0): 5, ("people", 1): 7}
        assert [ledger.holds(batch) for batch in ("b", "a")] == [True, False]
        log.records.append((KEY, None))
        assert await nexts(ledger) == {("people", 0): 5}
        assert not ledger.holds("b")


async def test_follower_that_ended_says_why() -> None:
    log = Log([])
    async with following(log) as ledger:
        assert await nexts(ledger) == {}
        log.error = ConnectionResetError("words of a library")
        await asyncio.sleep(0.02)
        log.records.append((KEY, b'{"schema":2,"next":1}'))
        with pytest.raises(BrokerError, match=r"^following the ledger: ConnectionResetError$"):
            await ledger.caught_up()


class Partition:
    """The ledger's one partition as two consumers see it: `settled` records to the one, all to the other."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, int | None]] = []  # key and next offset, None for one that was aborted
        self.revisions: dict[int, int] = {}  # by offset, where not 0
        self.settled = 0

    def add(self, partition: int, following: int, revision: int = 0) -> int:
        self.revisions[len(self.records)] = revision
        self.records.append((b'["people",%d]' % partition, following))
        return len(self.records) - 1


class Reader(Log):
    """Reads a partition: committed records up to `settled`, or everything."""

    def __init__(self, partition: Partition, *, committed: bool) -> None:
        super().__init__([])
        self.partition = partition
        self.committed = committed

    async def getmany(self, timeout_ms: int) -> dict[object, list[Any]]:
        await asyncio.sleep(0.001)
        if self.error is not None:
            raise self.error
        if self._fetcher._fetch_task.done():
            return {}
        end = self.partition.settled if self.committed else len(self.partition.records)
        first, self.read = self.read, max(end, self.read)
        fresh = list(enumerate(self.partition.records))[first:end]
        wanted = [(i, k, v) for i, (k, v) in fresh if not (self.committed and v is None)]
        revisions = self.partition.revisions
        values = [
            (i, k, b'{"schema":2,"next":%d,"revision":%d}' % (v or 0, revisions.get(i, 0))) for i, k, v in wanted
        ]
        return {0: [SimpleNamespace(topic=TOPIC, partition=0, offset=i, key=k, value=v) for i, k, v in values]}

    async def end_offsets(self, places: object) -> dict[object, int]:
        return {TopicPartition(TOPIC, 0): len(self.partition.records)}

    async def start(self) -> None:
        pass

    def assign(self, places: object) -> None:
        pass

    def seek(self, place: object, offset: int) -> None:
        self.read = offset


@asynccontextmanager
async def contest(partition: Partition) -> AsyncIterator[KafkaLedger]:
    readers = (Reader(partition, committed=committed) for committed in (True, False))
    async with following(*readers, transaction_timeout=3.0) as ledger:
        assert ledger._tail is not None
        ledger._tail.follow({TopicPartition(TOPIC, 0): 0})
        yield ledger


STARTS = {("people", 1): 100}


async def undecided(ledger: KafkaLedger, ours: int) -> asyncio.Task[None]:
    """Return what waits for whether a window may be committed, whose entry is the one at an offset."""
    waiting = asyncio.create_task(ledger.uncontested(STARTS, {(TOPIC, 0): ours}))
    await asyncio.sleep(0.05)
    assert not waiting.done(), "not decided yet"
    return waiting


@pytest.mark.parametrize(
    ("partitioned", "revision", "told"),
    [
        (1, 0, "people-1 from offset 100"),
        (0, 1, "entries of revision 1 of the policy, and this worker has revision 0"),
    ],
    ids=["on its own partition", "of a higher revision, on another one"],
)
async def test_a_window_waits_for_the_entries_of_another_group_before_it_and_is_overtaken_by_them(
    partitioned: int, revision: int, told: str
) -> None:
    partition = Partition()
    async with contest(partition) as ledger:
        partition.add(partitioned, 150, revision)  # its transaction is open
        waiting = await undecided(ledger, partition.add(1, 140))
        partition.settled = 1  # it was committed
        with pytest.raises(Overtaken, match=told):
            await waiting


async def test_window_whose_rival_was_aborted_is_committed() -> None:
    partition = Partition()
    async with contest(partition) as ledger:
        partition.add(1, 150)
        waiting = await undecided(ledger, partition.add(1, 140))
        partition.records[0] = (partition.records[0][0], None)
        partition.settled = 1
        await waiting


@pytest.mark.parametrize("entries", [[(1, 140), (1, 150)], [(0, 150), (1, 140)]], ids=["second", "elsewhere"])
async def test_entries_that_came_second_or_are_of_other_partitions_hold_up_no_window(
    entries: list[tuple[int, int]],
) -> None:
    partition = Partition()
    async with contest(partition) as ledger:
        ours = [partition.add(*entry) for entry in entries][entries.index((1, 140))]
        await ledger.uncontested(STARTS, {(TOPIC, 0): ours})


async def test_the_first_window_of_a_higher_revision_waits_for_the_lower_ones_before_it() -> None:
    partition = Partition()
    async with contest(partition) as ledger:
        ledger._revision = 2
        partition.add(0, 150, revision=1)
        waiting = await undecided(ledger, partition.add(1, 140, revision=2))
        partition.settled = 1
        await waiting


async def test_rival_that_never_ends_is_an_error_after_a_while() -> None:
    partition = Partition()
    async with contest(partition) as ledger:
        partition.add(1, 150)
        partition.add(1, 140)
        with pytest.raises(BrokerError, match="is not known whether others"):
            await ledger.uncontested(STARTS, {})  # where the broker did not say, the present end


async def test_window_below_what_was_released_long_ago_is_overtaken() -> None:
    partition = Partition()
    partition.add(1, 150)
    partition.settled = 1
    async with contest(partition) as ledger:
        await asyncio.sleep(0.02)
        ours = partition.add(1, 140)
        with pytest.raises(Overtaken):
            await ledger.uncontested(STARTS, {(TOPIC, 0): ours})


class Clients(list[Reader]):
    """The consumers that a ledger makes for itself, in order: the ledger's own, its tail's, and so on."""

    def __init__(self, partition: Partition, monkeypatch: pytest.MonkeyPatch) -> None:
        self.partition = partition
        for module in (ledger_module, tail):
            monkeypatch.setattr(module, "AIOKafkaConsumer", self.make)
        monkeypatch.setattr(ledger_module, "topic_ids", self.topic_ids)
        self.now = TopicIds({TOPIC: "first"})

    def make(self, **options: Any) -> Reader:
        reader = Reader(self.partition, committed=options["isolation_level"] == "read_committed")
        reader._client._wait_on_metadata = self.numbers
        self.append(reader)
        return reader

    async def topic_ids(self, client: object, topics: object) -> TopicIds:
        return self.now

    async def numbers(self, topic: str) -> set[int]:
        assert topic == TOPIC
        return {0}


async def open_ledger() -> KafkaLedger:
    ledger = KafkaLedger(Connection("127.0.0.1:9", "g", transaction_timeout=3.0), TOPIC)
    await ledger.open()
    return ledger


@asynccontextmanager
async def opened(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[KafkaLedger, Clients]]:
    clients = Clients(partition, monkeypatch)
    ledger = await open_ledger()
    try:
        yield ledger, clients
    finally:
        await ledger.discard()


def end(client: Reader, how: str) -> None:
    """End a follower as brokers and the client do: one answer that refuses, or a task that ends in silence."""
    if how == "refused":
        client.error = TopicAuthorizationFailedError(TOPIC)
    else:
        client._fetcher._fetch_task.set_exception(RuntimeError("a bug of the client's"))
        client._fetcher._fetch_task.exception()


@pytest.mark.parametrize("how", ["refused", "silent"])
@pytest.mark.parametrize("whose", ["ledger", "tail"])
async def test_follower_that_has_ended_is_replaced_and_windows_get_out_again(
    monkeypatch: pytest.MonkeyPatch, whose: Literal["ledger", "tail"], how: str
) -> None:
    partition = Partition()
    partition.add(0, 70)
    partition.add(1, 100)
    partition.settled = 2
    clients = Clients(partition, monkeypatch)
    ledger = await open_ledger()
    monkeypatch.setattr(ledger_module, "_UNCONTESTED", 100.0)  # of three seconds: nobody waits that long
    try:
        first = tuple(clients)
        await ledger.open()
        assert tuple(clients) == first, "clients that work are kept"
        end(first[whose == "tail"], how)
        rival = partition.add(0, 80)
        ours = partition.add(1, 140)
        # It is told at once that nothing will come, not after a time of waiting.
        expected = {"refused": "TopicAuthorizationFailedError", "silent": "a task of the consumer has ended"}[how]
        async with asyncio.timeout(10):
            with pytest.raises(BrokerError, match=expected):
                await ledger.uncontested({("people", 0): 70, **STARTS}, {(TOPIC, 0): ours})
        for offset in (rival, ours):  # a new producer aborts ours; the other is one that never gets out
            partition.records[offset] = (partition.records[offset][0], None)
        partition.settled = len(partition.records)

        await ledger.open()
        assert all(client.stopped and client.closed for client in first)
        assert len(clients) == 4
        assert await nexts(ledger) == {("people", 0): 70, ("people", 1): 100}, "entries from before are known"
        await ledger.uncontested(STARTS, {(TOPIC, 0): partition.add(1, 140)})

        # And the new ones fence as the old ones did.
        rival = partition.add(1, 150)
        ours = partition.add(1, 140)
        waiting = await undecided(ledger, ours)
        partition.settled = rival + 1
        with pytest.raises(Overtaken):
            await waiting
    finally:
        await ledger.discard()
    assert all(client.stopped and client.closed for client in clients)


async def test_follower_that_hangs_because_its_client_has_died_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with opened(Partition(), monkeypatch) as (ledger, clients):

        async def never(place: object) -> int:  # as when the task had to find a position again
            return await asyncio.Future()

        clients[1].position = never  # type: ignore[method-assign]
        await asyncio.sleep(0.01)
        end(clients[1], "silent")
        await ledger.open()
        assert len(clients) == 4


async def test_clients_that_are_replaced_are_stopped_wherever_opening_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clients = Clients(Partition(), monkeypatch)
    ledger = await open_ledger()
    end(clients[1], "refused")
    await asyncio.sleep(0.01)
    for steps in range(3):  # cancelled here and there while the old ones are being stopped
        opening = asyncio.create_task(ledger.open())
        for _ in range(steps + 1):
            await asyncio.sleep(0)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
    assert not clients[0].stopped
    await ledger.discard()
    assert all(client.stopped and client.closed for client in clients)


async def test_tail_does_not_grow_with_attempts_that_are_aborted() -> None:
    partition = Partition()
    async with contest(partition) as ledger:
        for _ in range(20):
            for number in range(12):
                partition.add(number, None)  # type: ignore[arg-type]
            partition.settled = len(partition.records)
            await ledger.caught_up()
        rival = partition.add(1, 150)
        await asyncio.sleep(0.02)
        assert ledger._tail is not None
        assert [entry[1] for entry in ledger._tail._entries] == [rival], "what is open is held, nothing else"


GONE = TopicIds(missing=frozenset({TOPIC}))


@pytest.mark.parametrize("now", [GONE, TopicIds({TOPIC: "second"})], ids=["missing", "created anew"])
async def test_a_deleted_ledger_is_noticed_and_its_entries_are_still_known(
    monkeypatch: pytest.MonkeyPatch, now: TopicIds
) -> None:
    monkeypatch.setattr(ledger_module, "_LOOK_EVERY", 0.0)
    partition = Partition()
    partition.add(0, 70)
    partition.settled = 1
    async with opened(partition, monkeypatch) as (ledger, clients):
        assert not ledger.is_gone
        clients.now = now
        async with asyncio.timeout(10):
            while not ledger.is_gone:  # noqa: ASYNC110 - the worker asks too
                await asyncio.sleep(0.001)
        assert all(client.let_go for client in clients)
        with pytest.raises(
            LedgerMissing, match=r"^the ledger out\.ledger (does not exist|was deleted and created)"
        ):
            await ledger.caught_up()
        if now is GONE:
            with pytest.raises(LedgerMissing, match="does not exist"):
                await ledger.open()
        partition.records.clear()
        partition.settled = 0
        clients.now = TopicIds({TOPIC: "second"})
        await ledger.open()
        assert await nexts(ledger) == {}
        assert ledger.remembered() == {("people", 0): LedgerEntry(70)}
        partition.add(0, 90)
        partition.settled = 1
        assert await nexts(ledger) == {("people", 0): 90}
        assert ledger.remembered() == {}, "written again"


async def test_a_ledger_whose_id_the_brokers_do_not_tell_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "_LOOK_EVERY", 0.0)
    async with opened(Partition(), monkeypatch) as (ledger, clients):
        clients.now = TopicIds()
        await asyncio.sleep(0.02)
        clients.now = TopicIds({TOPIC: "first"})
        await asyncio.sleep(0.02)
        assert not ledger.is_gone


async def test_a_transaction_that_a_stranger_leaves_open_on_the_ledger_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Held(Log):
        """A log whose last record cannot be read."""

        async def end_offsets(self, places: object) -> dict[object, int]:
            return {TopicPartition(TOPIC, 0): len(self.records) + 1}

    monkeypatch.setattr(ledger_module, "_STALLED", 0.1)
    ledger = follow(Held([(KEY, value_of(LedgerEntry(5)))]))
    with pytest.raises(TopicError, match=rf"{TOPIC}: .* transaction is open on it .*kafka-transactions.sh.*WRITE"):
        await ledger.caught_up()
    await ledger.discard()


@pytest.mark.parametrize("readable", [8, 6])
def test_a_ledger_is_read_for_as_long_as_entries_come(readable: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One a second, on a machine that does much else: more seconds than any of the deadlines has."""
    monkeypatch.setattr(ledger_module, "_STALLED", 2.0)
    monkeypatch.setattr(ledger_module, "_OPEN_WITHIN", 4.0)
    partition = Partition()
    for following in range(8):
        partition.add(1, following)
    Clients(partition, monkeypatch)

    async def settle() -> None:
        while partition.settled < readable:
            await asyncio.sleep(1.0)
            partition.settled += 1

    async def read() -> None:
        settling = asyncio.create_task(settle())
        try:
            ledger = await open_ledger()
            assert await nexts(ledger) == {("people", 1): 7}
            await ledger.discard()
        finally:
            await settling

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        if readable == 8:
            runner.run(read())
        else:
            with pytest.raises(TopicError, match="a transaction is open on it"):
                runner.run(read())


class Late(Log):
    """A log whose end is told in time only once so many questions have been asked."""

    late = 0

    async def end_offsets(self, places: object) -> dict[object, int]:
        await asyncio.sleep(0.01)
        self.late -= 1
        if self.late >= 0:
            raise KafkaTimeoutError
        return await super().end_offsets(places)


async def test_the_end_of_the_ledger_is_asked_for_again_where_the_answer_comes_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = Late([(KEY, value_of(LedgerEntry(5)))])
    async with following(log) as ledger:
        log.late = 3
        assert await nexts(ledger) == {("people", 1): 5}
        log.late = 2**31
        monkeypatch.setattr(ledger_module, "_STALLED", 0.1)
        with pytest.raises(BrokerError, match="reading the ledger") as caught:
            await ledger.caught_up()
        assert caught.value.cause is Cause.UNREACHABLE


async def test_how_long_a_transaction_has_held_the_ledger_does_not_grow_while_no_broker_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = Log([])
    ledger = follow(log)
    now = asyncio.get_running_loop().time()
    follower, ledger._follower = ledger._follower, None
    assert follower is not None
    follower.cancel()
    await asyncio.gather(follower, return_exceptions=True)
    with monkeypatch.context() as patched:
        patched.setattr(asyncio.get_running_loop(), "time", lambda: now)

        def told(answered: int | None, stable: int, high: int, *, later: float = 10) -> float:
            nonlocal now
            log.answered, log.stable, log.high, now = answered, stable, high, now + later
            return ledger.held_seconds

        assert told(None, 5, 9) == 0, "nothing was fetched yet"
        assert told(1, 9, 9) == 0, "all is settled"
        assert told(2, 9, 12) == 0
        assert told(3, 9, 14) == pytest.approx(10), "it is the same transaction, whatever comes after it"
        assert told(3, 9, 14, later=600) == pytest.approx(10), "the broker is away: nobody knows what is open there"
        ledger._consumer = None
        assert ledger.held_seconds == pytest.approx(10), "another connection is made"
        ledger._consumer = log  # type: ignore[assignment]
        assert told(4, 9, 14, later=5) == pytest.approx(615), "it was the same one all the time"
        assert told(5, 12, 14) == 0, "that one has ended, the next one is open"
        assert told(6, 14, 14) == 0
        monkeypatch.setattr(log, "assignment", set)
        assert told(6, 9, 14) == 0, "the topic is gone, and nothing of it is followed"
    await ledger.discard()


async def test_a_batch_that_nobody_can_read_is_told_with_its_place_and_never_passed_over() -> None:
    log = Log([(KEY, b'{"schema":2,"next":7}')])
    ledger = follow(log)
    log.error = UnreadableRecords(TOPIC, 0, 1, 3)
    for _ in range(2):
        with pytest.raises(TopicError, match=rf"{TOPIC}-0: the batch .* offset 1 on .* not passed over"):
            await ledger.caught_up()
    await ledger.discard()
