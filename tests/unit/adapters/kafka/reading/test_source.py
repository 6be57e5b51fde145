"""The source on a client that is made up: fetches that fail halfway, and a group that refuses."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import GroupAuthorizationFailedError, KafkaError, OffsetOutOfRangeError

from stream_anon.adapters.kafka.bulk.draining import Unreadable
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading import source as module
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.errors import BrokerError
from stream_anon.ports import DeadClient, Held, Lost, Polled
from stream_anon.ports.input_topics import InputTopics

PLACES = [TopicPartition("people", n) for n in range(2)]


class Connected:
    """What a consumer speaks through."""


class Client:
    """An AIOKafkaConsumer in which only positions work."""

    def __init__(self) -> None:
        self.errors: list[KafkaError] = []
        self.answer: dict[TopicPartition, Any] = {}
        self.refusal: KafkaError | None = None
        self.positions: dict[TopicPartition, int] = {}
        self.stopped: set[TopicPartition] = set()
        forever = asyncio.get_running_loop().create_future
        self._client = Connected()
        self._fetcher = SimpleNamespace(_fetch_task=forever())
        self._coordinator = SimpleNamespace(_coordination_task=forever(), check_errors=self._refuse)

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal

    def pause(self, *places: TopicPartition) -> None:
        """Do nothing."""

    def paused(self) -> set[TopicPartition]:
        return self.stopped

    def highwater(self, place: TopicPartition) -> int:
        return 1000

    def seek(self, place: TopicPartition, offset: int) -> None:
        self.positions[place] = offset

    async def getmany(self, **_: Any) -> dict[TopicPartition, Any]:
        if not self.errors:
            return self.answer
        # The client has emptied one partition when the other one raises.
        self.positions = {place: position + 10 for place, position in self.positions.items()}
        raise self.errors.pop(0)


@pytest.fixture
async def client() -> Client:
    return Client()


@pytest.fixture
async def source(client: Client, monkeypatch: pytest.MonkeyPatch) -> KafkaSource:
    made = KafkaSource(Connection("127.0.0.1:1", "g"), InputTopics(("people",)))
    monkeypatch.setattr(made, "_consumer", client)
    monkeypatch.setattr(made, "membership", lambda: None)
    made.on_partitions_assigned(PLACES)
    for number, offset in enumerate((100, 200)):
        made.seek(number, offset)
    return made


async def test_a_fetch_that_fails_leaves_the_records_of_other_partitions(
    source: KafkaSource, client: Client
) -> None:
    client.errors = [KafkaError()]
    with pytest.raises(BrokerError):
        await source.poll(0.1, 10)
    assert client.positions == {PLACES[0]: 100, PLACES[1]: 200}
    client.errors = [OffsetOutOfRangeError({PLACES[1]: 200})]
    assert (await source.poll(0.1, 10)).lost == (Lost(1, 200),)
    assert client.positions[PLACES[0]] == 100


async def test_what_waits_in_a_partition_that_stopped_is_no_load_beside_those_that_are_read(
    source: KafkaSource, client: Client
) -> None:
    waiting = {("people", 0): 900, ("people", 1): 800}
    assert source._waiting(client) == waiting
    client.stopped = {PLACES[1], TopicPartition("gone", 0)}
    assert source._waiting(client) == waiting | {("people", 1): 0}
    client.stopped = set(PLACES)  # nobody is read just now
    assert source._waiting(client) == waiting


async def test_partitions_that_stay_unreadable_are_told_as_lost(source: KafkaSource, client: Client) -> None:
    client.answer = {place: Unreadable(after) for place, after in zip(PLACES, (110, None), strict=True)}
    for _ in range(2):  # it may have been the way
        assert await source.poll(0.1, 10) == Polled()
    told = (await source.poll(0.1, 10)).lost
    assert told == (Lost(0, 100, unreadable=True, after=110), Lost(1, 200, unreadable=True))
    assert client.positions == {PLACES[0]: 100, PLACES[1]: 200}


async def test_records_come_beside_a_partition_that_cannot_be_read(source: KafkaSource, client: Client) -> None:
    record = SimpleNamespace(offset=100, timestamp=5, value=b"x", headers=())
    client.answer = {PLACES[1]: Unreadable(201), PLACES[0]: [record]}
    (chunk,) = (await source.poll(0.1, 10)).chunks
    assert (chunk.source, chunk.first, chunk.end) == (0, 100, 101)


async def test_what_cannot_be_read_of_an_earlier_assignment_is_not_told(
    source: KafkaSource, client: Client
) -> None:
    source.on_partitions_assigned(PLACES[:1])
    source.seek(0, 100)
    client.answer = {PLACES[1]: Unreadable(201)}
    assert [await source.poll(0.1, 10) for _ in range(3)] == [Polled()] * 3


async def test_a_refusal_while_the_group_reassigns_is_told(source: KafkaSource, client: Client) -> None:
    client.refusal = GroupAuthorizationFailedError("g")
    source.on_partitions_revoked([])
    with pytest.raises(BrokerError, match="joining the group again: GroupAuthorizationFailedError"):
        await source.moved(source.marks, 0.01)


@pytest.mark.parametrize("task", ["_fetcher._fetch_task", "_coordinator._coordination_task"])
async def test_a_client_that_died_while_the_group_reassigns_is_an_error(
    task: str, source: KafkaSource, client: Client
) -> None:
    owner, name = task.split(".")
    source.on_partitions_revoked([])
    await source.moved(source.marks, 0.01)
    getattr(getattr(client, owner), name).set_result(None)
    with pytest.raises(DeadClient):
        await source.moved(source.marks, 0.01)


async def test_a_group_that_gives_nothing_is_an_error_after_a_while(
    source: KafkaSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.on_partitions_revoked([])
    source.on_partitions_revoked([])
    await source.moved(source.marks, 0.01)
    monkeypatch.setattr(module, "_JOIN_WITHIN", -2 * source._connection.session_timeout)
    with pytest.raises(DeadClient, match="for too long"):
        await source.moved(source.marks, 0.01)
    source.on_partitions_assigned(PLACES)
    await source.moved(source.marks, 0.01)


async def test_a_first_assignment_that_is_on_its_way_is_not_late(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client has started as soon as the group has assigned partitions, and calls the source a moment later."""

    async def start() -> None:
        """Do nothing."""

    monkeypatch.setattr(client, "start", start, raising=False)
    monkeypatch.setattr(client, "subscribe", lambda *_, **__: None, raising=False)
    monkeypatch.setattr(module, "AIOKafkaConsumer", lambda **_: client)
    monkeypatch.setattr(module, "drain_in_batches", lambda *_: True)
    monkeypatch.setattr(module, "_JOIN_WITHIN", -19.0)  # a second in all
    made = KafkaSource(Connection("127.0.0.1:1", "g"), InputTopics(("people",)))
    await made.start()
    await made.moved(made.marks, 0.01)


async def test_lag_counts_to_the_high_watermark_and_what_a_transaction_holds_is_told_with_its_age(
    source: KafkaSource, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    stable, high = {PLACES[0]: 100, PLACES[1]: 210}, {PLACES[0]: 150, PLACES[1]: 210}
    monkeypatch.setattr(client, "last_stable_offset", stable.get, raising=False)
    monkeypatch.setattr(client, "highwater", high.get, raising=False)
    now = asyncio.get_running_loop().time()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    assert source.lag([0, 1]) == 50 + 10
    assert source.held([0, 1]) == Held(50, 0.0)
    now += 30
    high[PLACES[0]] = 170
    assert source.held([0, 1]) == Held(70, 30.0)
    stable[PLACES[0]] = 120  # that one has ended, the next one is open
    assert source.held([0, 1]) == Held(50, 0.0)
    stable[PLACES[0]] = 170
    now += 5
    assert source.held([0, 1]) == Held(0, 0.0)
    assert source.held([]) == Held()
