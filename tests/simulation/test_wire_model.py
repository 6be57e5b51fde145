"""The model of a broker answers raw requests as Apache Kafka does; `tests/integration/kafka` asks that one."""

from __future__ import annotations

import asyncio

import pytest

from stream_anon.adapters.kafka.protocol.transaction_requests import finalized_level
from stream_anon.ports import Membership
from tests.simulation.wire.conversation import Conversation
from tests.simulation.wire.loop import jumping
from tests.simulation.wire.model.broker import Cluster
from tests.simulation.wire.model.transactions import LAST_EPOCH
from tests.simulation.wire.scripts import SCRIPTS, Script, play


@pytest.mark.parametrize(
    ("level", "script"),
    [pytest.param(level, script, id=f"{script.name}-{level}") for script in SCRIPTS for level in script.levels],
)
def test_the_model_answers_as_kafka_does(level: int, script: Script) -> None:
    with jumping(0) as runner:
        runner.run(_played(level, script))


async def _played(level: int, script: Script) -> None:
    cluster = Cluster(level, {"s.out": (1, 1)})
    group = cluster.group("s")
    group.move({"member"})

    async def exchange(frame: bytes) -> bytes:
        await asyncio.sleep(0)
        return await cluster.handle(1, frame)

    talk = Conversation(exchange, "s", Membership(group.generation, "member"))
    assert finalized_level(await talk.features(), "transaction.version") == level
    await play(script, talk)


async def test_the_last_epoch_of_a_producer_id_is_followed_by_the_first_of_another() -> None:
    # Apache Kafka would need 32,766 transactions to get there.
    cluster = Cluster(2, {"s.out": (1,)})
    talk = Conversation(lambda frame: cluster.handle(1, frame), "s")
    _, (producer, _) = await talk.init(30_000)
    cluster.transactions.known["s"].epoch = LAST_EPOCH
    last = producer, LAST_EPOCH
    assert await talk.add(last, 0) == 0
    assert await talk.produce(last, 0, 0, b"1") == 0
    following = (producer + 1, 0)
    assert await talk.end(last, commits=True, version=5) == (0, following)
    assert await talk.until("CompleteCommit") == following
    assert await talk.end(last, commits=True, version=5) == (0, following), "repeated"
    assert await talk.add(following, 0) == 0
    assert await talk.end(last, commits=True, version=5) == (49, (-1, -1)), "late"
    assert await talk.produce(following, 0, 0, b"2") == 0
    assert await talk.end(following, commits=True, version=5) == (0, (producer + 1, 1))
    await talk.until("CompleteCommit")
    assert await talk.seen(0) == [b"1", b"2"]
