"""A port in front of a broker, behind which single frames can be held back and delivered later."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections import deque

from tests.support.late_requests.frames import Frame, read_frame
from tests.support.ports import free_port

_LIMIT = 2**27
_RESET = struct.pack("ii", 1, 0)
_BREAKS = (OSError, asyncio.IncompleteReadError)


class Script:
    """Lets everything pass; what a line asks about the frames of one group."""

    async def before(self, _call: Call, _frame: Frame) -> bool:
        """Return whether a request may go on to the broker."""
        return True

    async def after(self, _call: Call, _frame: Frame) -> None:
        """Hear that a request was answered."""


class Call:
    """One connection of a client through a line. It may end for the client and go on for the broker."""

    def __init__(self, line: FrameLine, client: asyncio.StreamWriter) -> None:
        self.line = line
        self._client = client
        self._waiting: deque[Frame] = deque()
        self._deaf = False
        self._broker: asyncio.StreamWriter
        self._answers: asyncio.StreamReader

    async def run(self, requests: asyncio.StreamReader) -> None:
        try:
            self._answers, self._broker = await asyncio.open_connection("127.0.0.1", self.line.target, limit=_LIMIT)
        except OSError:
            self._client.transport.abort()
            return
        back = asyncio.create_task(self._back())
        try:
            with contextlib.suppress(*_BREAKS):
                while True:
                    frame = Frame.of(await read_frame(requests))
                    if not await self.line.script_of(frame).before(self, frame):
                        break
                    await self.forward(frame)
        finally:
            if self._deaf:
                self.line.leave_open(self._broker, back)
            else:
                self._broker.transport.abort()
                back.cancel()

    async def forward(self, frame: Frame) -> None:
        """Send a request to the broker."""
        self._waiting.append(frame)
        self._broker.write(frame.raw)
        await self._broker.drain()

    def hang_up(self) -> None:
        """Reset the client's half; the broker's half stays open."""
        self._deaf = True
        end = self._client.get_extra_info("socket")
        if end is not None:
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._client.transport.abort()

    async def _back(self) -> None:
        try:
            with contextlib.suppress(*_BREAKS):
                while True:
                    answer = await read_frame(self._answers)
                    frame = self._waiting.popleft()
                    frame.hear(answer)
                    if not self._deaf:
                        await self.line.script_of(frame).after(self, frame)
                    if frame.unheard:
                        self.hang_up()
                    if not self._deaf:
                        self._client.write(answer)
                        await self._client.drain()
        finally:
            for frame in self._waiting:
                frame.answered.set()
            if not self._deaf:
                self._client.transport.abort()


class FrameLine:
    """One loopback port whose frames go on to a broker unless the script of their group says otherwise.

    Parameters
    ----------
    number
        Of the broker.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.target, self.port = free_port(), 0
        self.scripts: dict[str, Script] = {}
        self._plain = Script()
        self._left: list[tuple[asyncio.StreamWriter, asyncio.Task[None]]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def script_of(self, frame: Frame) -> Script:
        """Return the script of the group whose client sends a frame."""
        group, _, _ = frame.client.partition("-")
        return self.scripts.get(group, self._plain)

    def leave_open(self, broker: asyncio.StreamWriter, back: asyncio.Task[None]) -> None:
        """Keep the broker's half of a connection until the line ends."""
        self._left.append((broker, back))

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0, limit=_LIMIT)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for broker, back in self._left:
            broker.transport.abort()
            back.cancel()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, *(back for _, back in self._left), return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await Call(self, writer).run(reader)
        except asyncio.CancelledError:
            pass  # `stop` ended it; nobody awaits this task
        finally:
            self._tasks.discard(task)
            writer.transport.abort()
