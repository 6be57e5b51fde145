"""Start worker processes, restart those that end, and stop all of them together.

The processes are started anew and not forked, since a fork of a process with threads inherits their locks. The
first one compiles the kernels. The others start when it has finished, and find the kernels on disk.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.logs import Log, open_log, quiet_libraries
from stream_anon.adapters.prometheus.exposition import exposition, watch_process
from stream_anon.adapters.prometheus.fleet_metrics import FleetMetrics
from stream_anon.conditions import Condition
from stream_anon.errors import Refused, SettingsError
from stream_anon.hosts.fleet.board import FleetBoard
from stream_anon.hosts.fleet.member import REFUSED, WRONG_SETTINGS
from stream_anon.hosts.fleet.reports import LONGEST, next_report
from stream_anon.ports import Clock
from stream_anon.ports.log_lines import LogLine
from stream_anon.service.orders import Orders
from stream_anon.service.retrying import unless_stopped
from stream_anon.service.wiring.leaving import stop_at_signals
from stream_anon.service.wiring.serving import listening, prepare, refuse_unusable_files
from stream_anon.service.worker import DRAIN_WITHIN
from stream_anon.settings.loading import kafka_of
from stream_anon.settings.model import Settings

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
STEADY = 60.0  # seconds after which a worker that ends is restarted without a pause
LOST = 60.0  # seconds of silence after which a worker is killed; compiling keeps it silent for some seconds
STOP_WITHIN = 9.0  # seconds; a worker needs eight at the most


def serve_fleet(config: Path, workers: int, accepted: Sequence[Condition] = ()) -> None:
    """Run several workers with the settings of a file until SIGTERM or SIGINT.

    Raises
    ------
    SettingsError
        If the settings are wrong.
    Refused
        If a condition forbids a run that nobody has accepted.
    """
    settings, _ = prepare(config, accepted)
    refuse_unusable_files(settings)
    asyncio.run(_serve(settings, config, workers, accepted))


async def _serve(settings: Settings, config: Path, workers: int, accepted: Sequence[Condition]) -> None:
    clock = SystemClock()
    log = open_log(clock.wall, settings.logs.format, settings.logs.level)
    registry = CollectorRegistry()
    watch_process(registry)
    board = FleetBoard(workers, clock.monotonic, registry)
    stop = stop_at_signals(log)
    orders = Orders(stop, clock, paused=kafka_of(settings).paused)
    command = (sys.executable, "-m", "stream_anon.hosts.fleet.member", str(config), str(workers), *accepted)
    fleet = Fleet(command, workers, board, FleetMetrics(registry, workers), clock, log, stop, orders)
    with quiet_libraries(log, clock.monotonic):
        async with listening(settings.http, board, lambda: exposition(board), log, orders.by_name):
            await fleet.run()


# The sender of this signal is unknown. If it was no person, the system ran out of memory.
_KILLED = "was killed by signal 9, as the system does when memory runs out: see the memory limit"


def send(process: Process, orders: Orders) -> None:
    """Send a worker the present order; it follows the last one."""
    if process.stdin is not None and not process.stdin.is_closing():
        process.stdin.write(orders.line)


class Fleet:
    """Keeps worker processes running until `stop` is set.

    Parameters
    ----------
    command
        Starts a worker, with its number as the last argument; see `member`.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - a part an argument
        self,
        command: Sequence[str],
        workers: int,
        board: FleetBoard,
        metrics: FleetMetrics,
        clock: Clock,
        log: Log,
        stop: asyncio.Event,
        orders: Orders,
    ) -> None:
        self._command = command
        self._workers = workers
        self._board, self._metrics, self._clock, self._log = board, metrics, clock, log
        self._stop, self._orders = stop, orders
        self._warm = asyncio.Event()
        self._running: dict[int, Process] = {}
        self._refused: set[int] = set()  # workers that were refused and have not reported since

    async def run(self) -> None:
        """Run until `stop`, then end all processes within ten seconds.

        Raises
        ------
        SettingsError
            If a worker refuses the settings at its first start, or each worker refused them at its last one.
        Refused
            If a condition forbids the first start of a worker, or forbade the last one of each.
        """
        keeping = [asyncio.create_task(self._keep(number)) for number in range(self._workers)]
        stopped = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait([*keeping, stopped], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stop.set()
            await self._end(keeping)
            stopped.cancel()
            await asyncio.gather(stopped, return_exceptions=True)
        for error in filter(None, [task.exception() for task in keeping]):
            raise error

    async def _end(self, keeping: list[asyncio.Task[None]]) -> None:
        """Ask all workers to stop, and kill those that do not."""
        self._board.stop()
        if self._orders.forgets:
            self._log.warning(LogLine.PAUSE_FORGOTTEN)
        draining = self._orders.draining
        for process in self._running.values():
            if draining:
                send(process, self._orders)
            else:
                process.terminate()
        _, late = await asyncio.wait(keeping, timeout=DRAIN_WITHIN + STOP_WITHIN if draining else STOP_WITHIN)
        for process in self._running.values():
            process.kill()
        if late:
            await asyncio.wait(late)

    async def _keep(self, number: int) -> None:
        """Start a worker, and restart it when it ends, after growing pauses."""
        if number:
            await unless_stopped(self._stop, self._warm.wait())
        pause, first = FIRST_PAUSE, True
        while not self._stop.is_set():
            begun = self._clock.monotonic()
            end = await self._run_one(number)
            if self._stop.is_set():
                return
            if end in {WRONG_SETTINGS, REFUSED}:
                self._refused.add(number)
                # While others run well, a worker that has run before is tried again.
                if first or self._all_refused:
                    self._log.error(LogLine.FLEET_REFUSED, workers=sorted(self._refused), code=end)
                    if end == REFUSED:
                        raise Refused("a worker must not start; its own line says why")
                    raise SettingsError("settings", "a worker refuses them; its own line says why")
            else:
                self._refused.discard(number)
            first = False
            if self._clock.monotonic() - begun >= STEADY:
                pause = FIRST_PAUSE
            if isinstance(end, str):
                self._log.error(LogLine.WORKER_NOT_STARTED, worker=number, error=end, again_in=pause)
            else:
                self._metrics.restarted()
                self._log.error(LogLine.WORKER_ENDED, worker=number, code=end, again_in=pause)
            await unless_stopped(self._stop, asyncio.sleep(pause))
            pause = min(2 * pause, LONGEST_PAUSE)

    @property
    def _all_refused(self) -> bool:
        """Return whether each worker was refused that may start; before the first one is warm no other may."""
        return len(self._refused) == (self._workers if self._warm.is_set() else 1)

    async def _run_one(self, number: int) -> int | str:
        """Run a worker process to its end; return its exit code, or why the system could not start it."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command, str(number), stdin=PIPE, stdout=PIPE, limit=LONGEST
            )
        except OSError as error:  # out of memory, processes or files: this passes, and the other workers are well
            return error.strerror or type(error).__name__
        self._running[number] = process
        self._metrics.running(len(self._running))
        if self._stop.is_set():  # the stop came while the process was being started
            process.terminate()
        send(process, self._orders)  # before it reads a record
        try:
            await self._listen(number, process)
            return await process.wait()
        finally:
            del self._running[number]
            self._metrics.running(len(self._running))
            self._board.ended(number, _KILLED if process.returncode == -signal.SIGKILL else "")

    async def _listen(self, number: int, process: Process) -> None:
        """Take reports until the process ends; kill it if it falls silent or sends anything but reports."""
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        try:
            while True:
                async with asyncio.timeout(LOST):
                    report = await next_report(process.stdout)
                if report is None:
                    return
                self._board.take(number, report)
                self._refused.discard(number)
                if report.warm:
                    self._warm.set()
                send(process, self._orders)
        except (TimeoutError, ValueError):
            self._log.error(LogLine.WORKER_SILENT, worker=number)
            process.kill()
