"""Measure how soon after a fault the delay is bounded again, at half of the service's throughput.

    python benchmarks/delay.py [--rate N] [--seconds D] [--assignment packed|spread] [--json FILE]

Two workers on a real Kafka, the Adult census at a steady rate, one fault after the other. A record's delay runs
from its sending to its window being visible. `recovered_after` counts from the end of a fault (a worker's death,
where one is killed) to the last moment at which a window with a delay of `max_delay` + 5 s or more became visible;
`first_window_after` to the first window of any worker. Between the two lies catching up with what was sent
meanwhile. The exit code is 1 where the former is longer than 10 s, or 20 s after a crash. With `packed` one worker
reads and the other stands by; faults of a worker are then those of the one that reads.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from aiokafka import AIOKafkaProducer

from benchmarks.adult import adult_events
from benchmarks.on_kafka import Results, measured_on_kafka, parser_of
from benchmarks.serving import Feeder, Route, Server, Watcher, adult_settings, delays, quantile
from tests.support.ports import free_port
from tests.support.storm.broker import KafkaBehindLines
from tests.support.storm.line import Line

MAX_DELAY = 2.0
SLACK = 5.0
ALLOWED = 10.0
ALLOWED_AFTER_CRASH = 20.0
FAULTS = (
    "line-held",
    "worker-stopped",
    "broker-stopped",
    "broker-killed",
    "worker-killed",
    "killed-in-transaction",
)
CRASHES = ("worker-killed", "killed-in-transaction")
_QUIET = 4.0  # seconds before each fault
_WATCHED = 30.0  # seconds after its end


@dataclass
class Scene:
    """Two workers behind a line each, what feeds them, and what watches them."""

    folder: Path
    data: Path
    window: int
    kafka: KafkaBehindLines
    lines: Sequence[Line]
    route: Route
    feeder: Feeder
    watcher: Watcher
    packed: bool = False
    servers: list[Server] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)  # of servers among the lines

    async def add_worker(self, place: int, fault: str = "") -> Server:
        """Start a worker behind one of the lines and wait until it is ready."""
        config = adult_settings(
            self.route,
            self.data,
            self.folder,
            self.window,
            bootstrap_servers=self.lines[place].address,
            fault=fault,
            assignment="packed" if self.packed else "spread",
        )
        server = Server(
            ["-m", "stream_anon.cli.main", "run", "--config", str(config)],
            self.folder / f"worker-{time.monotonic_ns()}.log",
        )
        self.servers.append(server)
        self.places[id(server)] = place
        deadline = time.monotonic() + 240
        while '"ready"' not in server.said:
            server.check()
            if time.monotonic() > deadline:
                raise TimeoutError("a worker is not ready")
            await asyncio.sleep(0.1)
        return server

    async def throughput(self) -> float:
        """Return records a second of both workers together."""
        await self.feeder.feed(6 * self.window)
        await self.watcher.wait_for(self.feeder.sent, self.servers)
        for server in self.servers:
            server.hold()
        await self.feeder.feed(20 * self.window)
        known, begun = self.watcher.total, time.monotonic()
        for server in self.servers:
            server.go_on()
        await self.watcher.wait_for(known + 18 * self.window, self.servers)
        rate = (self.watcher.total - known) / (time.monotonic() - begun)
        await self.watcher.wait_for(self.feeder.sent, self.servers)
        return rate

    async def stop(self) -> None:
        """End all of it."""
        for server in self.servers:
            server.kill()
        await self.watcher.stop()
        await self.feeder.producer.stop()
        await asyncio.to_thread(self.kafka.kill)
        for line in self.lines:
            await line.stop()

    def reading(self) -> int:
        """Return the place of a worker that has partitions among the servers."""
        told = [re.findall(r'"owned": ?(\d+)', server.said) for server in self.servers]
        return next(number for number, owned in enumerate(told) if owned and owned[-1] != "0")


async def open_scene(folder: Path, data: Path, window: int, count: int, *, packed: bool = False) -> Scene:
    """Start lines, broker and two workers; `count` different events."""
    lines = [Line(free_port()) for _ in range(2)]
    for line in lines:
        await line.start()
    kafka = KafkaBehindLines(folder / "kafka", lines)
    await asyncio.to_thread(kafka.__enter__)
    route = Route(kafka, f"delay-{uuid.uuid4().hex[:6]}")
    await route.create()
    producer = AIOKafkaProducer(
        bootstrap_servers=kafka.address,
        max_batch_size=256 * 1024,
        max_request_size=64 * 1024 * 1024,
        retry_backoff_ms=50,
    )
    await producer.start()
    events = adult_events(data, count)
    feeder, watcher = Feeder(route, events, producer), Watcher(route)
    scene = Scene(folder, data, window, kafka, lines, route, feeder, watcher, packed)
    try:
        await scene.watcher.start()
        for place in range(2):
            await scene.add_worker(place)
    except BaseException:
        await scene.stop()
        raise
    return scene


async def observe(scene: Scene, fault: str, rate: float, seconds: float) -> dict[str, Any]:
    """Return what one fault does to the delay.

    Parameters
    ----------
    seconds
        How long it lasts, where it is no crash.
    """
    allowed = ALLOWED_AFTER_CRASH if fault in CRASHES else ALLOWED
    feeding = asyncio.create_task(scene.feeder.feed_for(3600.0, rate))
    try:
        await asyncio.sleep(_QUIET)
        first = len(scene.watcher.seen)
        begun = time.monotonic()
        ended = await _break(scene, fault, seconds)
        await asyncio.sleep(max(ended + _WATCHED - time.monotonic(), 0.0))
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
    after = next((seen.moment for seen in scene.watcher.seen[first:] if seen.moment > ended), None)
    late = begun
    worst = 0.0
    for window in scene.watcher.seen[first:]:
        longest = quantile(delays(scene.feeder, [window]), 1.0) or 0.0
        worst = max(worst, longest)
        if longest >= MAX_DELAY + SLACK:
            late = window.moment
    found = delays(
        scene.feeder, [window for window in scene.watcher.seen[first:] if window.moment > ended + allowed]
    )
    return {
        "fault": fault,
        "seconds": round(ended - begun, 1),
        "rate": round(rate),
        "first_window_after": after and round(after - ended, 1),
        "recovered_after": round(max(late - ended, 0.0), 1),
        "allowed": allowed,
        "worst_delay": round(worst, 2),
        "p99_afterwards": round(quantile(found, 0.99) or float("nan"), 2),
    }


async def _break(scene: Scene, fault: str, seconds: float) -> float:
    """Break something, mend it, and return when that was."""
    hit = scene.reading()
    if fault == "line-held":
        line = scene.lines[scene.places[id(scene.servers[hit])]]
        line.hold()
        await asyncio.sleep(seconds)
        line.heal()
    elif fault == "worker-stopped":
        scene.servers[hit].hold()
        await asyncio.sleep(seconds)
        scene.servers[hit].go_on()
    elif fault in {"broker-stopped", "broker-killed"}:
        await asyncio.to_thread(scene.kafka.stop if fault == "broker-stopped" else scene.kafka.kill)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(scene.kafka.start)
    elif fault == "worker-killed":
        scene.servers.pop(hit).kill()
    else:
        victim = await scene.add_worker(0, "closing.9:kill@3")
        while victim.running:  # noqa: ASYNC110 - a process
            await asyncio.sleep(0.02)
        scene.servers.remove(victim)
    return time.monotonic()


async def run(given: argparse.Namespace, folder: Path) -> Results:
    packed = given.assignment == "packed"
    if packed and "killed-in-transaction" in given.faults:
        given.faults.remove("killed-in-transaction")  # a worker that joins stands by and closes no window
    scene = await open_scene(folder, given.data, given.window, 100_000, packed=packed)
    results = []
    try:
        rate = given.rate or await scene.throughput() / 2
        for fault in given.faults:
            while len(scene.servers) < 2:
                await scene.add_worker(0)
                await asyncio.sleep(3.0)
            results.append(await observe(scene, fault, rate, given.seconds))
            print(json.dumps(results[-1]), flush=True)
            await scene.watcher.wait_for(scene.watcher.total, scene.servers)
    finally:
        await scene.stop()
    return results


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--window", type=int, default=10_000)
    parser.add_argument("--rate", type=float, help="records a second; by default half of what is measured first")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long a fault lasts")
    parser.add_argument("--assignment", choices=("packed", "spread"), default="spread", help="kafka.assignment")
    return measured_on_kafka(
        parser,
        run,
        lambda results: all(found["recovered_after"] <= found["allowed"] for found in results),
    )


if __name__ == "__main__":
    raise SystemExit(main())
