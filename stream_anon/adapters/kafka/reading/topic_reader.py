"""Read a topic, or its newest records, without joining a group and without committing anything."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError

from stream_anon.adapters.kafka.client.connection import Connection, connection_error
from stream_anon.adapters.kafka.reading.ends import at_the_ends
from stream_anon.errors import BrokerError, TopicError

_START_WITHIN = 15.0
_POLL_MS = 100
_MOST_POLLED = 5_000


@dataclass(frozen=True, slots=True)
class TopicReading:
    """What was read of a topic.

    Parameters
    ----------
    records
        Per partition in order of offsets, as aiokafka gives them.
    whole
        Partitions of which nothing before the first record was left out.
    complete
        False if time or bytes ran out before the end that the partitions had.
    """

    records: Mapping[int, list[ConsumerRecord]]
    whole: frozenset[int]
    complete: bool

    def __len__(self) -> int:
        return sum(map(len, self.records.values()))


async def read_topic(
    connection: Connection,
    topic: str,
    *,
    newest: int | None = None,
    most_bytes: int = 1024 * 1024 * 1024,
    within: float = 30.0,
) -> TopicReading:
    """Return the committed records of a topic up to the end that each partition has when it is first fetched.

    Parameters
    ----------
    newest
        Records in all at the most, the newest ones of each partition; None for all.
    most_bytes, within
        Reading stops after so many bytes and seconds.

    Raises
    ------
    TopicError
        If there is no such topic, or this user may not read it.
    BrokerError
        If the broker cannot be reached or refuses.
    """
    consumer = AIOKafkaConsumer(
        **connection.options("reader"),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        fetch_max_wait_ms=_POLL_MS,
    )
    try:
        async with asyncio.timeout(_START_WITHIN):
            await consumer.start()
            places = await _places(consumer, topic)
            firsts = await consumer.beginning_offsets(places)
            newest = None if newest is None else -(-newest // len(places))
            starts = firsts if newest is None else await _starts(consumer, places, firsts, newest)
        consumer.assign(places)
        for place, start in starts.items():
            consumer.seek(place, start)
        records, complete = await _read(consumer, places, most_bytes, within)
    except BrokerError:
        raise
    except TopicAuthorizationFailedError:
        raise TopicError(f"{topic}: may not be read by this user") from None
    except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
        raise await connection_error(connection, f"reading {topic}", error) from None
    finally:
        with contextlib.suppress(TimeoutError, KafkaError, OSError, AssertionError):
            async with asyncio.timeout(2.0):
                await consumer.stop()
    kept = {place: part if newest is None else part[-newest:] for place, part in records.items()}
    uncut = (p for p in places if starts[p] <= firsts[p] and len(kept[p]) == len(records[p]))
    whole = frozenset(place.partition for place in uncut)
    return TopicReading({place.partition: part for place, part in kept.items()}, whole, complete)


async def _places(consumer: AIOKafkaConsumer, topic: str) -> list[TopicPartition]:
    # Asking for all topics creates none; asking for one that is missing could.
    if topic not in await consumer.topics():
        raise TopicError(f"{topic}: does not exist, or this user may not see it")
    numbers = await consumer._client._wait_on_metadata(topic)  # noqa: SLF001 - as in ledger.py
    return [TopicPartition(topic, number) for number in sorted(numbers)]


async def _starts(
    consumer: AIOKafkaConsumer, places: list[TopicPartition], firsts: Mapping[TopicPartition, int], newest: int
) -> dict[TopicPartition, int]:
    ends = await consumer.end_offsets(places)
    return {place: max(firsts[place], ends[place] - newest) for place in places}


async def _read(
    consumer: AIOKafkaConsumer, places: list[TopicPartition], most_bytes: int, within: float
) -> tuple[dict[TopicPartition, list[ConsumerRecord]], bool]:
    records: dict[TopicPartition, list[ConsumerRecord]] = {place: [] for place in places}
    ends: dict[TopicPartition, int] = {}
    size = 0
    try:
        async with asyncio.timeout(within):
            while True:
                answer = await consumer.getmany(timeout_ms=_POLL_MS, max_records=_MOST_POLLED)
                for place, part in answer.items():
                    records[place] += part
                    size += sum(len(record.value or b"") for record in part)
                if size > most_bytes:
                    return records, False
                if await at_the_ends(consumer, places, ends):
                    return records, True
    except TimeoutError:
        return records, False
