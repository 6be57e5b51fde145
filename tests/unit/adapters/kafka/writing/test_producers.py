"""What batches are sent: how large those are that follow a refused one, and what records say of their time."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.record.default_records import DefaultRecordBatch

from stream_anon.adapters.kafka.writing.packed_batch import PackedBatch
from stream_anon.adapters.kafka.writing.producers import BATCH_BYTES, Shipment, smaller
from stream_anon.microdata.keys import PADDING
from stream_anon.microdata.texts import Texts
from stream_anon.ports import Parcel


class Taking:
    """What a shipment needs of a producer: it keeps each batch that it is sent."""

    def __init__(self) -> None:
        self._message_accumulator = SimpleNamespace(_compression_type=0, _batch_size=BATCH_BYTES)
        self._txn_manager = SimpleNamespace(transactional_id="id")
        self.client = SimpleNamespace(cluster=SimpleNamespace(partitions_for_topic=lambda _: {0}))
        self.sent: list[Any] = []

    async def send_batch(self, batch: PackedBatch, topic: str, partition: int) -> asyncio.Future[Any]:
        self.sent.append(list(DefaultRecordBatch(bytes(batch._build()))))
        future = asyncio.get_running_loop().create_future()
        future.set_result(SimpleNamespace(offset=0))
        return future


@pytest.mark.parametrize("times", [(10_000, 12_000, 11_000), (10_000, 9_000, 9_500)])
async def test_windows_that_go_out_together_keep_their_times_where_the_clock_was_set_back(
    times: tuple[int, ...],
) -> None:
    records = 400  # of 1 kB: a batch has room for one window and a part of the next
    producer, texts = Taking(), Texts.of([b"x" * 1000] * records)
    shipment = Shipment(cast("AIOKafkaProducer", producer))
    shipment.send([Parcel("out", 0, texts, time, (("window", b"%d" % time),)) for time in times])
    assert await shipment.settle() == {("out", 0): 0}
    told = [(record.timestamp, *record.headers) for batch in producer.sent for record in batch]
    assert told == [(time, ("window", b"%d" % time)) for time in times for _ in range(records)]


def test_batches_become_smaller_until_each_holds_one_record() -> None:
    """Else a topic that takes no record would be asked for ever, in batches of a few small ones."""
    size, before = BATCH_BYTES, 0
    while size != before:
        size, before = smaller(size), size
    values = Texts(np.frombuffer(b"12" + PADDING, np.uint8), np.array([1, 2]))
    assert PackedBatch(size, transactional=True).extend(values, 0, 0, ()) == 1
