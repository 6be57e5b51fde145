import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from stream_anon.adapters.http import server as server_module
from stream_anon.adapters.http.server import MOST_CONNECTIONS, HttpServers
from stream_anon.errors import SettingsError

METRICS = b"# HELP a A.\n# TYPE a gauge\na 1.0\n"
KIND = "text/plain; version=0.0.4; charset=utf-8"
LOOPBACK = "127.0.0.1"


class Service:
    def __init__(self) -> None:
        self.fine = True
        self.broken = False

    def readiness(self) -> tuple[bool, str]:
        return self.fine, "" if self.fine else "the broker is away"

    def status(self) -> Mapping[str, object]:
        if self.broken:
            raise ValueError("jane-doe-1971")
        return {"ready": self.fine, "window": {"records": 3}}


@pytest.fixture
def service() -> Service:
    return Service()


@pytest_asyncio.fixture
async def ports(service: Service) -> AsyncIterator[tuple[int, int]]:
    servers = HttpServers(service, lambda: METRICS, KIND, (LOOPBACK, 0), (LOOPBACK, 0))
    (_, public), (_, admin) = await servers.start()
    yield public, admin
    await servers.stop()


@pytest_asyncio.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
        yield session


async def ask(
    client: aiohttp.ClientSession, port: int, path: str, method: str = "GET", **more: Any
) -> tuple[int, Mapping[str, str], bytes]:
    async with client.request(method, f"http://{LOOPBACK}:{port}{path}", **more) as response:
        return response.status, response.headers, await response.read()


async def raw(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    writer.write(request)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    await writer.wait_closed()
    return answer


async def test_a_page_is_missing_or_may_be_cached(ports: tuple[int, int], client: aiohttp.ClientSession) -> None:
    for port, path, body in (
        (ports[0], "/livez", b"live\n"),
        (ports[0], "/readyz", b"ready\n"),
        (ports[0], "/metrics", METRICS),
    ):
        status, headers, read = await ask(client, port, path)
        assert (status, read) == (200, body)
        assert headers["Cache-Control"] == "no-store"
    assert headers["Content-Type"] == KIND

    status, headers, read = await ask(client, ports[1], "/status?verbose=1")
    assert (status, json.loads(read)) == (200, {"ready": True, "window": {"records": 3}})
    assert headers["Content-Type"].startswith("application/json")
    assert headers["Cache-Control"] == "no-store"


async def test_head_sends_a_body_or_another_length(ports: tuple[int, int], client: aiohttp.ClientSession) -> None:
    for path in ("/livez", "/readyz", "/metrics"):
        _, full, body = await ask(client, ports[0], path)
        status, headers, empty = await ask(client, ports[0], path, "HEAD")
        assert (status, empty) == (200, b"")
        assert headers["Content-Length"] == full["Content-Length"] == str(len(body))
        assert headers["Content-Type"] == full["Content-Type"]


async def test_the_status_page_shows_on_the_public_port(
    ports: tuple[int, int], client: aiohttp.ClientSession
) -> None:
    assert (await ask(client, ports[0], "/status"))[0] == 404
    assert (await ask(client, ports[1], "/metrics"))[0] == 404


async def test_a_worker_without_broker_is_ready_or_dead(
    ports: tuple[int, int], client: aiohttp.ClientSession, service: Service
) -> None:
    service.fine = False

    status, headers, body = await ask(client, ports[0], "/readyz")
    assert (status, body) == (503, b"not ready: the broker is away\n")
    assert headers["Cache-Control"] == "no-store"
    assert (await ask(client, ports[0], "/livez"))[0] == 200


async def test_a_post_changes_or_reads_something(ports: tuple[int, int], client: aiohttp.ClientSession) -> None:
    status, headers, _ = await ask(client, ports[0], "/livez", "POST", data=b"x" * 100)

    assert status == 405
    assert headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /jane-doe HTTP/1.1\r\nHost: jane-doe\r\nConnection: close\r\n\r\n",
        b"GET /livez?jane-doe HTTP/1.1\r\nHost: a\r\nX-Jane: jane-doe\r\nConnection: close\r\n\r\n",
        b"jane-doe /livez HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET jane-doe HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /livez JANE-doe/9\r\nHost: a\r\n\r\n",
        b"GET /livez HTTP/1.1\r\njane-doe\r\n\r\n",
        b"GET /jane-doe" + b"x" * 10_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost: a\r\nJane: jane-doe" + b"x" * 10_000 + b"\r\n\r\n",
        b"\x16\x03\x01jane-doe\r\n\r\n",
        b"GET http://jane-doe/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: jane-doe\r\nConnection: close\r\n\r\n",
    ],
)
async def test_an_answer_repeats_what_was_asked(request_: bytes, ports: tuple[int, int]) -> None:
    answer = await raw(ports[0], request_)

    assert answer.startswith(b"HTTP/1.")
    assert b"jane" not in answer.lower()
    assert b"aiohttp" not in answer.lower()


async def test_a_page_that_fails_shows_why(
    ports: tuple[int, int], client: aiohttp.ClientSession, service: Service
) -> None:
    service.broken = True

    status, headers, body = await ask(client, ports[1], "/status")
    assert (status, body) == (500, b"internal server error\n")
    assert headers["Cache-Control"] == "no-store"
    service.broken = False
    assert (await ask(client, ports[1], "/status"))[0] == 200


async def test_idle_connections_without_end_are_kept(
    ports: tuple[int, int], client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = [await asyncio.open_connection(LOOPBACK, ports[0]) for _ in range(MOST_CONNECTIONS)]
    await asyncio.sleep(0.05)
    reader, writer = await asyncio.open_connection(LOOPBACK, ports[0])
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()
    for _, other in idle:
        other.close()
        await other.wait_closed()
    await asyncio.sleep(0.05)

    assert (await ask(client, ports[0], "/livez"))[0] == 200


async def test_a_client_that_never_finishes_its_request_stays(
    service: Service, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "CONNECTION_SECONDS", 0.05)
    servers = HttpServers(service, lambda: METRICS, KIND, (LOOPBACK, 0), (LOOPBACK, 0))
    (_, port), _ = await servers.start()
    try:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(b"GET /livez HTTP/1.1\r\nHost:")
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
        assert (await ask(client, port, "/livez"))[0] == 200
    finally:
        await servers.stop()


async def test_a_taken_port_raises_the_librarys_error_or_leaves_the_other_open(service: Service) -> None:
    taken = socket.create_server((LOOPBACK, 0))
    free = socket.create_server((LOOPBACK, 0))
    other = free.getsockname()[1]
    free.close()
    try:
        port = taken.getsockname()[1]
        servers = HttpServers(service, lambda: METRICS, KIND, (LOOPBACK, other), (LOOPBACK, port))
        with pytest.raises(SettingsError, match=r"http\.admin_port: cannot listen on 127\.0\.0\.1"):
            await servers.start()
        socket.create_server((LOOPBACK, other)).close()
    finally:
        taken.close()


async def test_stopping_waits_for_idle_clients_or_leaves_the_port_open(service: Service) -> None:
    servers = HttpServers(service, lambda: METRICS, KIND, (LOOPBACK, 0), (LOOPBACK, 0))
    (_, port), _ = await servers.start()
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    await asyncio.sleep(0.02)
    await asyncio.wait_for(servers.stop(), 5)
    await servers.stop()

    assert await reader.read() == b""
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(LOOPBACK, port)
