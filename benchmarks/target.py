"""Measure what a steady stream loses and how long it waits, with `window.target_loss` and without.

    python benchmarks/target.py [--rates 500 5000] [--seconds 60] [--target 0.25] [--max-delay 10]

One worker on a real Kafka, the Adult census at a steady rate; at each rate one run without a target and one with
it. Figures are of the second half of the windows, when sizes are learned: records of a window, loss (GCP) of a
record, and its delay from sending to being visible. `reached` says whether the loss was at most a twentieth above
the target; where it was not, the windows must have closed by their age. The exit code is 1 where neither holds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
import uuid
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from aiokafka import AIOKafkaProducer

from benchmarks.adult import adult_events
from benchmarks.on_kafka import Results, measured_on_kafka, parser_of
from benchmarks.serving import Feeder, Route, Seen, Server, Watcher, adult_settings, delays, quantile
from tests.support.apache_kafka import ApacheKafka

_ABOVE = 1.05  # times the target
_BY_AGE = 0.85  # of max_delay: a window that was open for so long closed by its age
_READY_WITHIN = 600.0  # kernels may have to be compiled


async def measured(
    kafka: ApacheKafka, folder: Path, given: argparse.Namespace, rate: float, target: float | None
) -> dict[str, Any]:
    """Return the figures of one stream."""
    route = Route(kafka, f"target-{uuid.uuid4().hex[:6]}")
    await route.create()
    delay = f"{given.max_delay:g}s"
    config = adult_settings(route, given.data, folder, given.window, delay, target_loss=target)
    server = Server(["-m", "stream_anon.cli.main", "run", "--config", str(config)], folder / f"{route.name}.log")
    producer = AIOKafkaProducer(bootstrap_servers=kafka.address, max_batch_size=256 * 1024)
    watcher = Watcher(route)
    feeder = Feeder(route, adult_events(given.data, min(int(rate * given.seconds), 100_000)), producer)
    try:
        await producer.start()
        await watcher.start()
        await _ready(server)
        cpu, begun = server.cpu, time.monotonic()
        await feeder.feed_for(given.seconds, rate)
        await watcher.wait_for(feeder.sent, [server], given.max_delay + 120.0)
        busy = (server.cpu - cpu) / (time.monotonic() - begun)
        return _figures(feeder, watcher.seen, rate, target, given.max_delay) | {"cpu_share": round(busy, 3)}
    finally:
        server.kill()
        await watcher.stop()
        await producer.stop()


async def _ready(server: Server) -> None:
    deadline = time.monotonic() + _READY_WITHIN
    while '"ready"' not in server.said:
        server.check()
        if time.monotonic() > deadline:
            raise TimeoutError("the worker is not ready")
        await asyncio.sleep(0.1)


def _figures(
    feeder: Feeder, seen: list[Seen], rate: float, target: float | None, max_delay: float
) -> dict[str, Any]:
    """Return what the windows of the second half are like, without the last one, which the end cut off."""
    later = seen[len(seen) // 2 : -1] or seen[-1:]
    records = sum(window.records for window in later)
    loss = sum(window.loss * window.records for window in later) / records
    waited = delays(feeder, later)
    size = records / len(later)
    return {
        "rate": rate,
        "target": target,
        "windows": len(seen),
        "records": round(size),
        "loss": round(loss, 4),
        "delay_p50": round(quantile(waited, 0.5) or 0.0, 2),
        "delay_p99": round(quantile(waited, 0.99) or 0.0, 2),
        "reached": target is None or loss <= _ABOVE * target,
        "by_age": size / rate >= _BY_AGE * max_delay,
    }


async def run(given: argparse.Namespace, folder: Path) -> Results:
    kafka = ApacheKafka(folder / "kafka")
    await asyncio.to_thread(kafka.__enter__)
    results = []
    try:
        for rate in given.rates:
            for target in (None, given.target):
                results.append(await measured(kafka, folder, given, rate, target))
                print(json.dumps(results[-1]), flush=True)
    finally:
        await asyncio.to_thread(kafka.kill)
    return results


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--rates", nargs="+", type=float, default=[500.0, 5000.0], help="records a second")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each stream lasts")
    parser.add_argument("--target", type=float, default=0.25, help="window.target_loss")
    parser.add_argument("--max-delay", type=float, default=10.0, help="window.max_delay in seconds")
    parser.add_argument("--window", type=int, default=1_000_000, help="window.max_records")
    return measured_on_kafka(
        parser,
        run,
        lambda results: all(found["reached"] or found["by_age"] for found in results),
    )


if __name__ == "__main__":
    raise SystemExit(main())
