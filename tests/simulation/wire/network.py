"""Connections in memory: frames go in order on each of them, are late, and may outlive it."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from tests.simulation.wire.model.broker import Cluster
from tests.simulation.wire.model.frames import Asked, head
from tests.simulation.wire.weather import Fate, Weather

HOST: ContextVar[str] = ContextVar("HOST", default="")
"""Which worker's machine a task runs on."""
_APART = 1e-9  # seconds: two answers never arrive at the same moment


class Network:
    """All connections of a run."""

    def __init__(self, cluster: Cluster, weather: Weather) -> None:
        self.cluster, self.weather = cluster, weather
        self.dead: set[str] = set()
        self.hangs: dict[str, float] = {}  # until when a host's line carries nothing
        self.tells = False
        self.links: set[Link] = set()
        self._sent: Counter[str] = Counter()
        self._behind: dict[tuple[str, int], list[asyncio.Future[None]]] = {}

    async def connect(
        self, factory: Callable[[], asyncio.Protocol], port: int
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """Connect the present host to a node."""
        host, loop = HOST.get(), asyncio.get_running_loop()
        await asyncio.sleep(max(self.hangs.get(host, 0.0) - loop.time(), 0.0) + 0.0003)
        if host in self.dead:
            raise ConnectionRefusedError
        protocol = factory()
        link = Link(self, host, port - 9090, protocol)
        protocol.connection_made(link)
        return link, protocol

    def note(self, client: str) -> int:
        """Count a request of a client, and let those arrive that had to wait for it."""
        self._sent[client] += 1
        for waiting in self._behind.pop((client, self._sent[client]), ()):
            if not waiting.done():
                waiting.set_result(None)
        return self._sent[client]

    async def passed(self, client: str, number: int, within: float) -> None:
        """Wait until so many requests of a client were sent, or for some seconds."""
        if self._sent[client] < number:
            waiting = asyncio.get_running_loop().create_future()
            self._behind.setdefault((client, number), []).append(waiting)
            await asyncio.wait([waiting], timeout=within)

    def kill(self, host: str) -> None:
        """Let a host go: its requests on their way still arrive, and nothing comes back."""
        self.dead.add(host)
        for link in list(self.links):
            if link.host == host:
                link.lose()

    async def close(self) -> None:
        """End everything."""
        links = list(self.links)
        for link in links:
            link.lose()
            link.serving.cancel()
        await asyncio.gather(*(link.serving for link in links), return_exceptions=True)


class Link(asyncio.Transport):
    """One connection, as its client sees it, and the node's half of it."""

    def __init__(self, network: Network, host: str, node: int, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self.host = host
        self._network, self._node, self._protocol = network, node, protocol
        self._loop = asyncio.get_running_loop()
        self._inbox: deque[tuple[bytes, Fate, str, int]] = deque()
        self._came = asyncio.Event()
        self._is_lost = False
        self._last_given = 0.0
        network.links.add(self)
        self.serving = self._loop.create_task(self._serve())

    # -- the client's half -----------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send one frame; aiokafka writes each whole."""
        assert int.from_bytes(data[:4], "big") == len(data) - 4
        if self._is_lost:
            return
        key, name = head(data)
        client = f"{self.host} {name}"
        number = self._network.note(client)
        fate = self._network.weather.fate(client, key)
        self._inbox.append((bytes(data), fate, client, number))
        self._came.set()
        if fate.cut == "late":
            self._loop.call_later(0.0005, self.lose)

    def lose(self) -> None:
        """Break the connection for its client."""
        if not self._is_lost:
            self._is_lost = True
            self._came.set()
            self._loop.call_soon(self._protocol.connection_lost, ConnectionResetError())

    def close(self) -> None:
        """See `asyncio.Transport`."""
        if not self._is_lost:
            self._is_lost = True
            self._came.set()
            self._loop.call_soon(self._protocol.connection_lost, None)

    abort = close

    def is_closing(self) -> bool:
        """See `asyncio.Transport`."""
        return self._is_lost

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """See `asyncio.Transport`."""
        return default

    def pause_reading(self) -> None:
        """See `asyncio.Transport`; answers are small."""

    def resume_reading(self) -> None:
        """See `asyncio.Transport`."""

    # -- the node's half -------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        """Take frames one after another; what was sent arrives even if the client is gone."""
        try:
            while self._inbox or not self._is_lost:
                if not self._inbox:
                    self._came.clear()
                    await self._came.wait()
                    continue
                frame, fate, client, number = self._inbox.popleft()
                if fate.behind:
                    await self._network.passed(client, number + fate.behind, fate.delay)
                else:
                    await self._pass(fate.delay)
                if fate.cut == "before":
                    self._inbox.clear()
                    self.lose()
                    return
                if self._network.tells:
                    self._network.weather.tell(f"{client} -> {self._node}: {Asked.read(frame)}")
                answer = await self._network.cluster.handle(self._node, frame)
                if fate.cut == "after":
                    self.lose()
                else:
                    self._last_given = max(self._loop.time() + fate.answer, self._last_given + _APART)
                    self._loop.call_at(self._last_given, self._give, answer)
        finally:
            self._network.links.discard(self)

    async def _pass(self, delay: float) -> None:
        await asyncio.sleep(delay)
        if not self._is_lost and (until := self._network.hangs.get(self.host, 0.0)) > self._loop.time():
            await asyncio.sleep(until - self._loop.time())

    def _give(self, answer: bytes) -> None:
        until = self._network.hangs.get(self.host, 0.0)
        if until > self._loop.time():
            self._last_given = max(until, self._last_given + _APART)
            self._loop.call_at(self._last_given, self._give, answer)
        elif not self._is_lost:
            self._protocol.data_received(answer)
