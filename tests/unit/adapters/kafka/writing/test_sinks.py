"""What both sinks make of a client that refuses: no broker is needed to see it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import (
    InvalidTimestampError,
    KafkaError,
    NodeNotReadyError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.writing import window_producer
from stream_anon.adapters.kafka.writing.at_least_once_producer import AtLeastOnceProducer
from stream_anon.adapters.kafka.writing.producers import Shipment
from stream_anon.adapters.kafka.writing.transactional_producer import TransactionalProducer
from stream_anon.errors import BatchRefused, BrokerError, OutcomeUnknown, TimeRefused, TopicError
from stream_anon.microdata.texts import Texts
from stream_anon.ports import Parcel

CONNECTION = Connection("127.0.0.1:9", "g")
both = pytest.mark.parametrize("kind", [TransactionalProducer, AtLeastOnceProducer])


class Refusing:
    """A producer that knows no topic."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def partitions_for(self, topic: str) -> set[int]:
        await asyncio.sleep(0)
        raise self._error


def sink_on(kind: Any, producer: object) -> Any:
    """Return a sink that believes in this producer."""
    sink = kind(CONNECTION)
    sink._producer, sink._requests, sink._shipment = producer, object(), object()
    return sink


@both
async def test_missing_topic_is_named(kind: type) -> None:
    for error in (UnknownTopicOrPartitionError(), TopicAuthorizationFailedError("people.out")):
        with pytest.raises(TopicError, match=r"^people\.out: "):
            await sink_on(kind, Refusing(error)).partitions("people.out")


@both
async def test_topic_that_cannot_be_looked_up_is_not_called_missing(kind: type) -> None:
    with pytest.raises(BrokerError, match=r"people\.out: NodeNotReadyError") as raised:
        await sink_on(kind, Refusing(NodeNotReadyError())).partitions("people.out")
    assert not isinstance(raised.value, TopicError)


class HalfRefusing:
    """A producer that refuses what goes to partition 0 and never answers for the rest."""

    client = SimpleNamespace(cluster=SimpleNamespace(partitions_for_topic=lambda topic: {0, 1, 2, 3}))
    _message_accumulator = SimpleNamespace(_batch_size=4096, _compression_type=0)
    _txn_manager = None

    def create_batch(self) -> BatchBuilder:
        return BatchBuilder(4096, 0)

    async def send_batch(self, batch: BatchBuilder, topic: str, *, partition: int) -> asyncio.Future[object]:
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        if partition == 0:
            answer.set_exception(NodeNotReadyError())
        return answer


async def test_refused_batch_ends_the_other_lanes() -> None:
    before = asyncio.all_tasks()
    shipment = Shipment(HalfRefusing())
    shipment.send([Parcel("out", partition, [b"x"], 5000) for partition in range(4)])
    with pytest.raises(NodeNotReadyError):
        await shipment.settle()
    assert len(asyncio.all_tasks() - before) == 3
    await shipment.forget()
    assert asyncio.all_tasks() == before


class LateRefusing(HalfRefusing):
    """A producer that refuses partition 0 first, and then, as the cause, the times of what goes to the others."""

    async def send_batch(self, batch: BatchBuilder, topic: str, *, partition: int) -> asyncio.Future[object]:
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        if partition == 0:
            answer.set_exception(KafkaError())
        else:
            asyncio.get_running_loop().call_later(0.02, answer.set_exception, InvalidTimestampError())
        return answer


async def test_refused_times_are_named_also_where_another_batch_failed_first_because_of_them() -> None:
    shipment = Shipment(LateRefusing())
    shipment.send([Parcel("out", partition, [b"x"], 5000) for partition in range(2)])
    with pytest.raises(TimeRefused, match=r"^out: .*clock.*message\.timestamp\.after\.max\.ms"):
        await shipment.settle()
    await shipment.forget()


