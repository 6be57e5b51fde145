"""Which request of a worker is held or loses its answer, and at which moment of a later transaction it arrives."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.support.late_requests.frames import END, OF_A_PRODUCER, PARTITIONS, PRODUCE, Frame
from tests.support.late_requests.line import Call, Script

_ANSWER_WITHIN = 10.0
_HEARD_WHILE_STALLED = ("-sink", "-ledger")


@dataclass(frozen=True)
class Moment:
    """Before or after the first request of a kind in the transaction behind the held one.

    Parameters
    ----------
    key
        Of the request.
    behind
        How many transactions behind the held one.
    node
        Only requests to this broker count; those of the same kind to others wait. 0 for any.
    """

    key: int
    after: bool = False
    behind: int = 1
    node: int = 0


async def _nothing() -> None:
    pass


class Holding(Script):
    """Holds one request of a worker: the client sees its connection reset, and the bytes arrive at a moment.

    Parameters
    ----------
    key, number
        Which request: the n-th of a kind.
    moment
        When it arrives; None if it arrives at once and only its answer is lost.

    Attributes
    ----------
    held, arrived
        Whether the request was held, or its answer lost; whether it has reached the broker since.
    codes
        With which the broker answered it.
    on_hold, before_arrival, on_arrival, on_next_end
        Awaited when it is held, before and after its arrival, and when the next transaction has ended after that.
    stall
        Awaited before the first request of the transaction behind the held one. The worker's other connections wait
        until `on_arrival` has ended.
    """

    def __init__(self, key: int, number: int, moment: Moment | None) -> None:
        self._key, self._number, self._moment = key, number, moment
        self.held: Frame | None = None
        self.arrived = False
        self.codes: list[int] = []
        self.on_hold: Callable[[], Awaitable[None]] = _nothing
        self.before_arrival: Callable[[], Awaitable[None]] = _nothing
        self.on_arrival: Callable[[], Awaitable[None]] = _nothing
        self.on_next_end: Callable[[], Awaitable[None]] = _nothing
        self.stall: Callable[[], Awaitable[None]] | None = None
        self._call: Call
        self._sent: Counter[int] = Counter()
        self._sent_now: Counter[tuple[int, int]] = Counter()  # in this transaction, by key and node
        self._ended = 0
        self._held_in = 0
        self._arriving = False
        self._landed = asyncio.Event()  # once all that follows the arrival is done
        self._off = False
        self._hears = asyncio.Event()
        self._hears.set()
        self._tasks: set[asyncio.Task[None]] = set()

    def let_go(self) -> None:
        """Let everything pass from now on."""
        self._off = True
        self._landed.set()
        self._hears.set()

    async def before(self, call: Call, frame: Frame) -> bool:
        """Hold the request that is to be held; deliver it if now is its moment."""
        if not frame.client.endswith("-sink") or frame.key not in OF_A_PRODUCER or self._off:
            if not frame.client.endswith(_HEARD_WHILE_STALLED):
                await self._hears.wait()
            return True
        await self._stall_before(frame)
        self._sent[frame.key] += 1
        self._sent_now[frame.key, self._node(call, frame)] += 1
        await self._wait_for_others(call, frame)
        await self._maybe_arrive(call, frame, after=False)
        if frame.key != self._key or self._sent[frame.key] != self._number or self.held is not None:
            return True
        self.held, self._call, self._held_in = frame, call, self._ended
        if self._moment is None:
            frame.unheard = True
            return True
        call.hang_up()
        self._start(self.on_hold())
        return False

    async def after(self, call: Call, frame: Frame) -> None:
        """Count transactions that ended; deliver the held request if now is its moment."""
        if not frame.client.endswith("-sink") or frame.key not in OF_A_PRODUCER or self._off:
            return
        await self._maybe_arrive(call, frame, after=True)
        if frame.unheard:
            self.arrived, self.codes = True, frame.codes
            await self.on_hold()
        if frame.key == END and frame.codes == [0]:
            self._ended += 1
            self._sent_now.clear()
            if self.arrived:
                await self.on_next_end()

    @staticmethod
    def _node(call: Call, frame: Frame) -> int:
        return call.line.number if frame.key == PRODUCE else 0

    async def _stall_before(self, frame: Frame) -> None:
        behind = self.held is not None and self._ended == self._held_in + 1
        if self.stall is None or not behind or frame.key != PARTITIONS:
            return
        stall, self.stall = self.stall, None
        self._hears.clear()
        await asyncio.shield(self._start(stall()))

    async def _wait_for_others(self, call: Call, frame: Frame) -> None:
        at = self._moment
        if at is not None and at.node not in (0, call.line.number) and frame.key == at.key and self._is_near(at):
            await self._landed.wait()

    def _is_near(self, at: Moment) -> bool:
        return self.held is not None and self._ended == self._held_in + at.behind

    async def _maybe_arrive(self, call: Call, frame: Frame, *, after: bool) -> None:
        at = self._moment
        if at is None or self._arriving or (frame.key, after) != (at.key, at.after) or not self._is_near(at):
            return
        if self._sent_now[frame.key, self._node(call, frame)] != 1 or at.node not in (0, call.line.number):
            return
        self._arriving = True
        await asyncio.shield(self._start(self._arrive()))  # not cancelled with this connection

    async def _arrive(self) -> None:
        held = self.held
        assert held is not None
        await self.before_arrival()
        try:
            await self._call.forward(held)
            async with asyncio.timeout(_ANSWER_WITHIN):
                await held.answered.wait()
        except (OSError, TimeoutError):
            pass  # its broker has gone, or has lost it
        self.arrived, self.codes = True, held.codes
        await self.on_arrival()
        self._landed.set()
        self._hears.set()

    def _start(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        assert isinstance(task, asyncio.Task)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
