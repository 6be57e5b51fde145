"""A line between clients and a broker that can be cut, held, slowed and left half open."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable
from dataclasses import dataclass

_PIECE = 64 * 1024
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER with no time: the other side sees a reset, not an end


@dataclass(eq=False)
class _Call:
    """One connection of a client, and its other half to the broker."""

    client: asyncio.StreamWriter
    broker: asyncio.StreamWriter
    deaf: bool = False  # the client's half stays open, and nobody listens


class Line:
    """One loopback port whose connections go on to another, unless something is done to them.

    Parameters
    ----------
    target
        The port that the broker listens on.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self.delay = 0.0  # seconds for each piece, either way
        self.rate = 0.0  # bytes a second; 0 for no limit
        self._flows = asyncio.Event()
        self._flows.set()
        self._calls: set[_Call] = set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self.heal()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    # -- what may be done to it ----------------------------------------------------------------------------------

    def cut(self) -> None:
        """Reset all connections; new ones are let through."""
        for call in self._calls:
            for half in (call.client, call.broker):
                _reset(half)

    def hold(self) -> None:
        """Let nothing pass, and keep all connections open."""
        self._flows.clear()

    def half_open(self) -> None:
        """End the broker's half of all connections and say nothing to the client."""
        for call in self._calls:
            call.deaf = True
            _reset(call.broker)

    def heal(self) -> None:
        """Let everything pass again; half-open connections are reset."""
        self.delay = self.rate = 0.0
        self._flows.set()
        for call in self._calls:
            if call.deaf:
                _reset(call.client)

    # -- passing on ----------------------------------------------------------------------------------------------

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._connect(reader, writer)
        except asyncio.CancelledError:
            pass  # `stop` ended it; nobody awaits this task
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            broker_reader, broker_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            return
        call = _Call(writer, broker_writer)
        self._calls.add(call)
        try:
            await asyncio.gather(
                self._pass(call, reader, broker_writer), self._pass(call, broker_reader, writer, back=True)
            )
        finally:
            self._calls.discard(call)
            broker_writer.transport.abort()

    async def _pass(
        self, call: _Call, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, back: bool = False
    ) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(_PIECE):
                await self._flows.wait()
                await asyncio.sleep(self.delay + (len(piece) / self.rate if self.rate else 0.0))
                if not call.deaf:
                    writer.write(piece)
                    await writer.drain()
        if not (back and call.deaf):
            await _end(writer)


async def _end(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        writer.close()
        await _quietly(writer.wait_closed())


async def _quietly(work: Awaitable[None]) -> None:
    with contextlib.suppress(OSError, TimeoutError):
        await asyncio.wait_for(work, 1.0)


def _reset(writer: asyncio.StreamWriter) -> None:
    end = writer.get_extra_info("socket")
    if end is not None:
        with contextlib.suppress(OSError):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
