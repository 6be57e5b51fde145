"""What a fleet makes of processes that crash, refuse, babble, or do not stop: small scripts in place of workers."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import sys
import time
from asyncio.subprocess import Process
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.logs import open_log
from stream_anon.adapters.prometheus.fleet_metrics import FleetMetrics
from stream_anon.errors import Refused, SettingsError
from stream_anon.hosts.fleet import fleet as module
from stream_anon.hosts.fleet.board import FleetBoard
from stream_anon.hosts.fleet.fleet import Fleet
from stream_anon.hosts.fleet.reports import WorkerReport
from stream_anon.service.orders import Orders
from stream_anon.service.status.status_board import StatusBoard
from tests.support.policies import write_policy

WARM = WorkerReport(True, StatusBoard(lambda: 0.0).status(), "").line
SAY = f"import sys, time; sys.stdout.buffer.write({WARM!r}); sys.stdout.flush()\n"


class Bench:
    def __init__(self, script: str, workers: int = 1) -> None:
        self.registry = CollectorRegistry()
        self.stream = io.StringIO()
        self.stop = asyncio.Event()
        clock = SystemClock()
        log = open_log(clock.wall, "json", "debug", self.stream)
        self.board = FleetBoard(workers, clock.monotonic, self.registry)
        metrics = FleetMetrics(self.registry, workers)
        command, self.orders = (sys.executable, "-c", script), Orders(self.stop, clock)
        self.fleet = Fleet(command, workers, self.board, metrics, clock, log, self.stop, self.orders)

    def said(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        return [line for line in lines if line["event"] == event]

    def value(self, name: str) -> float | None:
        return self.registry.get_sample_value(f"stream_anon_{name}")

    async def until(self, event: str, times: int, within: float = 20.0) -> list[dict[str, Any]]:
        async with asyncio.timeout(within):
            while len(self.said(event)) < times:  # noqa: ASYNC110 - other processes decide
                await asyncio.sleep(0.02)
        return self.said(event)


@pytest.fixture(autouse=True)
def _in_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.15)
    monkeypatch.setattr(module, "STOP_WITHIN", 1.0)


async def test_a_worker_that_crashes_is_started_again_after_growing_pauses() -> None:
    bench = Bench("import sys; sys.exit(1)")
    running = asyncio.create_task(bench.fleet.run())
    lines = await bench.until("worker-ended", 4)
    assert [line["again_in"] for line in lines[:4]] == [0.05, 0.1, 0.15, 0.15]
    assert {line["code"] for line in lines} == {1}
    bench.stop.set()
    await running
    assert bench.value("worker_restarts_total") == len(bench.said("worker-ended"))
    assert bench.value("workers_running") == 0


@pytest.mark.parametrize(("code", "error"), [(2, SettingsError), (4, Refused)])
async def test_a_worker_that_may_not_start_at_first_ends_the_fleet_at_once(
    code: int, error: type[Exception]
) -> None:
    bench = Bench(f"import sys; sys.exit({code})", 3)
    async with asyncio.timeout(20):
        with pytest.raises(error, match="its own line says why"):
            await bench.fleet.run()
    assert not bench.said("worker-ended")
    assert [(line["code"], line["workers"]) for line in bench.said("fleet-refused")] == [(code, [0])]
    assert bench.value("workers_running") == 0


REFUSED_LATER = (
    "import os, sys\nfile = {!r} + sys.argv[-1]\nif os.path.exists(file): sys.exit({})\nopen(file, 'x')\n"
)


async def test_a_worker_that_has_run_before_and_may_not_start_again_is_tried_again_while_others_run(
    tmp_path: Path,
) -> None:
    once = "if sys.argv[-1] == '0': time.sleep(60)\n" + REFUSED_LATER.format(f"{tmp_path}/", 4)
    bench = Bench(SAY + once + "sys.exit(1)", 2)
    running = asyncio.create_task(bench.fleet.run())
    lines = await bench.until("worker-ended", 4)
    assert {line["worker"] for line in lines} == {1}
    assert [line["code"] for line in lines[:3]] == [1, 4, 4]
    assert not bench.said("fleet-refused")
    bench.stop.set()
    await running


@pytest.mark.parametrize(("code", "error"), [(2, SettingsError), (4, Refused)])
@pytest.mark.parametrize("says", [SAY, ""], ids=["warm", "never warm"])
async def test_a_fleet_of_which_no_worker_may_start_again_ends(
    code: int, error: type[Exception], says: str, tmp_path: Path
) -> None:
    bench = Bench(REFUSED_LATER.format(f"{tmp_path}/", code) + says + "sys.exit(1)", 3)
    async with asyncio.timeout(20):
        with pytest.raises(error, match="its own line says why"):
            await bench.fleet.run()
    (line,) = bench.said("fleet-refused")
    assert (line["code"], line["workers"]) == (code, [0, 1, 2] if says is SAY else [0])
    assert bench.value("workers_running") == 0


async def test_the_others_start_when_the_first_has_compiled() -> None:
    bench = Bench("import time; time.sleep(60)", 3)
    running = asyncio.create_task(bench.fleet.run())
    await asyncio.sleep(0.5)
    assert bench.value("workers_running") == 1
    bench.stop.set()
    await running
    warm = Bench(SAY + "time.sleep(60)", 3)
    running = asyncio.create_task(warm.fleet.run())
    async with asyncio.timeout(20):
        while warm.value("workers_running") != 3:  # noqa: ASYNC110 - other processes decide
            await asyncio.sleep(0.02)
    warm.stop.set()
    await running
    assert warm.value("workers_running") == 0


async def test_a_worker_that_ignores_the_stop_is_killed() -> None:
    bench = Bench("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SAY + "time.sleep(60)")
    running = asyncio.create_task(bench.fleet.run())
    async with asyncio.timeout(20):
        await bench.fleet._warm.wait()
    begun = time.monotonic()
    bench.stop.set()
    await running
    assert 0.9 < time.monotonic() - begun < 30


@pytest.mark.parametrize("script", ["print('no report' * 99, flush=True)\nimport time; time.sleep(60)"])
async def test_a_worker_that_sends_no_reports_but_noise_is_ended(script: str) -> None:
    bench = Bench(script)
    running = asyncio.create_task(bench.fleet.run())
    await bench.until("worker-silent", 1)
    assert (await bench.until("worker-ended", 1))[0]["code"] == -9
    bench.stop.set()
    await running


async def test_a_worker_that_is_silent_is_ended_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOST", 0.3)
    bench = Bench(SAY + "time.sleep(60)")
    running = asyncio.create_task(bench.fleet.run())
    await bench.until("worker-ended", 1)
    assert bench.said("worker-silent")
    bench.stop.set()
    await running


async def test_machine_without_a_process_to_give_leaves_the_healthy_workers_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(SAY + "time.sleep(0.3 if sys.argv[-1] == '1' else 60)", 3)
    spawn, spawned = asyncio.create_subprocess_exec, 0

    async def refused_twice(*command: str, **pipes: int) -> Process:
        nonlocal spawned
        spawned += 1
        if spawned in (4, 5):
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return await spawn(*command, **pipes)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refused_twice)
    running = asyncio.create_task(bench.fleet.run())
    await bench.until("worker-ended", 2)
    lines = bench.said("worker-not-started")
    assert [(line["worker"], line["error"], line["again_in"]) for line in lines] == [
        (1, os.strerror(errno.EAGAIN), 0.1),
        (1, os.strerror(errno.EAGAIN), 0.15),
    ]
    assert not running.done()
    assert {line["worker"] for line in bench.said("worker-ended")} == {1}
    bench.stop.set()
    await running
    assert bench.value("worker_restarts_total") == len(bench.said("worker-ended"))
    assert bench.value("workers_running") == 0


def test_files_that_cannot_be_read_are_a_settings_error_before_any_worker_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    security = {"protocol": "SSL", "ca_file": str(tmp_path / "nowhere.pem")}
    brokers = {"bootstrap_servers": "127.0.0.1:9", "group": "g", "input": "in", "output": "out"}
    config = write_policy(tmp_path, kafka={**brokers, "security": security})
    monkeypatch.setattr(module, "_serve", lambda *_: pytest.fail("it began"))
    with pytest.raises(SettingsError, match=r"^kafka\.security: "):
        module.serve_fleet(config, 2)


@pytest.mark.parametrize(("lasts", "told"), [(600.0, 1), (0.01, 0)], ids=["in force", "over"])
async def test_a_fleet_warns_once_at_its_end_of_a_pause_that_is_in_force(lasts: float, told: int) -> None:
    bench = Bench("import sys; sys.exit(1)")
    bench.orders.pause(lasts)
    running = asyncio.create_task(bench.fleet.run())
    await bench.until("worker-ended", 2)
    assert not bench.said("pause-forgotten"), "the next worker is paused too"
    bench.stop.set()
    await running
    assert len(bench.said("pause-forgotten")) == told


async def test_orders_reach_every_worker_and_a_drain_waits_until_all_have_ended(tmp_path: Path) -> None:
    first = "import sys; lines = [sys.stdin.buffer.readline()]\n"  # before it reports, let alone reads a record
    heed = (
        "while lines[-1] != b'drain\\n': lines.append(sys.stdin.buffer.readline())\n"
        f"open({str(tmp_path)!r} + '/' + sys.argv[-1], 'wb').writelines(lines)\n"
    )
    bench = Bench(first + SAY + heed, workers=2)
    bench.orders.pause()
    running = asyncio.create_task(bench.fleet.run())
    async with asyncio.timeout(20):
        while len(bench.board._reports) < 2:  # noqa: ASYNC110 - other processes decide
            await asyncio.sleep(0.02)
        bench.orders.drain()
        await running
    assert [(tmp_path / number).read_text() for number in ("0", "1")] == [
        "pause inf inf\npause inf inf\ndrain\n"
    ] * 2
    assert not bench.said("worker-ended")
