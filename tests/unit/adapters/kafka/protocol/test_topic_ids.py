"""The request for topic ids, byte by byte, and what its answers mean."""

from __future__ import annotations

import uuid
from io import BytesIO
from typing import Any

import pytest
from aiokafka.errors import IncompatibleBrokerVersion, LeaderNotAvailableError

from stream_anon.adapters.kafka.protocol.topic_ids import topic_ids
from stream_anon.adapters.kafka.protocol.topic_requests import (
    MetadataRequest_v10,
    MetadataResponse_v10,
    TopicsOf,
)
from stream_anon.ports import TopicIds

ID = uuid.UUID("0a5d0000-0000-0000-0000-0000000000ff")


def test_topics_are_asked_for_by_name_and_none_is_created() -> None:
    request = TopicsOf({"in"}).prepare({3: (0, 13)})
    assert isinstance(request, MetadataRequest_v10)
    # one topic: no id, its name, tags; three flags, tags
    assert request.encode() == b"\x02" + bytes(16) + b"\x03in" + b"\0" + b"\0\0\0" + b"\0"
    told = TopicsOf({"in"}, operations=True).prepare({3: (0, 13)})
    assert told.encode() == request.encode()[:-4] + b"\0\1\1\0"


def test_an_answer_is_read_as_kafka_writes_it() -> None:
    partition = (
        b"\0\0" + bytes(4) + (1).to_bytes(4) + bytes(4) + b"\x02" + bytes(4) + b"\x02" + bytes(4) + b"\x01\0"
    )
    topic = b"\0\0" + b"\x03in" + ID.bytes + b"\0" + b"\x02" + partition + b"\x80\0\0\0" + b"\0"
    broker = (1).to_bytes(4) + b"\x02h" + (9092).to_bytes(4) + b"\0" + b"\0"
    head = bytes(4) + b"\x02" + broker + b"\x02c" + (1).to_bytes(4)
    answer = MetadataResponse_v10.decode(BytesIO(head + b"\x02" + topic + b"\x80\0\0\0" + b"\0"))
    ((code, name, its, *_),) = answer.topics
    assert (code, name, its) == (0, "in", ID)
    assert answer.cluster_id == "c"


class Client:
    """Answers with topics, or with an error."""

    def __init__(self, *topics: tuple[int, str, uuid.UUID], error: Exception | None = None) -> None:
        self.topics = topics
        self.error = error

    def get_random_node(self) -> int:
        return 1

    async def send(self, node: int, request: object) -> Any:
        if self.error is not None:
            raise self.error
        return type("Answer", (), {"topics": self.topics, "cluster_id": "here"})


async def ask(client: object) -> TopicIds:
    return await topic_ids(client, ["a", "b", "c"])


async def test_an_answer_gives_an_id_or_says_that_the_topic_is_missing_or_tells_nothing() -> None:
    nothing = uuid.UUID(int=0)
    found = await ask(Client((0, "a", ID), (3, "b", nothing), (29, "c", nothing)))
    assert found == TopicIds({"a": str(ID)}, frozenset({"b"}))
    assert found.cluster == "here"
    assert await ask(Client((0, "a", nothing))) == TopicIds()
    assert await ask(Client(error=IncompatibleBrokerVersion())) == TopicIds()


async def test_an_answer_that_says_later_is_asked_for_again_by_the_caller() -> None:
    with pytest.raises(LeaderNotAvailableError):
        await ask(Client((5, "a", ID)))


def test_a_topic_differs_only_where_both_ids_are_known_and_differ() -> None:
    now = TopicIds({"a": "2", "b": "1"}, frozenset({"c"}))
    assert now.differ_from({"a": "1", "b": "1", "c": "1", "d": "1"}) == {"a"}
