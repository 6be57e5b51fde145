"""What brokers are asked for metadata, byte by byte, and that every client asks like this."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import IncompatibleBrokerVersion
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.structs import BrokerMetadata

import stream_anon
from stream_anon.adapters.kafka.client import topic_metadata
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.client.throttling import Throttling
from tests.support.data import ROOT

KINDS = [AIOKafkaConsumer, AIOKafkaProducer, AIOKafkaAdminClient, AIOKafkaClient]
METADATA, NEWEST = 3, {3: (0, 13)}


class Wire(bytearray):
    """What a connection writes."""

    def write(self, sent: bytes) -> None:
        self += sent

    def drain(self) -> None:
        """Do nothing."""


async def _connected(client: AIOKafkaClient, versions: dict[int, tuple[int, int]]) -> tuple[Any, Wire]:
    """Return the connection that a client gets, and what is written to it."""
    made = AIOKafkaConnection("127.0.0.1", 9, client_id="c")
    wire = made._writer = Wire()
    made._versions = versions
    client._conns[1, 0] = made
    made._reader = SimpleNamespace(at_eof=lambda: False)
    return await client._get_conn(1), wire


@asynccontextmanager
async def _client(kind: type = AIOKafkaClient) -> AsyncIterator[AIOKafkaClient]:
    made = Connection("127.0.0.1:9", "g").client(kind, "test")
    yield made if kind is AIOKafkaClient else getattr(made, "client", None) or made._client
    if hasattr(made, "stop"):
        await made.stop()


def _dropped(client: AIOKafkaClient, connection: Any) -> None:
    client._conns.clear()
    connection._writer = connection._reader = None  # nothing is to be closed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("topics", [["people", "towns"], [], None])
async def test_each_kind_of_client_asks_for_topics_without_creating_them(
    kind: type, topics: list[str] | None
) -> None:
    async with _client(kind) as client:
        connection, wire = await _connected(client, NEWEST)
        connection.send(MetadataRequest(topics), expect_response=False)
        _dropped(client, connection)
    named = b"".join(len(topic).to_bytes(2) + topic.encode() for topic in topics or ())
    count = b"\xff\xff\xff\xff" if topics is None else len(topics).to_bytes(4)
    header = METADATA.to_bytes(2) + (5).to_bytes(2) + (1).to_bytes(4) + b"\0\x01c"
    assert bytes(wire[4:]) == header + count + named + b"\0", "the last byte is allow_auto_topic_creation"


async def test_a_broker_that_would_create_them_is_not_asked() -> None:
    """A Kafka before 0.11 cannot be told."""
    async with _client() as client:
        connection, wire = await _connected(client, {3: (0, 3)})
        with pytest.raises(IncompatibleBrokerVersion):
            connection.send(MetadataRequest(["people"]), expect_response=False)
        assert not wire
        for all_or_none in (None, []):
            connection.send(MetadataRequest(all_or_none), expect_response=False)
        _dropped(client, connection)


async def test_aiokafka_alone_asks_with_creating() -> None:
    """Negative control."""
    client = AIOKafkaClient()
    connection, wire = await _connected(client, NEWEST)
    connection.send(MetadataRequest(["people"]), expect_response=False)
    assert wire[-1] == 1
    _dropped(client, connection)


async def test_all_that_a_client_sends_goes_over_a_connection_that_asks_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pinned: metadata by the client itself, and requests that it is given, both take `_get_conn`."""
    client = Connection("127.0.0.1:9", "g").client(AIOKafkaClient, "test")
    asked: list[Any] = []

    async def get(*_: Any, **__: Any) -> Any:
        async def send(request: Any, **__: Any) -> Any:
            asked.append(request)
            return SimpleNamespace(brokers=())

        client._conns[1, 0] = SimpleNamespace(send=send)
        return client._conns[1, 0]

    monkeypatch.setattr(client, "_get_conn", get)
    client.cluster._brokers = {1: BrokerMetadata(1, "127.0.0.1", 9, None)}
    await client._metadata_update(client.cluster, ["people"])
    await client.send(1, MetadataRequest(["towns"]))
    assert [request._topics for request in asked] == [["people"], ["towns"]]


async def test_listening_to_throttling_leaves_a_client_that_creates_nothing() -> None:
    client = Connection("127.0.0.1:9", "g").client(AIOKafkaClient, "test")
    Throttling().listen(client)
    assert type(client) is topic_metadata._Client


def test_every_client_of_the_package_is_made_by_the_connection() -> None:
    """One that is not would create the topics that it asks for."""
    made = re.compile(r"\bAIOKafka(Consumer|Producer|AdminClient|Client)\(")
    package = ROOT / stream_anon.__name__
    found = [
        str(file.relative_to(package)) for file in package.rglob("*.py") if made.search(_code(file.read_text()))
    ]
    assert found == []


def _code(text: str) -> str:
    """Return a module without the heads of classes."""
    return re.sub(r"^class .*$", "", text, flags=re.MULTILINE)
