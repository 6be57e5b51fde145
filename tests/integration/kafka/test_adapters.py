"""The adapters on a real Kafka, without a worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.adapters.kafka.topics.creation import create_ledger
from stream_anon.adapters.kafka.topics.descriptions import Topics
from stream_anon.adapters.kafka.topics.requirements import TopicSeverity, examine
from stream_anon.adapters.kafka.writing.transactional_producer import TransactionalProducer
from stream_anon.errors import BrokerError, OwnershipLost
from stream_anon.ports import Membership, Parcel, Polled
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka import ApacheKafka
from tests.support.plain_kafka import fill

pytestmark = pytest.mark.kafka


def connect(kafka: ApacheKafka, group: str, **more: float) -> Connection:
    return Connection(kafka.address, group, session_timeout=2.0, **more)


@asynccontextmanager
async def joined(kafka: ApacheKafka, group: str, topic: str) -> AsyncIterator[KafkaSource]:
    source = KafkaSource(connect(kafka, group), InputTopics((topic,)))
    await source.start()
    try:
        yield source
    finally:
        await source.stop(5.0)


async def publish(sink: TransactionalProducer, parcels: list[Parcel], offsets: dict, member: Membership) -> None:
    await sink.begin()
    await sink.send(parcels)
    await sink.settle()
    await sink.add_offsets()
    await sink.commit_offsets(offsets, member)
    await sink.commit()


async def poll_some(source: KafkaSource, records: int) -> list[Polled]:
    polled: list[Polled] = []
    async with asyncio.timeout(10):
        while sum(len(c.offsets) for p in polled for c in p.chunks) < records:
            polled.append(await source.poll(0.2, 1000))
    return polled


async def test_source_gives_nothing_before_a_takeover_and_all_of_it_after(kafka: ApacheKafka, unique: str) -> None:
    await kafka.create_topic(unique, 2)
    await fill(kafka.address, unique, [b"%d" % i for i in range(100)])
    async with joined(kafka, unique, unique) as source:
        assert source.assigned == {0, 1}
        assert source.membership() is not None
        assert await source.poll(0.5, 100) == Polled()
        assert await source.bounds([0, 1], "earliest") == {0: 0, 1: 0}
        assert await source.bounds([0, 1], "latest") == {0: 50, 1: 50}
        for partition in (0, 1):
            source.seek(partition, 10)
        source.resume([0, 1])
        polled = await poll_some(source, 80)
        values = sorted(int(v) for p in polled for c in p.chunks for v in c.values if v is not None)
        assert values == list(range(20, 100))
        assert next(c.first for p in polled for c in p.chunks if c.source == 0) == 10
        assert source.lag([0, 1]) == 0


async def test_seek_beyond_the_log_is_told_as_lost_input(kafka: ApacheKafka, unique: str) -> None:
    await kafka.create_topic(unique, 1)
    async with joined(kafka, unique, unique) as source:
        source.seek(0, 7)
        source.resume([0])
        async with asyncio.timeout(10):
            while not (polled := await source.poll(0.2, 100)).lost:
                pass
        assert polled.lost[0].position == 7


async def test_transaction_sets_records_ledger_and_offsets_together(kafka: ApacheKafka, unique: str) -> None:
    output, ledger_topic = f"{unique}.out", f"{unique}.out.ledger"
    for name in (unique, output):
        await kafka.create_topic(name, 2)
    connection = connect(kafka, unique)
    topics = Topics(InputTopics((unique,)), output, "none", "none", ledger_topic)
    assert await create_ledger(connection, topics)
    assert not await create_ledger(connection, topics)
    sink, ledger = TransactionalProducer(connection), KafkaLedger(connection, ledger_topic)
    await sink.open()
    await ledger.open()
    try:
        async with joined(kafka, unique, unique) as source:
            member = source.membership()
            assert member is not None
            place = (unique, 0)
            assert await sink.stable_offsets([place]) == {place: None}
            for turn in (1, 2, 3):
                entries = ledger.entries({place: turn * 10}, f"batch{turn}", {}, 5000)
                assert entries is not None
                parcels = [
                    Parcel(output, turn % 2, [b"x" * 200_000] * 4, 5000, (("batch", b"id"),)),
                    Parcel(output, 0, [b"y" * 900_000], 5000),
                    entries,
                ]
                await publish(sink, parcels, {place: turn * 10}, member)
                assert await sink.stable_offsets([place, (unique, 1)]) == {place: turn * 10, (unique, 1): None}
                assert (await ledger.caught_up())[place].next == turn * 10
                assert [ledger.holds(f"batch{n}") for n in (1, 2, 3)] == [n == turn for n in (1, 2, 3)]
        records = await kafka.read_to_end(output)
        assert len(records) == 15
        assert {(r.key, r.timestamp) for r in records} == {(None, 5000)}
        assert sum(r.headers == (("batch", b"id"),) for r in records) == 12
    finally:
        await ledger.discard()
        await sink.discard()


@pytest.mark.parametrize("whose", ["ledger", "tail"])
async def test_ledger_reads_on_after_a_task_of_its_client_has_ended(
    kafka: ApacheKafka, unique: str, whose: str
) -> None:
    await kafka.create_topic(unique, 1)
    connection, name = connect(kafka, unique), f"{unique}.ledger"
    assert await create_ledger(connection, Topics(InputTopics((unique,)), unique, "none", "none", name))
    sink, ledger, place = TransactionalProducer(connection), KafkaLedger(connection, name), (unique, 0)
    await sink.open()
    await ledger.open()

    async def publish_entry(end: int) -> None:
        entries = ledger.entries({place: end}, f"batch{end}", {}, 5000)
        assert entries is not None
        await sink.begin()
        await sink.send([entries])
        await ledger.uncontested({place: end - 10}, await sink.settle())
        await sink.commit()

    def broken(assignment: object) -> None:
        raise RuntimeError("a bug of the client's")

    try:
        await publish_entry(10)
        assert (await ledger.caught_up())[place].next == 10
        assert ledger._tail is not None
        old = (ledger._consumer, ledger._tail._consumer)
        dying = old[whose == "tail"]
        assert dying is not None
        dying._fetcher._get_actions_per_node = broken
        await asyncio.wait([dying._fetcher._fetch_task], timeout=5)
        await ledger.open()
        connections = [conn for client in old if client is not None for conn in client._client._conns.values()]
        assert not any(conn.connected() for conn in connections)
        assert (await ledger.caught_up())[place].next == 10
        await publish_entry(20)
        assert (await ledger.caught_up())[place].next == 20
    finally:
        await ledger.discard()
        await sink.discard()


async def test_topic_made_after_the_producer_leaves_the_others_writable(kafka: ApacheKafka, unique: str) -> None:
    # aiokafka asks for what it does not know and then forgets all that it did not have to ask for.
    old, new = f"{unique}.old", f"{unique}.new"
    for name in (unique, old):
        await kafka.create_topic(name, 2)
    sink = TransactionalProducer(connect(kafka, unique))
    await sink.open()
    try:
        await kafka.create_topic(new, 1)
        async with joined(kafka, unique, unique) as source:
            member = source.membership()
            assert member is not None
            for turn in (1, 2):
                parcels = [Parcel(old, 1, [b"a"], 5000), Parcel(new, 0, [b"b"], 5000), Parcel(old, 0, [b"c"], 5000)]
                await publish(sink, parcels, {(unique, 0): turn}, member)
                await sink.discard()
                await sink.open()
        assert len(await kafka.read_to_end(old)) == 4
    finally:
        await sink.discard()


async def test_old_generation_is_turned_away_and_publishes_nothing(kafka: ApacheKafka, unique: str) -> None:
    output = f"{unique}.out"
    for name in (unique, output):
        await kafka.create_topic(name, 2)
    sink = TransactionalProducer(connect(kafka, unique))
    await sink.open()
    try:
        async with joined(kafka, unique, unique) as first:
            old = first.membership()
            assert old is not None
            async with joined(kafka, unique, unique) as second:
                async with asyncio.timeout(20):
                    while len(first.assigned) != 1 or len(second.assigned) != 1:  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
                now = second.membership()
                assert now is not None
                for stranger in (old, Membership(now.generation, "nobody")):
                    with pytest.raises(OwnershipLost):
                        await publish(sink, [Parcel(output, 0, [b"a"], 5000)], {(unique, 0): 5}, stranger)
                    await sink.discard()
                    await sink.open()
                    assert await sink.stable_offsets([(unique, 0)]) == {(unique, 0): None}
        assert await kafka.read_to_end(output) == []
    finally:
        await sink.discard()


async def test_examine_names_missing_topics_and_missing_replicas(kafka: ApacheKafka, unique: str) -> None:
    await kafka.create_topic(unique, 3)
    await kafka.create_topic(f"{unique}.out", 1, cleanup_policy="compact")
    topics = Topics(InputTopics((unique,)), f"{unique}.out", f"{unique}.cert", f"{unique}.dead", f"{unique}.ledger")
    findings = await examine(connect(kafka, unique), topics)
    texts = {(f.topic.removeprefix(unique), f.severity, f.text) for f in findings}
    assert ("", TopicSeverity.OK, "3 partitions, 1 replicas") in texts
    assert ("", TopicSeverity.ERROR, "has 1 replicas, 3 are needed") in texts
    assert (".cert", TopicSeverity.ERROR, "does not exist") in texts
    assert (".out", TopicSeverity.ERROR, "cleanup.policy must not be compact: records have no key") in texts
    assert (".ledger", TopicSeverity.OK, "does not exist yet: a run creates it") in texts
    lenient = await examine(connect(kafka, unique), topics, development=True)
    assert not [f for f in lenient if f.severity is TopicSeverity.ERROR and "replicas" in f.text]


async def test_absent_broker_is_an_error_of_ours_without_the_librarys_words() -> None:
    nowhere = Connection("127.0.0.1:9", "g")
    for start in (
        KafkaSource(nowhere, InputTopics(("t",))).start,
        TransactionalProducer(nowhere).open,
        KafkaLedger(nowhere, "t").open,
        lambda: examine(nowhere, Topics(InputTopics(("a",)), "b", "c", "d", "e")),
    ):
        with pytest.raises(BrokerError, match="nothing answers") as raised:
            await start()
        assert "127.0.0.1" not in str(raised.value)
