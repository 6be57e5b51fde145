"""A group that packs its partitions, on a real Kafka: roll-outs, failures, and load that comes and goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from stream_anon.adapters.kafka.assigning import asking, assignor, measuring
from stream_anon.adapters.kafka.assigning.sharing import Sharing
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka import ApacheKafka
from tests.support.service import (
    PARTITIONS,
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    wait_until_accounted,
)

pytestmark = pytest.mark.kafka
SESSION = 2.0
WITHIN = 30.0


class Group:
    """Members of one group, which look at it now and then as workers do."""

    def __init__(self, kafka: ApacheKafka, name: str) -> None:
        self._connection = Connection(kafka.address, name, session_timeout=SESSION)
        self._inputs = InputTopics((name,))
        self._members: list[tuple[KafkaSource, asyncio.Task[None]]] = []
        self.share = 0.0  # in which each member is busy
        self.aside: set[KafkaSource] = set()

    async def join(self, *, packed: bool = True) -> KafkaSource:
        begun = asyncio.get_running_loop().time()

        def busy() -> float:
            return self.share * (asyncio.get_running_loop().time() - begun)

        sharing = Sharing(busy, lambda: member in self.aside, packed=packed)
        member = KafkaSource(self._connection, self._inputs, sharing=sharing)
        await member.start()
        self._members.append((member, asyncio.create_task(self._look(member))))
        return member

    @staticmethod
    async def _look(member: KafkaSource) -> None:
        while True:
            await member.reachable()
            await member.poll(0.1, 10)

    async def leave(self, *members: KafkaSource) -> None:
        for member, look in [pair for pair in self._members if pair[0] in members]:
            look.cancel()
            await asyncio.gather(look, return_exceptions=True)
            await member.stop(2.0)
            self._members.remove((member, look))

    async def until(self, *sizes: int) -> None:
        """Wait until the members have so many partitions, whichever of them has which."""

        def found() -> list[int]:
            return sorted(len(member.assigned) if member.settled else -1 for member, _ in self._members)

        await _until(lambda: found() == sorted(sizes), lambda: f"{found()}, not {sizes}")

    async def end(self) -> None:
        await self.leave(*[member for member, _ in self._members])


async def _until(holds: Callable[[], bool], what: Callable[[], str]) -> None:
    try:
        async with asyncio.timeout(WITHIN):
            while not holds():  # noqa: ASYNC110 - several members move
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(what()) from None


@asynccontextmanager
async def _group(kafka: ApacheKafka, name: str) -> AsyncIterator[Group]:
    await kafka.create_topic(name, PARTITIONS)
    group = Group(kafka, name)
    try:
        yield group
    finally:
        await group.end()


async def test_a_roll_out_to_packed_and_back_agrees_at_each_step(kafka: ApacheKafka, unique: str) -> None:
    async with _group(kafka, unique) as group:
        one, other = await group.join(packed=False), await group.join(packed=False)
        await group.until(2, 2)
        third = await group.join()
        await group.until(2, 1, 1)
        assert third.view().members == 0
        await group.leave(one)
        await group.until(2, 2)
        await group.join()
        await group.until(2, 1, 1)
        await group.leave(other)
        # Nobody had a minute to measure: the two that have partitions keep theirs, and share what is left.
        await group.until(2, 2)
        await _until(lambda: (third.view().members, third.view().carriers) == (2, 2), lambda: str(third.view()))
        await group.join()
        await group.until(2, 2, 0)
        back = await group.join(packed=False)
        await group.until(1, 1, 1, 1)
        await _until(lambda: third.view().members == 0, lambda: str(third.view()))
        await group.leave(back)


async def test_load_parts_and_joins_members_and_a_rest_lies_between(
    kafka: ApacheKafka, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "MINUTE", 1.0)
    for module in (assignor, asking):
        monkeypatch.setattr(module, "REST", 4.0)
    monkeypatch.setattr(asking, "MARGIN", 0.5)
    async with _group(kafka, unique) as group:
        group.share = 0.4
        one = await group.join()
        await group.join()
        await group.until(PARTITIONS, 0)
        group.share = 0.9
        await group.until(2, 2)
        parted = asyncio.get_running_loop().time()
        group.share = 0.0
        await _until(lambda: len(one.assigned) in (0, PARTITIONS) and one.settled, lambda: "they stay apart")
        assert asyncio.get_running_loop().time() - parted > 3.0
        await _until(lambda: one.view().carriers == 1, lambda: str(one.view()))


async def test_a_member_that_leaves_its_partitions_to_a_newer_policy_hands_them_over(
    kafka: ApacheKafka, unique: str
) -> None:
    async with _group(kafka, unique) as group:
        one, other = await group.join(), await group.join()
        await group.until(PARTITIONS, 0)
        has, waits = (one, other) if one.assigned else (other, one)
        group.aside.add(has)
        await _until(lambda: len(waits.assigned) == PARTITIONS and has.settled, lambda: "they are not handed over")
        assert not has.assigned


async def test_workers_that_stand_by_are_warm_and_take_over_when_the_one_that_reads_is_killed(stage: Stage) -> None:
    config = stage.config()
    with WorkerProcess(config) as first, WorkerProcess(config) as second:
        for worker in (first, second):
            await worker.wait_for("ready")
            await worker.wait_for("packed")
        await _until(lambda: bool(first.said("standing-by") or second.said("standing-by")), lambda: "both read")
        reads, waits = (first, second) if second.said("standing-by") else (second, first)
        await produce(stage, make_records(600, 1))
        await wait_until_accounted(stage, 600)
        assert not waits.said("window-published")
        assert waits.get("/readyz")[0] == 200
        assert "\nstream_anon_workers_with_partitions 1.0" in waits.get("/metrics")[1]
        reads.kill()
        await produce(stage, make_records(600, 2, first=600))
        check_published(await wait_until_accounted(stage, 1200), 1200)
        assert waits.said("taken-over")[-1]["owned"] == PARTITIONS
