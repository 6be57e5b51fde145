"""The two requests of our own, byte by byte, and what we use of aiokafka that it does not promise to keep."""

from __future__ import annotations

import aiokafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.producer.sender import Sender

from stream_anon.adapters.kafka.protocol.group_fencing import GroupRequests, membership_of, transaction_of
from stream_anon.adapters.kafka.protocol.offset_requests import (
    FencedTxnOffsetCommit,
    OffsetFetchRequest_v7,
    StableOffsetFetch,
    TxnOffsetCommitRequest_v3,
)
from stream_anon.errors import BrokerError, OutcomeUnknown, OwnershipLost
from stream_anon.ports import Membership


def test_offset_fetch_asks_for_stable_offsets() -> None:
    request = StableOffsetFetch("grp", {"in": [0, 5]}).prepare({9: (0, 9)})
    assert isinstance(request, OffsetFetchRequest_v7)
    # group, one topic, its name, two partitions, tags of the topic, require_stable, tags
    assert (
        request.encode() == b"\x04grp" + b"\x02" + b"\x03in" + b"\x03\0\0\0\0\0\0\0\x05" + b"\0" + b"\x01" + b"\0"
    )


def test_offset_commit_carries_generation_and_member() -> None:
    topics = [("in", [(3, 77, -1, "", {})], {})]
    request = FencedTxnOffsetCommit("txn", "grp", 9, 2, 41, "me", None, topics, {}).prepare({28: (0, 5)})
    assert isinstance(request, TxnOffsetCommitRequest_v3)
    ids = b"\x04txn" + b"\x04grp" + (9).to_bytes(8) + (2).to_bytes(2)
    fence = (41).to_bytes(4) + b"\x03me" + b"\0"
    partition = (3).to_bytes(4) + (77).to_bytes(8) + b"\xff\xff\xff\xff" + b"\x01" + b"\0"
    assert request.encode() == ids + fence + b"\x02" + b"\x03in" + b"\x02" + partition + b"\0" + b"\0"


async def test_aiokafka_has_every_name_that_we_use_of_it() -> None:
    assert aiokafka.__version__.startswith("0.14."), "read its changes, run the storms, then move this pin"
    consumer = AIOKafkaConsumer("t", group_id="g")
    producer = AIOKafkaProducer(transactional_id="x")
    admin = AIOKafkaAdminClient()
    assert consumer._coordinator is None
    assert membership_of(consumer) is None
    coordinator = GroupCoordinator(consumer._client, consumer._subscription)
    assert (coordinator.generation, coordinator.member_id) == (-1, "")
    assert not coordinator._coordination_task.done()
    coordinator._coordination_task.cancel()
    assert callable(consumer._client.force_metadata_update)
    assert callable(consumer._client._wait_on_metadata)
    assert hasattr(consumer, "_fetcher")
    assert transaction_of(producer) == ("x", -1, -1)
    producer._txn_manager.consumer_group_added("g")
    assert producer._txn_manager._txn_consumer_group == "g"
    assert not producer._txn_manager.is_empty_transaction()
    assert isinstance(producer._sender, Sender)
    assert producer._sender.sender_task is None
    assert producer._message_accumulator._closed is False
    assert producer._closed is False
    assert admin._client._conns == {}
    await producer.stop()
    await consumer.stop()
    await admin.close()


class Answers:
    """Stands for a client: answers requests one after another."""

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)
        self.lookups = 0

    async def coordinator_lookup(self, kind: int, key: str) -> int:
        self.lookups += 1
        return 1

    async def send(self, node: int, request: object, group: int) -> object:
        return self._answers.pop(0)

    @property
    def left(self) -> int:
        return len(self._answers)


class Fetched:
    def __init__(self, error_code: int, *partitions: tuple[int, int, int]) -> None:
        self.error_code = error_code
        self.topics = [("in", [(n, offset, -1, "", code, {}) for n, offset, code in partitions], {})]


class Committed:
    def __init__(self, *partitions: tuple[int, int]) -> None:
        self.topics = [("in", [(n, code, {}) for n, code in partitions], {})]


async def test_refused_or_partial_answer_is_asked_for_again() -> None:
    client = Answers(
        Fetched(14, (0, -1, 0)),
        Fetched(16),
        Fetched(0, (0, -1, 88)),
        Fetched(0, (0, -1, 14)),
        Fetched(0),
        Fetched(0, (0, 12, 0)),
    )
    requests = GroupRequests(client, "g")  # type: ignore[arg-type]
    assert await requests.stable_offsets([("in", 0)]) == {("in", 0): 12}
    assert client.left == 0
    assert client.lookups == 2, "after `not the coordinator` it must be looked up again"


async def test_refusal_for_good_is_an_error() -> None:
    requests = GroupRequests(Answers(Fetched(30)), "g")  # type: ignore[arg-type]
    with pytest.raises(BrokerError, match=r"codes \[30\]"):
        await requests.stable_offsets([("in", 0)])


@pytest.mark.parametrize("code", [22, 25, 82])
async def test_fenced_commit_is_an_error_and_not_retried(code: int) -> None:
    producer = AIOKafkaProducer(transactional_id="x")
    requests = GroupRequests(Answers(Committed((0, code))), "g")  # type: ignore[arg-type]
    with pytest.raises(OwnershipLost):
        await requests.commit_in_transaction(producer, {("in", 0): 5}, Membership(3, "m"))
    await producer.stop()


async def test_commit_that_left_a_partition_out_is_no_success() -> None:
    producer = AIOKafkaProducer(transactional_id="x")
    client = Answers(Committed((0, 0)), Committed((0, 0), (1, 14)), Committed((0, 0), (1, 0)))
    requests = GroupRequests(client, "g")  # type: ignore[arg-type]
    offsets = {TopicPartition("in", 0): 5, TopicPartition("in", 1): 6}
    await requests.commit_in_transaction(producer, offsets, Membership(3, "m"))
    assert client.left == 0
    requests = GroupRequests(Answers(Committed((0, 47))), "g")  # type: ignore[arg-type]
    with pytest.raises(OutcomeUnknown):
        await requests.commit_in_transaction(producer, {("in", 0): 5}, Membership(3, "m"))
    await producer.stop()
