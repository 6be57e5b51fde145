"""Read the offset syncs of MirrorMaker 2: pairs of offsets of one record in the source and in the target cluster.

Key: the topic (its length as int16, UTF-8) and the partition (int32). Value: the upstream and the downstream offset
(int64). All big-endian, without a version.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Mapping

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.topic_reader import read_topic
from stream_anon.errors import BrokerError, TopicError
from stream_anon.ports import Place

_WITHIN = 120.0
_LENGTH, _PARTITION, _OFFSETS = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">qq")


def sync_of(key: bytes, value: bytes) -> tuple[Place, int, int]:
    """Return the upstream partition and the upstream and downstream offsets of one record's key and value.

    Raises
    ------
    ValueError
        If it is no offset sync. The message holds nothing of its content.
    """
    try:
        (length,) = _LENGTH.unpack_from(key)
        topic = key[_LENGTH.size : _LENGTH.size + length].decode()
        (partition,) = _PARTITION.unpack(key[_LENGTH.size + length :])
        upstream, downstream = _OFFSETS.unpack(value)
    except (struct.error, UnicodeDecodeError):
        raise ValueError("no offset sync of MirrorMaker 2") from None
    if length < 1 or min(partition, upstream, downstream) < 0:
        raise ValueError("no offset sync of MirrorMaker 2")
    return (topic, partition), upstream, downstream


async def read_offset_syncs(connection: Connection, topic: str) -> Mapping[Place, list[tuple[int, int]]]:
    """Return (upstream, downstream) offsets by upstream partition, in the order in which they were written.

    Raises
    ------
    TopicError
        If there is no such topic, this user may not read it, or it holds something else.
    BrokerError
        If it cannot be read to its end.
    """
    reading = await read_topic(connection, topic, within=_WITHIN)
    if not reading.complete:
        raise BrokerError(f"{topic}: could not be read to its end in {_WITHIN:g} s")
    found: dict[Place, list[tuple[int, int]]] = defaultdict(list)
    for records in reading.records.values():
        for record in records:
            try:
                place, upstream, downstream = sync_of(record.key or b"", record.value or b"")
            except ValueError as error:
                raise TopicError(f"{topic}-{record.partition}, offset {record.offset}: is {error}") from None
            found[place].append((upstream, downstream))
    return found
