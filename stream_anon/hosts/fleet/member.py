"""One worker process of a fleet: `python -m stream_anon.hosts.fleet.member FILE WORKERS [CONDITION ...] NUMBER`.

The fleet starts it. Its standard output carries reports, and its standard input carries orders
(`service/orders.py`). It stops at SIGTERM, and when its standard input ends, since its parent is gone then.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.logs import open_log, quiet_libraries
from stream_anon.adapters.prometheus.exposition import exposition, watch_process
from stream_anon.conditions import Condition
from stream_anon.errors import Refused, SettingsError, StreamAnonError
from stream_anon.hosts.fleet.reports import EVERY, WorkerReport
from stream_anon.microdata.policy import Policy
from stream_anon.operations.starting.permission import permit_of
from stream_anon.ports.log_lines import LogLine
from stream_anon.service.orders import Orders
from stream_anon.service.status.status_board import StatusBoard
from stream_anon.service.wiring.leaving import stop_at_signals
from stream_anon.service.wiring.log_listener import into_log
from stream_anon.service.wiring.observing import into_metrics, tell_all
from stream_anon.service.wiring.serving import prepare, work
from stream_anon.settings.loading import kafka_of
from stream_anon.settings.model import Settings

WRONG_SETTINGS = 2
REFUSED = 4


class _Reporter:
    """Tells the worker's state, and never waits for a reader that does not read."""

    def __init__(self, board: StatusBoard, registry: CollectorRegistry) -> None:
        self._board = board
        self._registry = registry
        self.warm = asyncio.Event()

    async def report(self, descriptor: int) -> None:
        """Report until cancelled."""
        pipe = os.fdopen(descriptor, "wb")
        transport, _ = await asyncio.get_running_loop().connect_write_pipe(asyncio.Protocol, pipe)
        assert isinstance(transport, asyncio.WriteTransport)  # noqa: S101 - the call sets it
        try:
            while not transport.is_closing():
                if not transport.get_write_buffer_size():
                    metrics = exposition(self._registry).decode()
                    transport.write(WorkerReport(self.warm.is_set(), self._board.status(), metrics).line)
                await asyncio.sleep(EVERY)
        finally:
            transport.close()


async def _work(settings: Settings, policy: Policy, workers: int, number: int, descriptor: int) -> None:
    clock = SystemClock()
    log = open_log(clock.wall, settings.logs.format, settings.logs.level).bind(worker=number)
    registry = CollectorRegistry()
    watch_process(registry)
    board = StatusBoard(clock.monotonic)
    tell = tell_all(into_metrics(registry), into_log(log, clock.monotonic), board)
    stop = stop_at_signals(log)
    orders = Orders(stop, clock, tell, paused=kafka_of(settings).paused, outlived=True)
    _read_orders(stop, orders)
    reporter = _Reporter(board, registry)
    reporting = asyncio.create_task(reporter.report(descriptor))
    try:
        with quiet_libraries(log, clock.monotonic):
            try:
                await work(
                    settings,
                    policy,
                    clock,
                    tell,
                    stop,
                    permit_of,
                    reporter.warm.set,
                    orders=orders,
                    workers=workers,
                )
            except Exception:
                log.exception(LogLine.FAILED)
                raise
    finally:
        reporting.cancel()
        await asyncio.gather(reporting, return_exceptions=True)


def _read_orders(stop: asyncio.Event, orders: Orders) -> None:
    """Follow the last order on standard input, and stop when the input ends."""
    loop, descriptor, unread = asyncio.get_running_loop(), sys.stdin.fileno(), b""

    def read() -> None:
        nonlocal unread
        given = os.read(descriptor, 4096)
        *lines, unread = (unread + given).split(b"\n")
        if lines:
            orders.heed(lines[-1])
        if not given:
            loop.remove_reader(descriptor)
            stop.set()

    loop.add_reader(descriptor, read)


def main(config: Path, workers: int, accepted: Sequence[Condition], number: int) -> int:
    """Work as one of so many until asked to stop; return the exit code."""
    descriptor = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may be written between reports
    try:
        asyncio.run(_work(*prepare(config, accepted), workers, number, descriptor))
    except SettingsError as error:
        sys.stderr.write(f"stream-anon: {error}\n")
        return WRONG_SETTINGS
    except Refused as error:
        sys.stderr.write(f"stream-anon: {error}\n")
        return REFUSED
    except StreamAnonError:  # it is logged already
        return 1
    except Exception:  # noqa: BLE001 - logged by its kind and place; its message may hold values
        return 1
    return 0


if __name__ == "__main__":
    _, _file, _workers, *_conditions, _number = sys.argv
    sys.exit(main(Path(_file), int(_workers), [Condition(name) for name in _conditions], int(_number)))
