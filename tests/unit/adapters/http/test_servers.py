import asyncio
import contextlib
import json
import math
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from stream_anon.adapters.http import giving_orders, live
from stream_anon.adapters.http import server as server_module
from stream_anon.adapters.http.connections import Connections
from stream_anon.adapters.http.server import IDLE_SECONDS, MOST_CONNECTIONS, HttpServers
from stream_anon.errors import BrokerError, Refused, SettingsError

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
async def ordered(service: Service) -> AsyncIterator[tuple[int, int, list[str]]]:
    """Both ports of a server that takes one order, and what was ordered."""
    given: list[str] = []

    def pause(seconds: float) -> str:
        given.append("pause" if math.isinf(seconds) else f"pause for {seconds:g} s")
        return "paused"

    servers = HttpServers(service, lambda: METRICS, KIND, (LOOPBACK, 0), (LOOPBACK, 0), {"pause": pause})
    (_, public), (_, admin) = await servers.start()
    yield public, admin, given
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


async def test_every_page_is_there_and_may_not_be_cached(
    ports: tuple[int, int], client: aiohttp.ClientSession
) -> None:
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


async def test_head_sends_the_length_and_no_body(ports: tuple[int, int], client: aiohttp.ClientSession) -> None:
    for path in ("/livez", "/readyz", "/metrics"):
        _, full, body = await ask(client, ports[0], path)
        status, headers, empty = await ask(client, ports[0], path, "HEAD")
        assert (status, empty) == (200, b"")
        assert headers["Content-Length"] == full["Content-Length"] == str(len(body))
        assert headers["Content-Type"] == full["Content-Type"]


async def test_the_status_page_is_on_the_admin_port_only(
    ports: tuple[int, int], client: aiohttp.ClientSession
) -> None:
    assert (await ask(client, ports[0], "/status"))[0] == 404
    assert (await ask(client, ports[1], "/metrics"))[0] == 404


async def test_a_worker_without_a_broker_is_alive_and_not_ready(
    ports: tuple[int, int], client: aiohttp.ClientSession, service: Service
) -> None:
    service.fine = False

    status, headers, body = await ask(client, ports[0], "/readyz")
    assert (status, body) == (503, b"not ready: the broker is away\n")
    assert headers["Cache-Control"] == "no-store"
    assert (await ask(client, ports[0], "/livez"))[0] == 200


async def test_a_post_to_a_page_is_refused(ports: tuple[int, int], client: aiohttp.ClientSession) -> None:
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
async def test_no_answer_repeats_what_was_asked(request_: bytes, ports: tuple[int, int]) -> None:
    answer = await raw(ports[0], request_)

    assert answer.startswith(b"HTTP/1.")
    assert b"jane" not in answer.lower()
    assert b"aiohttp" not in answer.lower()


async def test_a_page_that_fails_does_not_show_why(
    ports: tuple[int, int], client: aiohttp.ClientSession, service: Service
) -> None:
    service.broken = True

    status, headers, body = await ask(client, ports[1], "/status")
    assert (status, body) == (500, b"internal server error\n")
    assert headers["Cache-Control"] == "no-store"
    service.broken = False
    assert (await ask(client, ports[1], "/status"))[0] == 200


async def probe(client: aiohttp.ClientSession, port: int) -> int:
    """Return the status of a probe on a connection of its own, as a kubelet opens it."""
    return (await ask(client, port, "/livez", headers={"Connection": "close"}))[0]


@contextlib.asynccontextmanager
async def idle_connections(port: int, count: int) -> AsyncIterator[list[socket.socket]]:
    """Open connections that ask for nothing."""
    found = [socket.socket() for _ in range(count)]
    try:
        for one in found:
            one.setblocking(False)
            await asyncio.get_running_loop().sock_connect(one, (LOOPBACK, port))
        yield found
    finally:
        for one in found:
            one.close()


async def read_all(one: socket.socket) -> int:
    """Return how many bytes come until the service ends the connection, in a reset too."""
    read = 0
    with contextlib.suppress(ConnectionResetError):
        async with asyncio.timeout(10):
            while piece := await asyncio.get_running_loop().sock_recv(one, 1 << 20):
                read += len(piece)
    return read


