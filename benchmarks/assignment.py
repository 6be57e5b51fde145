"""Measure what further workers cost in information: one worker, several that pack, several that spread.

    python benchmarks/assignment.py [--rate 500] [--delay 10] [--seconds 120] [--workers 2] [--json FILE]

All read the Adult census at the same rate from one real Kafka, at the same time and the same records at the same
moments. The loss of each is the mean GCP of its windows, weighted by their records, without those at the beginning
and at the end, which the start and the stop of the input cut short. `vs_one` compares it with that of one worker.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from aiokafka import AIOKafkaProducer

from benchmarks.adult import adult_events
from benchmarks.on_kafka import Results, measured_on_kafka, parser_of
from benchmarks.serving import Feeder, Route, Server, Watcher, adult_settings
from tests.support.apache_kafka import ApacheKafka

EVENTS = 100_000
WINDOW = 1_000_000  # windows close by their age
STEP = 0.1  # seconds between two sendings


@dataclass
class Fleet:
    """Workers of one group, what feeds them, and what watches them."""

    name: str
    servers: list[Server]
    feeder: Feeder
    watcher: Watcher

    def figures(self, begun: float, ended: float) -> dict[str, Any]:
        """Return the loss of windows that became visible between two moments, and how large they were."""
        windows = [json.loads(seen.value) for seen in self.watcher.seen if begun < seen.moment < ended]
        sizes = [window["released"] + window["suppressed"] for window in windows]
        records = sum(sizes)
        lost = sum(window["gcp"] * size for window, size in zip(windows, sizes, strict=True) if size)
        return {
            "windows": len(windows),
            "records_a_window": round(records / max(len(windows), 1)),
            "gcp": round(lost / max(records, 1), 5),
        }

    async def end(self) -> None:
        """Kill the processes and disconnect."""
        for server in self.servers:
            server.kill()
        await self.watcher.stop()


async def start(
    name: str, workers: int, assignment: str, kafka: ApacheKafka, given: argparse.Namespace, folder: Path, feed: Any
) -> Fleet:
    route = Route(kafka, f"{name}-{uuid.uuid4().hex[:6]}")
    await route.create()
    config = adult_settings(route, given.data, folder, WINDOW, f"{given.delay:g}s", assignment=assignment)
    command = ["-m", "stream_anon.cli.main", "run", "--config", str(config)]
    servers = [Server(command, folder / f"{route.name}.{n}.log") for n in range(workers)]
    fleet = Fleet(name, servers, Feeder(route, *feed), Watcher(route))
    await fleet.watcher.start()
    deadline = time.monotonic() + 300
    while not all('"ready"' in server.said for server in servers):
        for server in servers:
            server.check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"{name} is not ready")
        await asyncio.sleep(0.2)
    return fleet


async def measure(kafka: ApacheKafka, given: argparse.Namespace, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the figures of each fleet, all fed at once."""
    producer = AIOKafkaProducer(bootstrap_servers=kafka.address)
    await producer.start()
    feed = adult_events(given.data, EVENTS), producer
    kinds = (("one", 1, "packed"), ("packed", given.workers, "packed"), ("spread", given.workers, "spread"))
    fleets: list[Fleet] = []
    try:
        for name, workers, assignment in kinds:
            fleets.append(await start(name, workers, assignment, kafka, given, folder, feed))
        await asyncio.sleep(5.0)  # the last ones have joined, and all have taken over
        begun, due = time.monotonic(), 0
        while (passed := time.monotonic() - begun) < given.seconds:
            count = int(passed * given.rate) - due
            await asyncio.gather(*(fleet.feeder.feed(count) for fleet in fleets))
            due += count
            await asyncio.sleep(STEP)
        ended = time.monotonic()
        # A first window of each worker may hold less, and so may one that closes after the last record.
        return {fleet.name: fleet.figures(begun + 2.5 * given.delay, ended) for fleet in fleets}
    finally:
        for fleet in fleets:
            await fleet.end()
        await producer.stop()


async def run(given: argparse.Namespace, folder: Path) -> Results:
    kafka = ApacheKafka(folder / "kafka")
    await asyncio.to_thread(kafka.__enter__)
    try:
        found = await measure(kafka, given, folder)
    finally:
        await asyncio.to_thread(kafka.kill)
    one = found["one"]["gcp"]
    for figures in found.values():
        figures["vs_one"] = round(figures["gcp"] / one, 4) if one else None
    results = [
        {"system": name, "rate": given.rate, "delay": given.delay, "workers": given.workers, **figures}
        for name, figures in found.items()
    ]
    for figures in results:
        print(json.dumps(figures))
    return results


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--rate", type=float, default=500.0, help="records a second")
    parser.add_argument("--delay", type=float, default=10.0, help="window.max_delay in seconds")
    parser.add_argument("--seconds", type=float, default=120.0, help="how long records are sent")
    parser.add_argument("--workers", type=int, default=2)
    return measured_on_kafka(parser, run)


if __name__ == "__main__":
    raise SystemExit(main())
