"""No request of one transaction can become one of the next: what leaves without an answer ends its producer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import (
    IncompatibleBrokerVersion,
    KafkaConnectionError,
    KafkaError,
    NodeNotReadyError,
    RequestTimedOutError,
)
from aiokafka.producer.sender import AddPartitionsToTxnHandler, EndTxnHandler
from aiokafka.producer.transaction_manager import PidAndEpoch, TransactionResult
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.protocol.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
)

from stream_anon.adapters.kafka.protocol.offset_requests import FencedTxnOffsetCommit
from stream_anon.adapters.kafka.protocol.sent_once import SentOnce, transaction_level
from stream_anon.adapters.kafka.protocol.transaction_requests import (
    ApiVersionsRequest_v4,
    ApiVersionsResponse_v4,
    EndTxnRequest_v5,
    EndTxnResponse_v5,
    EpochEndTxn,
    Features,
)
from stream_anon.errors import OutcomeUnknown

OF_TRANSACTIONS = {
    "AddPartitionsToTxn": AddPartitionsToTxnRequest("x", 7, 3, [("out", [0])]),
    "AddOffsetsToTxn": AddOffsetsToTxnRequest("x", 7, 3, "g"),
    "EndTxn": EndTxnRequest("x", 7, 3, TransactionResult.COMMIT),
    "TxnOffsetCommit": FencedTxnOffsetCommit("x", "g", 7, 3, 1, "m", None, [], {}),
}
OTHERS = {
    "Produce": ProduceRequest("x", -1, 1000, []),
    "InitProducerId": InitProducerIdRequest("x", 1000),
}
NO_ERROR = SimpleNamespace(error_code=0)
each = pytest.mark.parametrize("request_", OF_TRANSACTIONS.values(), ids=OF_TRANSACTIONS)
lost = pytest.mark.parametrize("error", [KafkaConnectionError(), RequestTimedOutError(), ValueError()], ids=repr)
unsent = pytest.mark.parametrize(
    "error", [NodeNotReadyError(), IncompatibleBrokerVersion(), NotImplementedError()], ids=repr
)


def features(*levels: tuple[str, int]) -> ApiVersionsResponse_v4:
    """Return an answer as a broker writes it, whose cluster has agreed on these levels of features."""
    each = b"".join(
        bytes([len(name) + 1]) + name.encode() + level.to_bytes(2) + b"\0\0" + b"\0" for name, level in levels
    )
    finalized = bytes([len(levels) + 1]) + each
    tags = b"\x01" + b"\x02" + bytes([len(finalized)]) + finalized if levels else b"\0"
    apis = b"\x02" + (26).to_bytes(2) + (0).to_bytes(2) + (5).to_bytes(2) + b"\0"
    return ApiVersionsResponse_v4.decode(BytesIO(b"\0\0" + apis + bytes(4) + tags))


class Line:
    """What a client sends over: answers in order, and what was sent."""

    def __init__(self) -> None:
        self.answers: list[object] = []
        self.sent: list[object] = []

    async def send(self, node_id: int, request: object, *, group: object = None) -> Any:
        self.sent.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if answer is ...:
            await asyncio.Event().wait()
        return answer


@pytest.fixture
async def producer() -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(transactional_id="x")
    producer._txn_manager._pid_and_epoch = PidAndEpoch(7, 3)
    yield producer
    await producer.stop()


def watched(producer: AIOKafkaProducer, *answers: object) -> tuple[SentOnce, Line]:
    line = Line()
    line.answers += answers
    producer.client.send = line.send
    return SentOnce(producer), line


async def at_level(producer: AIOKafkaProducer, level: int, *answers: object) -> Line:
    once, line = watched(producer, features(("transaction.version", level)), *answers)

    async def lookup(kind: int, key: str) -> int:
        assert (kind, key) == (1, "x")
        return 5

    producer.client.coordinator_lookup = lookup
    await once.ask_level(producer)
    assert isinstance(line.sent.pop(), Features)
    return line


@each
@lost
async def test_a_request_that_was_not_answered_ends_its_producer(
    producer: AIOKafkaProducer, request_: Any, error: Exception
) -> None:
    once, line = watched(producer, error)
    with pytest.raises(OutcomeUnknown, match="left and was not answered") as raised:
        await producer.client.send(1, request_)
    assert not isinstance(raised.value, KafkaError), "aiokafka would send it again"
    assert once.unanswered
    for later in OF_TRANSACTIONS.values():
        with pytest.raises(OutcomeUnknown):
            await producer.client.send(1, later)
    assert len(line.sent) == 1, "nothing more of a transaction leaves"


@each
async def test_a_request_that_was_given_up_ends_its_producer(producer: AIOKafkaProducer, request_: Any) -> None:
    once, _ = watched(producer, ...)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(producer.client.send(1, request_), 0.01)
    assert once.unanswered


@each
@unsent
async def test_a_request_that_never_left_may_be_sent(
    producer: AIOKafkaProducer, request_: Any, error: Exception
) -> None:
    once, _ = watched(producer, error, NO_ERROR)
    with pytest.raises(type(error)):
        await producer.client.send(1, request_)
    assert await producer.client.send(1, request_) is NO_ERROR
    assert not once.unanswered


@pytest.mark.parametrize("request_", OTHERS.values(), ids=OTHERS)
async def test_batches_and_new_epochs_may_be_sent_again(producer: AIOKafkaProducer, request_: Any) -> None:
    once, _ = watched(producer, KafkaConnectionError(), NO_ERROR)
    with pytest.raises(KafkaConnectionError):
        await producer.client.send(1, request_)
    assert await producer.client.send(1, request_) is NO_ERROR
    assert not once.unanswered


async def test_aiokafka_repeats_a_request_after_errors_of_its_own_but_not_after_ours(
    producer: AIOKafkaProducer,
) -> None:
    """Pinned: without this, it would swallow the error and go on."""
    handlers = (
        EndTxnHandler(producer._sender, TransactionResult.COMMIT),
        AddPartitionsToTxnHandler(producer._sender, [TopicPartition("out", 0)]),
    )
    for handler in handlers:
        line = Line()
        line.answers += [KafkaConnectionError(), KafkaConnectionError()]
        producer.client.send = line.send
        assert await handler.do(1) is False, "aiokafka would call this again"
        SentOnce(producer)
        with pytest.raises(OutcomeUnknown):
            await handler.do(1)


async def test_below_level_two_transactions_end_as_aiokafka_ends_them(producer: AIOKafkaProducer) -> None:
    for level in (0, 1):
        line = await at_level(producer, level, NO_ERROR)
        assert await producer.client.send(5, OF_TRANSACTIONS["EndTxn"]) is NO_ERROR
        assert line.sent == [OF_TRANSACTIONS["EndTxn"]]
        assert producer._txn_manager._pid_and_epoch == (7, 3)


async def test_until_the_level_is_known_transactions_end_as_aiokafka_ends_them(producer: AIOKafkaProducer) -> None:
    _, line = watched(producer, NO_ERROR)
    await producer.client.send(5, OF_TRANSACTIONS["EndTxn"])
    assert line.sent == [OF_TRANSACTIONS["EndTxn"]]


@pytest.mark.parametrize("identity", [(7, 4), (8, 0)], ids=["next epoch", "new id after the last epoch"])
async def test_from_level_two_on_each_transaction_has_an_epoch_of_its_own(
    producer: AIOKafkaProducer, identity: tuple[int, int]
) -> None:
    manager, place = producer._txn_manager, TopicPartition("out", 0)
    manager.increment_sequence_number(place, 5)
    line = await at_level(producer, 2, EndTxnResponse_v5(0, 0, *identity, {}))
    await producer.client.send(5, OF_TRANSACTIONS["EndTxn"])
    (ended,) = line.sent
    assert isinstance(ended, EpochEndTxn)
    assert ended._fields == ("x", 7, 3, True, {})
    assert (manager.producer_id, manager.producer_epoch) == identity
    assert manager.sequence_number(place) == 0, "each epoch counts its batches from 0"


async def test_a_refused_end_leaves_the_epoch_as_it_is(producer: AIOKafkaProducer) -> None:
    line = await at_level(producer, 2, EndTxnResponse_v5(0, 51, -1, -1, {}))
    assert (await producer.client.send(5, OF_TRANSACTIONS["EndTxn"])).error_code == 51
    assert producer._txn_manager._pid_and_epoch == (7, 3)
    assert len(line.sent) == 1


async def test_the_level_is_that_which_the_cluster_has_agreed_on() -> None:
    line = Line()
    line.answers += [
        features(("metadata.version", 27), ("transaction.version", 2)),
        features(("metadata.version", 27)),
        features(),
        IncompatibleBrokerVersion(),
        NotImplementedError(),
    ]
    found = [await transaction_level(line, 1) for _ in range(5)]  # type: ignore[arg-type]
    assert found == [2, 0, 0, 0, 0]


def test_the_end_of_a_transaction_is_written_and_read_as_kafka_does_it() -> None:
    request = EpochEndTxn("x", 7, 3, True).prepare({26: (0, 5)})
    assert isinstance(request, EndTxnRequest_v5)
    # transactional id, producer id, epoch, commit, tags
    assert request.encode() == b"\x02x" + (7).to_bytes(8) + (3).to_bytes(2) + b"\x01" + b"\0"
    assert request.build_request_header(9, "c").encode() == b"\0\x1a\0\x05" + (9).to_bytes(4) + b"\0\x01c" + b"\0"
    answer = EndTxnResponse_v5.decode(BytesIO(bytes(4) + b"\0\0" + (7).to_bytes(8) + (4).to_bytes(2) + b"\0"))
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, 7, 4)


def test_features_are_asked_for_by_a_client_with_a_name_and_answered_without_tags_in_the_header() -> None:
    request = Features().prepare({18: (0, 4)})
    assert isinstance(request, ApiVersionsRequest_v4)
    name, version = b"stream-anon", request.client_software_version.encode()
    assert request.encode() == bytes([len(name) + 1]) + name + bytes([len(version) + 1]) + version + b"\0"
    answer = BytesIO((9).to_bytes(4) + b"\0\0")
    assert request.parse_response_header(answer).correlation_id == 9
    assert answer.read() == b"\0\0", "the header has no tags, or the error code would be read as some"
