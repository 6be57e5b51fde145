"""What an operator's hand does to a group at rest: delete its offsets, set them back, put them right again."""

from __future__ import annotations

import asyncio
import json
import time

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError, UnknownTopicOrPartitionError
from aiokafka.protocol.admin import DeleteGroupsRequest

from tests.support.plain_kafka import admin_of
from tests.support.service import Stage

_WITHIN = 40.0
_NOT_THERE = 69


async def ledger_of(stage: Stage) -> dict[int, int]:
    """Return the ledger's entries: by partition, the next offset to release; none without a ledger."""
    entries: dict[int, int] = {}
    try:
        records = await stage.kafka.read_to_end(f"{stage.output}.ledger")
    except UnknownTopicOrPartitionError:
        return entries
    for record in records:
        topic, partition = json.loads(record.key)
        if topic == stage.name:  # a ledger that was created again begins with a mark
            entries[partition] = json.loads(record.value)["next"]
    return entries


async def delete_offsets(stage: Stage, group: str = "") -> None:
    """Delete a group, the first one if none is named, as soon as its last member is gone."""
    group = group or stage.name
    deadline = time.monotonic() + _WITHIN
    async with admin_of(stage.kafka.address) as admin:
        while True:
            try:
                node = await admin.find_coordinator(group)
                answer = await admin._send_request_to_node(node, DeleteGroupsRequest([group]))
                if answer.results[0][1] in (0, _NOT_THERE):
                    return
            except KafkaError:
                pass
            assert time.monotonic() < deadline, "the group does not come to rest"
            await asyncio.sleep(0.3)


async def set_offsets(stage: Stage, offsets: dict[int, int]) -> None:
    """Set the group's offsets, as soon as its last member is gone."""
    deadline = time.monotonic() + _WITHIN
    async with AIOKafkaConsumer(
        bootstrap_servers=stage.kafka.address, group_id=stage.name, enable_auto_commit=False
    ) as consumer:
        places = {TopicPartition(stage.name, number): offset for number, offset in offsets.items()}
        consumer.assign(list(places))
        while True:
            try:
                await consumer.commit(places)
            except (KafkaError, ValueError):
                assert time.monotonic() < deadline, "the group does not come to rest"
                await asyncio.sleep(0.3)
            else:
                return
