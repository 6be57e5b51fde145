"""Tell whether a topic ever held records, and write one record outside of any transaction."""

from __future__ import annotations

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.following import stop_politely
from stream_anon.adapters.kafka.reading.topic_consumer import places_of
from stream_anon.ports import Parcel


async def has_records(connection: Connection, topic: str) -> bool:
    """Return whether anything was ever written to a topic, but for open transactions. Raises KafkaError."""
    consumer = connection.client(
        AIOKafkaConsumer, "ledger", enable_auto_commit=False, isolation_level="read_committed"
    )
    try:
        await consumer.start()
        ends = await consumer.end_offsets(await places_of(consumer, topic))
        return any(ends.values())
    finally:
        await stop_politely(consumer)


async def send_one(connection: Connection, parcel: Parcel) -> None:
    """Write a parcel of one record to all replicas in sync. Raises KafkaError."""
    assert parcel.keys is not None  # noqa: S101 - an entry has one
    producer = connection.client(AIOKafkaProducer, "ledger", acks="all", enable_idempotence=True)
    try:
        await producer.start()
        await producer.send_and_wait(parcel.topic, parcel.values[0], key=parcel.keys[0], partition=parcel.partition)
    finally:
        await producer.stop()
