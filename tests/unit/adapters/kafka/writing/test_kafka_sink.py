"""The sink of Kafka: where windows go there, and what it looks at before and after it sends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stream_anon.adapters.kafka.writing.kafka_sink import KafkaSink
from stream_anon.adapters.kafka.writing.packed_batch import least_batch_bytes
from stream_anon.errors import BrokerError, Recreated, TopicError
from stream_anon.ports import Membership, Parcel, Publication, Steps
from stream_anon.ports.publication import ANY_BATCH, header_of
from stream_anon.service.fault_points import nowhere
from tests.support.memory import INPUT, OUTPUTS, MemoryBroker, MemoryLedger, MemorySink

NOBODY = Membership(-1, "")


def _on(broker: MemoryBroker) -> KafkaSink:
    return KafkaSink(MemorySink(broker, "one"), MemoryLedger(broker, "one"), [INPUT], OUTPUTS)


def _window(topic_id: str) -> Publication:
    parcels = (Parcel("out", 0, [b"record"], 5000), Parcel("out.certificates", 0, [b"certificate"], 5000))
    return Publication("b1", parcels, {(INPUT, 0): 3}, {(INPUT, 0): 7}, "", 5000, {INPUT: topic_id})


@pytest.mark.parametrize("topic", [INPUT, *OUTPUTS])
async def test_a_topic_that_is_missing_is_named(topic: str) -> None:
    broker = MemoryBroker()
    broker.missing.add(topic)
    with pytest.raises(TopicError, match=f"^{topic}: "):
        await _on(broker).targets()


async def test_the_largest_record_and_part_that_fit_are_told_where_the_topics_tell_their_limits() -> None:
    broker = MemoryBroker()
    targets = await _on(broker).targets()
    assert (targets.most_value, targets.most_part) == (None, None)
    broker.largest |= {"out": 20_000, "out.certificates": 30_000}
    targets = await _on(broker).targets()
    assert targets.most_value is not None
    assert least_batch_bytes(targets.most_value, header_of(ANY_BATCH)) <= 20_000
    assert least_batch_bytes(targets.most_value + 1, header_of(ANY_BATCH)) > 20_000
    assert targets.most_part is not None
    assert least_batch_bytes(targets.most_part, (*header_of(ANY_BATCH), ("part", b"123456"))) <= 30_000


async def test_a_window_takes_its_entries_of_the_ledger_along() -> None:
    broker = MemoryBroker()
    sink = _on(broker)
    await sink.open()
    await sink.publish(_window("first"), NOBODY, Steps("closing", nowhere))
    assert broker.ledger == broker.offsets == {(INPUT, 0): 7}
    assert broker.released_by == {(INPUT, 0): "b1"}
    assert broker.released_of == {(INPUT, 0): "first"}


async def test_an_attempt_sends_the_same_entries_again_and_one_that_is_dated_anew_its_own() -> None:
    broker = MemoryBroker()
    producer = MemorySink(broker, "one")
    sink = KafkaSink(producer, MemoryLedger(broker, "one"), [INPUT], OUTPUTS)
    window = _window("first")
    for attempt in (window, window, replace(window, time=window.time + 1)):
        producer.break_at = ["settle"]
        await sink.open()
        with pytest.raises(BrokerError):
            await sink.publish(attempt, NOBODY, Steps("closing", nowhere))
        await sink.discard()
    first, second, later = (attempt[-1] for attempt in producer.attempts)
    assert second is first
    assert (later.topic, later.values) == (first.topic, first.values)
    assert later.time == first.time + 1


async def test_a_window_of_a_topic_that_was_created_anew_is_not_begun() -> None:
    broker, passed = MemoryBroker(), []

    async def at(step: str) -> None:
        passed.append(step)

    sink = _on(broker)
    await sink.open()
    broker.recreate()
    with pytest.raises(Recreated, match=f"^{INPUT} was deleted"):
        await sink.publish(_window("first"), NOBODY, Steps("closing", at))
    assert passed == ["closing.4"]
    assert not broker.open
    assert not broker.committed