async def test_probes_are_answered_however_many_connections_are_idle(
    ports: tuple[int, int], client: aiohttp.ClientSession
) -> None:
    async with idle_connections(ports[0], 2 * MOST_CONNECTIONS) as idle:
        assert [await probe(client, ports[0]) for _ in range(20)] == [200] * 20
        assert [await read_all(one) for one in idle[:MOST_CONNECTIONS]] == [0] * MOST_CONNECTIONS


async def test_probes_are_answered_while_connections_are_opened_again_and_again(
    ports: tuple[int, int], client: aiohttp.ClientSession
) -> None:
    opened = 0

    async def reopen() -> None:
        nonlocal opened
        while True:
            async with idle_connections(ports[0], 1) as (one,):
                opened += 1
                await read_all(one)  # until the service breaks it off

    flood = [asyncio.create_task(reopen()) for _ in range(2 * MOST_CONNECTIONS)]
    try:
        async with asyncio.timeout(30):
            while opened < 8 * MOST_CONNECTIONS:
                assert await probe(client, ports[0]) == 200
    finally:
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)


async def test_clients_that_never_read_are_broken_off_and_probes_answered(
    service: Service, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "STALL_SECONDS", 0.2)
    servers = HttpServers(service, lambda: METRICS * 100_000, KIND, (LOOPBACK, 0), (LOOPBACK, 0))
    (_, port), _ = await servers.start()
    try:
        async with idle_connections(port, 8) as deaf:
            asked = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5
            for one in deaf:
                await asyncio.get_running_loop().sock_sendall(one, asked)
            assert [await probe(client, port) for _ in range(5)] == [200] * 5
            async with asyncio.timeout(10):
                while servers._pages[0].connections:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            # All that is left for them is what lay in the system's buffers.
            assert max([await read_all(one) for one in deaf]) < 5 * len(METRICS) * 100_000
    finally:
        await servers.stop()


async def test_a_slow_reader_is_served_to_the_end(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "STALL_SECONDS", 2.0)
    servers = HttpServers(service, lambda: METRICS * 100_000, KIND, (LOOPBACK, 0), (LOOPBACK, 0))
    (_, port), _ = await servers.start()
    try:
        reader, writer = await asyncio.open_connection(LOOPBACK, port, limit=1 << 16)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        await asyncio.sleep(0.5)
        read = await asyncio.wait_for(reader.read(), 10)
        assert read.endswith(METRICS)
        writer.close()
        await writer.wait_closed()
    finally:
        await servers.stop()


async def test_a_reader_of_events_stays_while_idle_connections_come_and_go(
    ports: tuple[int, int], client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "EVERY", 0.05)
    reading = asyncio.create_task(events(ports[1], 30))
    await asyncio.sleep(0.2)
    async with idle_connections(ports[1], 2 * MOST_CONNECTIONS):
        assert (await ask(client, ports[1], "/status"))[0] == 200
        assert len(await reading) == 30


class Pipe(asyncio.Transport):
    """A connection from an address, and whether it was broken off."""

    def __init__(self, address: str) -> None:
        super().__init__({"peername": (address, 1)})
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


def test_the_address_with_the_most_connections_gives_up_the_one_silent_for_longest() -> None:
    open_ones = Connections(4)
    probe, *crowd = [Pipe("10.0.0.1"), *(Pipe("10.0.0.9") for _ in range(6))]
    for one in (probe, *crowd):
        open_ones.add(one)
    assert [one.aborted for one in crowd] == [True, True, True, False, False, False]
    assert not probe.aborted

    open_ones.add(Pipe("10.0.0.2"))
    assert [one.aborted for one in crowd[3:]] == [True, False, False]
    open_ones.remove(crowd[4])
    open_ones.add(Pipe("10.0.0.3"))
    assert not crowd[5].aborted, "a place was free"


