"""Answers of brokers say for how long a connection is not served."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any

from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.fetch import FetchResponse_v4
from aiokafka.protocol.produce import ProduceResponse_v3

from stream_anon.adapters.kafka.client.connection import Connection


class Client:
    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)

    async def send(self, node_id: int, request: object, *, group: int = 0) -> Any:
        assert (node_id, request, group) == (1, "request", 2)
        return self.answers.pop(0)


async def test_the_throttling_times_of_all_clients_are_added_up() -> None:
    connection = Connection("127.0.0.1:9", "g")
    told = [SimpleNamespace(throttle_time_ms=ms) for ms in (0, 250, 1000)]
    one, other = Client(*told, None), Client(SimpleNamespace(throttle_time_ms=500), SimpleNamespace())
    for client in (one, other):
        connection.keep_up(client)
        while client.answers:
            expected = client.answers[0]
            assert await client.send(1, "request", group=2) is expected
    assert connection.throttling.seconds == 1.75


def test_listening_to_a_client_does_not_keep_it_alive() -> None:
    connection = Connection("127.0.0.1:9", "g")
    client = Client()
    connection.keep_up(client)
    there = weakref.ref(client)
    gc.disable()
    try:
        del client
        assert there() is None
    finally:
        gc.enable()


def test_answers_of_aiokafka_name_the_throttling_time_as_we_expect() -> None:
    """Pinned: a test on a real broker sees that it is asked for."""
    for answer in (FetchResponse_v4, ProduceResponse_v3):
        assert "throttle_time_ms" in answer.SCHEMA.names
    assert callable(AIOKafkaClient.send)
