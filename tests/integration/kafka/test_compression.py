"""What is written in each compression is read by Kafka's consumer, by aiokafka's and by the service's source."""

from __future__ import annotations

import asyncio
import re
import time

import pytest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.adapters.kafka.writing.packing import PACKERS
from stream_anon.adapters.kafka.writing.transactional_producer import TransactionalProducer
from stream_anon.microdata.texts import Texts
from stream_anon.ports import Parcel
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka import ApacheKafka

pytestmark = pytest.mark.kafka

VALUES = [b'{"age":"%d-%d","zip":"021**"}' % (n % 9, n % 9 + 9) for n in range(3000)]
NOTES = [b"note %d" % n for n in range(50)]


@pytest.mark.parametrize("compression", PACKERS)
async def test_every_consumer_reads_what_is_written(kafka: ApacheKafka, unique: str, compression: str) -> None:
    await kafka.create_topic(unique, 1)
    connection = Connection(kafka.address, unique, session_timeout=6.0, compression=compression)
    sink, moment = TransactionalProducer(connection), int(time.time() * 1000)
    await sink.open()
    try:
        await sink.begin()
        await sink.send([Parcel(unique, 0, Texts.of(list(VALUES)), moment, (("batch", b"id"),))])  # in bulk
        await sink.settle()
        await sink.send([Parcel(unique, 0, list(NOTES), moment, keys=[b"key"] * len(NOTES))])  # by the client
        await sink.settle()
        await sink.commit()
    finally:
        await sink.discard()

    read = await kafka.read_to_end(unique)
    assert [record.value for record in read] == VALUES + NOTES
    assert read[0].headers == (("batch", b"id"),)
    # Kafka's own Java code unpacks the batches and checks their checksums.
    dumped = await kafka.dump(unique)
    payloads = re.findall(r" payload: (.*)$", dumped, re.MULTILINE)
    assert [payload.encode() for payload in payloads] == VALUES + NOTES
    assert set(re.findall(r"compresscodec: (\w+)", dumped)) == {compression, "none"}  # a marker has none
    assert "isvalid: false" not in dumped

    source = KafkaSource(Connection(kafka.address, f"{unique}-again", session_timeout=6.0), InputTopics((unique,)))
    await source.start()
    try:
        found: list[bytes | None] = []
        source.seek(0, 0)
        source.resume([0])
        async with asyncio.timeout(30):
            while len(found) < len(VALUES) + len(NOTES):
                for chunk in (await source.poll(0.2, 5000)).chunks:
                    found += list(chunk.values)
        assert found == VALUES + NOTES
    finally:
        await source.stop(5.0)