def test_among_addresses_with_one_connection_each_the_one_silent_for_longest_is_broken_off() -> None:
    open_ones = Connections(3)
    crowd = [Pipe(f"10.0.0.{number}") for number in range(4)]
    with open_ones.kept(crowd[0]):
        for one in crowd[:3]:
            open_ones.add(one)
        with open_ones.kept(crowd[0]):
            open_ones.add(crowd[3])
    assert [one.aborted for one in crowd] == [False, True, False, False]


def test_a_connection_that_asks_again_and_again_outlives_those_that_are_silent() -> None:
    open_ones = Connections(3)
    scrape, *crowd = [Pipe(f"10.0.0.{number}") for number in range(9)]
    open_ones.add(scrape)
    for one in crowd:
        open_ones.asks(scrape)
        open_ones.add(one)
    assert not scrape.aborted
    assert [one.aborted for one in crowd] == [True] * 6 + [False] * 2

    open_ones.remove(scrape)
    open_ones.asks(scrape)
    open_ones.add(Pipe("10.0.0.10"))
    assert not crowd[6].aborted, "one that is closed takes no place"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return what sets the clock of the running loop ahead by some seconds, so that nobody has to wait for them."""
    real, ahead = time.monotonic, 0.0

    def advance(seconds: float) -> None:
        nonlocal ahead
        ahead += seconds
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: real() + ahead)

    return advance


async def turns(count: int = 10) -> None:
    """Let the loop do what is due, and what follows from it."""
    for _ in range(count):
        await asyncio.sleep(0)


SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest_asyncio.fixture
async def connection(ports: tuple[int, int]) -> AsyncIterator[Connection]:
    reader, writer = await asyncio.open_connection(LOOPBACK, ports[0])
    yield reader, writer
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def scrape(connection: Connection) -> None:
    """Ask for the metrics on a connection that stays open, and check the answer."""
    reader, writer = connection
    writer.write(SCRAPE)
    async with asyncio.timeout(5):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        assert await reader.readexactly(len(METRICS)) == METRICS


@pytest.mark.parametrize("interval", [15, 60, 299])
async def test_every_request_of_a_connection_that_stays_is_answered(
    interval: int, connection: Connection, clock: Callable[[float], None]
) -> None:
    """Prometheus keeps its connection from scrape to scrape, and gives it up after five idle minutes."""
    for _ in range(40):
        await scrape(connection)
        clock(interval)
        await turns()


@pytest.mark.parametrize("later", range(6))
async def test_a_request_that_meets_the_end_of_the_idle_time_is_answered_or_its_connection_closed(
    later: int, connection: Connection, clock: Callable[[float], None]
) -> None:
    """A client whose connection is closed asks again; one that gets nothing waits until its scrape has failed."""
    await scrape(connection)
    clock(IDLE_SECONDS)
    await turns(later)
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        await scrape(connection)


async def test_a_connection_that_asks_outlives_silent_ones_of_many_addresses(
    connection: Connection, ports: tuple[int, int]
) -> None:
    with contextlib.ExitStack() as silent:
        for number in range(2 * MOST_CONNECTIONS):
            if number % (MOST_CONNECTIONS // 2) == 0:
                await scrape(connection)
            one = silent.enter_context(socket.socket())
            one.setblocking(False)
            one.bind((f"127.0.1.{number + 1}", 0))
            await asyncio.get_running_loop().sock_connect(one, (LOOPBACK, ports[0]))
        await scrape(connection)


@pytest.mark.parametrize("asked", [b"", SCRAPE[:20], SCRAPE, SCRAPE + SCRAPE[:20]])
async def test_a_connection_without_a_request_is_closed(
    asked: bytes, connection: Connection, clock: Callable[[float], None]
) -> None:
    reader, writer = connection
    writer.write(asked)
    if SCRAPE in asked:
        await asyncio.wait_for(reader.readuntil(METRICS), 5)
    clock(1)
    await turns()
    clock(IDLE_SECONDS)
    assert await asyncio.wait_for(reader.read(), 5) == b""


async def test_a_taken_port_is_an_error_that_names_its_setting_and_closes_the_other_port(service: Service) -> None:
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


async def test_stopping_ends_idle_clients_and_closes_the_port(service: Service) -> None:
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


# The status page and its events -----------------------------------------------------------------------------


async def events(port: int, count: int) -> list[dict[str, Any]]:
    """Return the first events of the stream."""
    found: list[dict[str, Any]] = []
    async with (
        asyncio.timeout(10),
        aiohttp.ClientSession() as session,
        session.get(f"http://{LOOPBACK}:{port}/events") as response,
    ):
        assert response.headers["Content-Type"].startswith("text/event-stream")
        assert response.headers["Cache-Control"] == "no-store"
        with contextlib.suppress(aiohttp.ClientPayloadError):  # broken off by the service
            async for line in response.content:
                if line.startswith(b"data: "):
                    found.append(json.loads(line[6:]))
                if len(found) == count:
                    break
    return found


async def test_the_page_may_load_and_run_only_what_is_its_own(
    ports: tuple[int, int], client: aiohttp.ClientSession
) -> None:
    status, headers, body = await ask(client, ports[1], "/")
    assert status == 200
    assert headers["Content-Type"].startswith("text/html")
    policy = headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none';")
    assert policy.count("'sha256-") == 2
    assert headers["X-Frame-Options"] == "DENY"
    page = body.decode().replace("http://www.w3.org/2000/svg", "")
    assert "http" not in page, "it asks for something from elsewhere"
    ways = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "style=")
    assert [way for way in ways if way in page] == []
    assert (await ask(client, ports[0], "/"))[0] == 404


async def test_events_go_on_and_are_on_the_admin_port_only(
    ports: tuple[int, int], client: aiohttp.ClientSession, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "EVERY", 0.05)
    reading = asyncio.create_task(events(ports[1], 3))
    await asyncio.sleep(0.08)
    service.fine = False
    found = await reading
    assert (found[0]["ready"], found[-1]["ready"]) == (True, False)
    assert (await ask(client, ports[0], "/events"))[0] == 404
    assert (await ask(client, ports[1], "/events", "POST"))[0] == 405


async def test_readers_of_events_beyond_the_most_are_turned_away(
    ports: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "EVERY", 0.05)

    async def read() -> bytes:
        reader, writer = await asyncio.open_connection(LOOPBACK, ports[1])
        open_ones.append(writer)
        writer.write(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return await asyncio.wait_for(reader.readline(), 5)

    open_ones: list[asyncio.StreamWriter] = []
    assert {await read() for _ in range(live.MOST_READERS)} == {b"HTTP/1.1 200 OK\r\n"}
    assert b" 503 " in await read()
    for writer in open_ones:
        writer.close()
        await writer.wait_closed()
    await asyncio.sleep(0.3)
    assert b" 200 " in await read()
    open_ones[-1].close()
    await open_ones[-1].wait_closed()


async def test_an_old_reader_of_events_is_ended_and_a_young_one_is_kept(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(live, "EVERY", 0.05)
    monkeypatch.setattr(live, "READING_SECONDS", 0.6)
    servers = HttpServers(service, lambda: METRICS, KIND, (LOOPBACK, 0), (LOOPBACK, 0))
    _, (_, port) = await servers.start()
    try:
        assert len(await events(port, 1000)) > 3
        assert len(await events(port, 6)) == 6, "swept away while it reads"
    finally:
        await servers.stop()


async def test_a_stop_does_not_wait_for_readers_of_events(service: Service) -> None:
    servers = HttpServers(service, lambda: METRICS, KIND, (LOOPBACK, 0), (LOOPBACK, 0))
    _, (_, port) = await servers.start()
    reading = asyncio.create_task(events(port, 1000))
    await asyncio.sleep(0.2)
    begun = asyncio.get_running_loop().time()
    await servers.stop()
    assert asyncio.get_running_loop().time() - begun < 1.0
    assert await reading


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"127.0.0.1:80", b"200"),
        (b"localhost", b"200"),
        (b"localhost:9465", b"200"),
        (b"[::1]:9465", b"200"),
        (b"jane-doe.example:9465", b"421"),
        (b"localhost.example", b"421"),
        (b"", b"421"),
    ],
)
async def test_only_a_known_name_of_the_host_reads_status_and_metrics(
    host: bytes, status: bytes, ports: tuple[int, int]
) -> None:
    rest = b" HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n"
    for port, page in ((ports[1], b"/"), (ports[1], b"/status"), (ports[0], b"/metrics")):
        answer = await raw(port, b"GET " + page + rest)
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert b"jane" not in answer


ORDER = {"X-Stream-Anon-Order": "pause"}


async def test_an_order_is_taken_on_the_admin_port_only(
    ordered: tuple[int, int, list[str]], client: aiohttp.ClientSession
) -> None:
    public, admin, given = ordered
    assert (await ask(client, public, "/pause", "POST", headers=ORDER))[0] == 404
    assert given == []
    status, _, body = await ask(client, admin, "/pause", "POST", headers=ORDER)
    assert (status, body, given) == (200, b"paused\n", ["pause"])


@pytest.mark.parametrize("seconds", ["", "30m", "0", "-1", "nan", "1e9", "-inf"])
async def test_an_order_for_no_sensible_time_is_refused(
    ordered: tuple[int, int, list[str]], client: aiohttp.ClientSession, seconds: str
) -> None:
    _, admin, given = ordered
    status, _, body = await ask(client, admin, f"/pause?for={seconds}", "POST", headers=ORDER)
    assert (status, body, given) == (400, b"for must be seconds, up to 2678400\n", [])


@pytest.mark.parametrize(
    ("method", "headers", "expected"),
    [
        ("GET", ORDER, 405),
        ("OPTIONS", {"Access-Control-Request-Headers": "x-stream-anon-order", "Origin": "http://evil"}, 405),
        ("POST", {}, 403),
        ("POST", {"X-Stream-Anon-Order": "drain"}, 403),
        ("POST", {**ORDER, "Host": "evil.example"}, 421),
    ],
)
async def test_a_page_of_another_origin_orders_nothing(
    ordered: tuple[int, int, list[str]],
    client: aiohttp.ClientSession,
    method: str,
    headers: dict[str, str],
    expected: int,
) -> None:
    _, admin, given = ordered
    status, answered, _ = await ask(client, admin, "/pause", method, headers=headers)
    assert (status, given) == (expected, [])
    assert not [name for name in answered if name.lower().startswith("access-control")]


async def test_an_admin_port_that_is_not_named_as_loopback_takes_no_orders(
    service: Service, client: aiohttp.ClientSession
) -> None:
    given: list[str] = []

    def pause(_: float) -> str:
        given.append("pause")
        return "paused"

    servers = HttpServers(service, lambda: METRICS, KIND, (LOOPBACK, 0), ("127.0.0.2", 0), {"pause": pause})
    try:
        _, (host, admin) = await servers.start()
        async with client.post(f"http://{host}:{admin}/pause", headers=ORDER) as response:
            assert (response.status, given) == (403, [])
    finally:
        await servers.stop()


async def test_the_command_gives_an_order_as_the_server_wants_it(ordered: tuple[int, int, list[str]]) -> None:
    _, admin, given = ordered
    assert await asyncio.to_thread(giving_orders.give, LOOPBACK, admin, "pause") == "paused"
    assert await asyncio.to_thread(giving_orders.give, LOOPBACK, admin, "pause", 1800.0) == "paused"
    assert given == ["pause", "pause for 1800 s"]
    assert not await asyncio.to_thread(giving_orders.has_ended, LOOPBACK, admin)
    with pytest.raises(Refused, match="404"):
        await asyncio.to_thread(giving_orders.give, LOOPBACK, admin, "explode")


def test_no_order_goes_to_another_machine() -> None:
    with pytest.raises(SettingsError, match=r"http\.admin_host: is 10\.0\.0\.1"):
        giving_orders.give("10.0.0.1", 9465, "pause")


def test_an_order_that_nobody_receives_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))  # and does not listen
        with pytest.raises(BrokerError, match="no service answers"):
            giving_orders.give(LOOPBACK, taken.getsockname()[1], "pause")
        assert giving_orders.has_ended(LOOPBACK, taken.getsockname()[1])
