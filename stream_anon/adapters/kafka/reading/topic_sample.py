"""Read the newest records of a topic in which anybody may have written anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from aiokafka import AIOKafkaConsumer, TopicPartition

from stream_anon.adapters.kafka.bulk.draining import Unreadable, drain_in_batches
from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.bulk.unpacking_budget import Budget
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.topic_consumer import (
    MOST_POLLED,
    POLL_MS,
    TopicConsumer,
    connected_consumer,
    read_to_the_ends,
)
from stream_anon.ports.headers import NO_HEADERS, HeaderRule

_ALL = 2**63  # more records than a partition can hold


@dataclass(frozen=True, slots=True)
class TopicSample:
    """The newest records of a topic that anybody may have written.

    Parameters
    ----------
    records
        Per partition in order of offsets; one may be without any. Values stand behind what their headers put there.
    whole
        Partitions that were read from their first record on.
    complete
        False if time or bytes ran out before the ends that the partitions had, or if nobody knows where a batch
        ends.
    unreadable
        Batches that nobody can read, and which were passed over.
    """

    records: Mapping[int, Records]
    whole: frozenset[int]
    complete: bool
    unreadable: int

    def __len__(self) -> int:
        return sum(map(len, self.records.values()))

    @property
    def is_whole(self) -> bool:
        """Return whether every partition was read from its first record on."""
        return self.whole >= self.records.keys()

    def values(self) -> Iterator[bytes | None]:
        """Yield the value of each record."""
        for part in self.records.values():
            yield from part.values


@dataclass(frozen=True, slots=True)
class SampleLimits:
    """How much is read of a topic.

    Parameters
    ----------
    newest
        The most records in all, the newest ones of each partition; None for all.
    most_bytes, within
        The bytes that are kept, and the seconds, after which reading stops.
    most_value
        Larger values may be cut one byte behind this.
    """

    newest: int | None
    most_bytes: int
    within: float
    most_value: int


async def sample_topic(
    connection: Connection,
    topic: str,
    limits: SampleLimits,
    *,
    headers: HeaderRule = NO_HEADERS,
    wanted: Callable[[bytes | None], bool] | None = None,
) -> TopicSample:
    """Return the newest committed records of a topic, whatever bytes anybody has written there.

    Batches are unpacked in bounded memory, as the worker does it, and those that cannot be read are passed over.

    Parameters
    ----------
    headers
        What headers put before each record's value.
    wanted
        Says of a value whether its record is kept; None keeps all.

    Raises
    ------
    TopicError
        If there is no such topic, or this user may not read it.
    BrokerError
        If the broker cannot be reached or refuses.
    """
    async with connected_consumer(connection, [topic], "reader") as (consumer, places):
        reader = ColumnConsumer(consumer, places, limits.most_value, headers)
        firsts = await reader.begin()
        most = _ALL if limits.newest is None else -(-limits.newest // len(firsts))
        starts = await reader.begin_near_the_end(most, firsts)
        found: dict[TopicPartition, list[Records]] = {place: [] for place in firsts}

        def keep(place: TopicPartition, records: Records) -> int:
            if wanted is not None:
                records = records.chosen(np.fromiter(map(wanted, records.values), np.bool_, len(records)))
            found[place].append(records)
            return records.values.size + records.offsets.nbytes + records.times.nbytes

        complete = await read_to_the_ends(reader, keep, limits.most_bytes, limits.within) and not reader.given_up
    joined = {place: Records.joined(parts or [Records.of([])]) for place, parts in found.items()}
    kept = {place: records.part(max(len(records) - most, 0), len(records)) for place, records in joined.items()}
    passed_over = reader.unreadable
    uncut = (p for p in firsts if starts[p] <= firsts[p] and len(kept[p]) == len(joined[p]) and not passed_over[p])
    whole = frozenset(place.partition for place in uncut)
    return TopicSample(
        {place.partition: part for place, part in kept.items()}, whole, complete, passed_over.total()
    )


class ColumnConsumer(TopicConsumer[Records]):
    """Gives records as columns, unpacks within a budget, and passes over what cannot be read.

    Attributes
    ----------
    unreadable
        How many batches of each partition it passed over.
    given_up
        Whether the rest of a partition was passed over, since nobody knows where a batch ends.
    """

    def __init__(
        self, consumer: AIOKafkaConsumer, places: list[TopicPartition], most_value: int, headers: HeaderRule
    ) -> None:
        super().__init__(consumer, places)
        self._headers = headers
        self._budget = Budget(most_value)
        drain_in_batches(consumer, self._budget, headers)
        self.unreadable = Counter[TopicPartition]()
        self.given_up = False

    async def poll(self) -> Mapping[TopicPartition, Records]:
        """See `TopicConsumer`."""
        self._budget.begin_poll()
        found = dict[TopicPartition, Records]()
        answer = await self._consumer.getmany(timeout_ms=POLL_MS, max_records=MOST_POLLED)
        for place, records in answer.items():
            if isinstance(records, Unreadable):
                await self._pass_over(place, records.after)
            else:
                found[place] = records if isinstance(records, Records) else Records.of(records, self._headers)
        return found

    async def _pass_over(self, place: TopicPartition, after: int | None) -> None:
        self.unreadable[place] += 1
        if after is None:
            self.given_up = True
            self._places.remove(place)
            self._consumer.pause(place)
        else:
            self._consumer.seek(place, max(after, await self._consumer.position(place) + 1))
