"""Read the newest records of a topic in which anybody may have written anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aiokafka import ConsumerRecord, TopicPartition

from stream_anon.adapters.kafka.bulk.records import Records
from stream_anon.adapters.kafka.bulk.unpacking_budget import Budget
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.topic_consumer import opened_topics, read_to_the_ends
from stream_anon.ports.headers import HeaderRule


@dataclass(frozen=True, slots=True)
class TopicSample:
    """The newest records of a topic that anybody may have written.

    Parameters
    ----------
    records
        Per partition in order of offsets; one may be without any. Values stand behind what their headers put there.
    whole, complete
        As in `TopicReading`.
    unreadable
        Batches that nobody can read, and which were passed over.
    """

    records: Mapping[int, Records]
    whole: frozenset[int]
    complete: bool
    unreadable: int


async def sample_topic(
    connection: Connection,
    topic: str,
    *,
    newest: int,
    most_bytes: int,
    within: float,
    most_value: int,
    headers: HeaderRule,
) -> TopicSample:
    """Return the newest committed records of a topic, whatever bytes anybody has written there.

    Batches are unpacked in bounded memory, as the worker does it, and those that cannot be read are passed over.

    Parameters
    ----------
    newest
        The most records in all, the newest ones of each partition.
    most_bytes, within
        The bytes and seconds after which reading stops.
    most_value
        Larger values may be cut one byte behind this.
    headers
        What headers put before each record's value.

    Raises
    ------
    TopicError
        If there is no such topic, or this user may not read it.
    BrokerError
        If the broker cannot be reached or refuses.
    """
    budget = Budget(most_value)
    async with opened_topics(connection, [topic], "reader", budget, headers) as reader:
        firsts = await reader.begin()
        newest = -(-newest // len(firsts))
        starts = await reader.begin_near_the_end(newest, firsts)
        found: dict[TopicPartition, list[Records]] = {place: [] for place in firsts}

        def keep(place: TopicPartition, part: Records | list[ConsumerRecord]) -> int:
            records = part if isinstance(part, Records) else Records.of(part, headers)
            found[place].append(records)
            return records.values.size

        complete = await read_to_the_ends(reader, keep, most_bytes, within)
    joined = {place: Records.joined(parts or [Records.of([])]) for place, parts in found.items()}
    kept = {place: records.part(max(len(records) - newest, 0), len(records)) for place, records in joined.items()}
    passed_over = reader.unreadable
    uncut = (p for p in firsts if starts[p] <= firsts[p] and len(kept[p]) == len(joined[p]) and not passed_over[p])
    whole = frozenset(place.partition for place in uncut)
    return TopicSample(
        {place.partition: part for place, part in kept.items()}, whole, complete, passed_over.total()
    )
