"""The input as the specification of its format reads it, batches that no client can read among the others."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.offset import OffsetRequest

from stream_anon.ports.headers import NO_HEADERS
from tests.fuzz.batch_targets import wanted_of

_COMMITTED, _WAIT, _MOST_BYTES = 1, 100, 1 << 24
_WITHIN = 120.0
_OUT_OF_RANGE, _NOBODY, _EARLIEST = 1, -1, -2
_LENGTH = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class InputRecord:
    """A record that others wrote."""

    partition: int
    offset: int
    value: bytes


@dataclass(slots=True)
class Input:
    """What a topic holds.

    Parameters
    ----------
    records
        Those of sound batches.
    ends
        By partition, the offset behind its last batch.
    unreadable
        Batches that are not sound.
    """

    records: list[InputRecord] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    unreadable: int = 0


async def read_input(address: str, topic: str) -> Input:
    """Return what the topic holds up to the end that it has now."""
    found = Input()
    client = AIOKafkaClient(bootstrap_servers=address)
    await client.bootstrap()
    try:
        client.add_topic(topic)
        await client.force_metadata_update()
        async with asyncio.timeout(_WITHIN):
            for partition in sorted(client.cluster.partitions_for_topic(topic) or ()):
                await _read_partition(client, topic, partition, found)
    finally:
        await client.close()
    return found


async def _read_partition(client: AIOKafkaClient, topic: str, partition: int, found: Input) -> None:
    offset, end = 0, 1
    while offset < end:
        leader = client.cluster.leader_for_partition(TopicPartition(topic, partition))
        places = [(topic, [(partition, offset, _MOST_BYTES)])]
        answer = await client.send(leader, FetchRequest(_WAIT, 1, _MOST_BYTES, _COMMITTED, places))
        [(_, [(_, error, end, *_, data)])] = answer.topics
        if error == _OUT_OF_RANGE:  # retention has deleted what was there
            offset = await _start_of(client, topic, partition)
            end = offset + 1
            continue
        if error:  # the leader has changed
            await client.force_metadata_update()
            end = offset + 1
            continue
        for batch in _batches(data or b""):
            told = wanted_of(batch, NO_HEADERS, any_stream=True)
            assert told is not None
            if told.sound:
                records = [(place, value or b"") for place, _, value in told.records if place >= offset]
                found.records += [InputRecord(partition, place, value) for place, value in records]
            else:
                found.unreadable += 1
            offset = told.after
    if offset:
        found.ends[partition] = offset


async def _start_of(client: AIOKafkaClient, topic: str, partition: int) -> int:
    leader = client.cluster.leader_for_partition(TopicPartition(topic, partition))
    answer = await client.send(leader, OffsetRequest(_NOBODY, _COMMITTED, [(topic, [(partition, _EARLIEST)])]))
    [(_, [(_, _, *_, offset)])] = answer.topics
    return int(offset)


def _batches(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + 12 <= len(data):
        end = at + 12 + int(_LENGTH.unpack_from(data, at + 8)[0])
        if end > len(data):
            return
        yield data[at:end]
        at = end