class Taking(HalfRefusing):
    """A producer that takes everything and keeps what its batches hold."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.counts: list[int] = []

    async def send_batch(self, batch: BatchBuilder, topic: str, *, partition: int) -> asyncio.Future[object]:
        self.counts.append(batch.record_count())
        self.batches.append(bytes(batch._build()))
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        answer.set_result(None)
        return answer


async def test_records_at_the_edges_of_batches_that_are_filled_in_bulk_are_sent_once_in_order() -> None:
    values: list[bytes | None] = [str(i).encode() * (1 + i % 40) for i in range(600)] + [b"x" * 5000, b"", b"end"]
    producer = Taking()
    shipment = Shipment(producer)
    shipment.send([Parcel("out", 0, Texts.of(values[a:b]), 5000) for a, b in ((0, 7), (7, 400), (400, 603))])
    await shipment.settle()
    found = [[record.value for record in MemoryRecords(data).next_batch()] for data in producer.batches]
    assert [value for batch in found for value in batch] == values
    assert [len(batch) for batch in found] == producer.counts
    assert len(found) > 5


async def test_records_of_windows_that_go_out_together_keep_their_times_in_one_batch() -> None:
    producer = Taking()
    shipment = Shipment(producer)
    parcels = [
        Parcel("out", 0, Texts.of([b"%d" % time] * 3), time, (("batch", b"b"),)) for time in (5000, 5000, 9000)
    ]
    shipment.send(parcels)
    await shipment.settle()
    (batch,) = producer.batches
    found = [(record.value, record.timestamp) for record in MemoryRecords(batch).next_batch()]
    assert found == [(b"%d" % parcel.time, parcel.time) for parcel in parcels for _ in range(3)]


async def test_records_at_the_edges_of_batches_are_sent_once_in_order() -> None:
    # Batches of 4096 bytes: parcels that do not fill one, that fill several, and a value that fills one alone.
    values: list[bytes | None] = [str(i).encode() * (1 + i % 40) for i in range(600)] + [b"x" * 4000, None, b"end"]
    keys = [f"k{i}".encode() for i in range(len(values))]
    parcels = [
        Parcel("out", 0, values[a:b], 5000 + a, (("batch", b"b"),), None if a == 0 else keys[a:b])
        for a, b in ((0, 7), (7, 400), (400, len(values)))
    ]
    producer = Taking()
    shipment = Shipment(producer)
    shipment.send(parcels)
    await shipment.settle()
    found = []
    for data, count in zip(producer.batches, producer.counts, strict=True):
        records = list(MemoryRecords(data).next_batch())
        assert [record.offset for record in records] == list(range(count))
        found += [(record.key, record.value, record.timestamp, list(record.headers)) for record in records]
    wanted = [
        (None if parcel.keys is None else parcel.keys[i], value, parcel.time, [("batch", b"b")])
        for parcel in parcels
        for i, value in enumerate(parcel.values)
    ]
    assert found == wanted
    assert len(producer.batches) > 5


async def test_value_larger_than_a_batch_does_not_block_its_lane() -> None:
    shipment = Shipment(Taking())
    shipment.send([Parcel("out", 0, [b"x", b"x" * 5000, b"y"], 5000)])
    await asyncio.wait_for(shipment.settle(), 5)


@both
@pytest.mark.parametrize(
    ("told", "refused", "most"),
    [
        ({}, [], {}),
        ({"out": 50_000}, [], {"out": 50_000}),
        ({"out": 50_000}, [80_000, 70_000], {"out": 50_000}),  # the settings explain it; once raised, so is this
        ({}, [70_000, 80_000], {"out": 69_999}),  # they may not be seen
        ({"out": 90_000}, [70_000], {"out": 69_999}),  # something else refuses
        ({"out": 80}, [100], {}),  # the topic is at fault, not the record
    ],
)
async def test_a_refusal_tells_how_much_a_topic_takes_where_its_settings_do_not(
    monkeypatch: pytest.MonkeyPatch, kind: type, told: dict[str, int], refused: list[int], most: dict[str, int]
) -> None:
    async def settings(*_: object) -> dict[str, int]:
        return dict(told)

    sizes = iter(refused)

    class Refused:
        async def settle(self) -> None:
            raise BatchRefused("out", 1, next(sizes))

    monkeypatch.setattr(window_producer, "largest_batches", settings)
    sink = sink_on(kind, object())
    sink._shipment = Refused()
    for _ in refused:
        with pytest.raises(BatchRefused):
            await sink.settle()
    assert await sink.largest_batches({"out"}) == most


async def test_without_an_answer_it_is_unknown_how_much_a_topic_takes() -> None:
    assert await TransactionalProducer(CONNECTION).largest_batches({"out"}) == {}


async def test_what_ended_aiokafkas_sender_is_named() -> None:
    """The error that it wraps most others in says nothing: a lowered transaction.version looked like any fault."""

    async def refused() -> None:
        raise KafkaError("Unexpected error during batch delivery") from UnsupportedVersionError()

    sink = TransactionalProducer(CONNECTION)
    with pytest.raises(OutcomeUnknown, match=r"^commit: UnsupportedVersionError$"):
        await sink._within(0.2, "commit", refused())
    with pytest.raises(OutcomeUnknown, match=r"^commit: TimeoutError$"):
        await sink._within(0.001, "commit", asyncio.sleep(9))
