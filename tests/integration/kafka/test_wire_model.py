"""Apache Kafka answers raw requests as the model of the simulation does, at each level of transaction.version."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer

from stream_anon.adapters.kafka.protocol.group_fencing import membership_of
from stream_anon.adapters.kafka.protocol.transaction_requests import finalized_level
from tests.simulation.wire.conversation import Conversation
from tests.simulation.wire.scripts import SCRIPTS, play
from tests.support.apache_kafka import ApacheKafka

pytestmark = pytest.mark.kafka


@asynccontextmanager
async def _conversation(kafka: ApacheKafka, name: str) -> AsyncIterator[Conversation]:
    """Yield a conversation over a connection of its own, with a group that one member has joined."""
    await kafka.create_topic(f"{name}.out", 2)
    consumer = AIOKafkaConsumer(
        f"{name}.out", bootstrap_servers=kafka.address, group_id=name, enable_auto_commit=False
    )
    await consumer.start()
    host, port = kafka.address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))

    async def exchange(frame: bytes) -> bytes:
        writer.write(frame)
        size = await reader.readexactly(4)
        return size + await reader.readexactly(struct.unpack(">i", size)[0])

    try:
        while not consumer.assignment():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)
        member = membership_of(consumer)
        assert member is not None
        yield Conversation(exchange, name, member)
    finally:
        writer.close()
        await consumer.stop()


@pytest.fixture(params=[0, 1, 2])
def level(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def broker(level: int, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApacheKafka]:
    """A broker of this level; the one that all tests share is of the newest."""
    shared: ApacheKafka = request.getfixturevalue("kafka")
    if level == 2:
        yield shared
        return
    with ApacheKafka(tmp_path, format_options=["--feature", f"transaction.version={level}"]) as own:
        yield own
        own.kill()


async def test_kafka_answers_as_the_model_does(level: int, broker: ApacheKafka, unique: str) -> None:
    differences = []
    for number, script in enumerate(SCRIPTS):
        if level not in script.levels:
            continue
        async with _conversation(broker, f"{unique}.{number}") as talk:
            assert finalized_level(await talk.features(), "transaction.version") == level
            try:
                await play(script, talk)
            except (AssertionError, TimeoutError) as error:
                differences.append(f"{script.name}: {error!r}")
    assert not differences, "\n".join(differences)
