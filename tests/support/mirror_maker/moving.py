"""What a test of a move to another cluster does: write, wait for the copy, run commands, see what will be read."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from tests.support.apache_kafka import ApacheKafka
from tests.support.service import PARTITIONS, Stage, command

_COPIED_WITHIN = 90.0


async def produce_in_transactions(stage: Stage, values: list[bytes], size: int = 60) -> None:
    """Send records in transactions, and abort every second one first, so that the copy has other offsets."""
    async with AIOKafkaProducer(
        bootstrap_servers=stage.kafka.address, transactional_id=f"{stage.name}.input"
    ) as producer:
        for begin in range(0, len(values), size):
            for abort in (True, False) if begin % (2 * size) else (False,):
                await producer.begin_transaction()
                for n, value in enumerate(values[begin : begin + size]):
                    await producer.send(stage.name, value, partition=n % PARTITIONS)
                await (producer.abort_transaction() if abort else producer.commit_transaction())


async def until_copied(source: ApacheKafka, topic: str, target: ApacheKafka, copy: str) -> None:
    """Wait until a topic is copied, each record once."""
    count = len(await source.read_to_end(topic))
    deadline = time.monotonic() + _COPIED_WITHIN
    copied = 0
    while time.monotonic() < deadline:
        try:
            copied = len(await target.read_to_end(copy))
        except (KafkaError, ValueError):  # not created yet
            copied = 0
        if copied >= count:
            assert copied == count, f"{topic}: {copied} of {count} records were copied"
            return
        await asyncio.sleep(0.5)
    raise AssertionError(f"{topic}: {copied} of {count} records were copied in {_COPIED_WITHIN:g} s")


async def has_gaps(kafka: ApacheKafka, topic: str) -> bool:
    """Return whether there are offsets without a record."""
    offsets = [(record.partition, record.offset) for record in await kafka.read_to_end(topic)]
    return any((partition, offset - 1) not in offsets for partition, offset in offsets if offset)


async def behind(stage: Stage, topic: str) -> list[int]:
    """Return the serial numbers of the records that the service will read, from its group's offsets on."""
    async with AIOKafkaConsumer(
        bootstrap_servers=stage.kafka.address, group_id=stage.name, enable_auto_commit=False
    ) as consumer:
        starts = {n: await consumer.committed(TopicPartition(topic, n)) for n in range(PARTITIONS)}
    records = await stage.kafka.read_to_end(topic)
    return [json.loads(each.value)["serial"] for each in records if each.offset >= starts[each.partition]]


async def realign(config: Path, *arguments: str) -> tuple[int | None, str]:
    """Run `stream-anon realign`; return its exit code and what it printed."""
    return await command("realign", config, *arguments)
