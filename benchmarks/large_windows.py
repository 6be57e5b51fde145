"""Large windows on a real broker: how fast, how much memory, and how long a close and a transaction take.

    python benchmarks/large_windows.py [--windows 100000 300000 1000000 auto] [--count 3] [--json FILE]

A worker reads a backlog of so many windows of the Adult census (JSON, 270 bytes a record); for `auto`, where only
memory, time and a delay of 20 s close a window, that of the largest number. Printed for each: records a second from
the first window to the last, the peak of the resident memory, the longest close and the longest transaction, the
bounds that the worker learned, and the loss. Broker and worker share the machine's cores.
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
from benchmarks.serving import Feeder, Route, Server, Watcher, adult_settings
from tests.support.apache_kafka import ApacheKafka

EVENTS = 200_000
DELAY = "10m"  # windows close because they are full
PIECE = 50_000  # records that are fed at once


def lines_of(said: str, event: str) -> list[dict[str, Any]]:
    """Return the log lines of one kind."""
    found = (json.loads(line) for line in said.splitlines() if line.startswith("{"))
    return [line for line in found if line.get("event") == event]


async def measure(kafka: ApacheKafka, data: Path, window: int | str, records: int, folder: Path) -> dict[str, Any]:
    """Let one worker read a backlog of so many records."""
    route = Route(kafka, f"large-{window}-{uuid.uuid4().hex[:6]}")
    await route.create()
    delay = DELAY if isinstance(window, int) else "20s"
    config = adult_settings(route, data, folder, window, delay, session_timeout="60s")
    producer = AIOKafkaProducer(
        bootstrap_servers=kafka.address, max_batch_size=256 * 1024, max_request_size=64 * 1024 * 1024
    )
    await producer.start()
    feeder, watcher = Feeder(route, adult_events(data, EVENTS), producer), Watcher(route)
    await watcher.start()
    for first in range(0, records, PIECE):
        await feeder.feed(min(PIECE, records - first))
    server = Server(["-m", "stream_anon.cli.main", "run", "--config", str(config)], folder / f"{route.name}.log")
    try:
        await watcher.wait_for(records, [server], within=900)
        seen, peak, cpu = watcher.seen, server.peak, server.cpu
        await asyncio.sleep(1.0)  # until the last window is logged
        windows = lines_of(server.said, "window-published")
    finally:
        server.kill()
        await watcher.stop()
        await producer.stop()
    seconds = seen[-1].moment - seen[0].moment
    return {
        "window": window,
        "windows": len(seen),
        "largest": max(one.records for one in seen),
        "records_per_second": round(sum(one.records for one in seen[1:]) / seconds) if seconds else None,
        "cpu_microseconds_per_record": round(1e6 * cpu / records, 2),
        "peak_rss_mib": round(peak),
        "longest_close": round(max(one["close_seconds"] for one in windows), 2),
        "longest_transaction": round(max(one["publish_seconds"] for one in windows), 2),
        "loss": round(windows[-1]["loss"], 4),
        "bounds": [[one["records"], one["reason"]] for one in lines_of(server.said, "windows-smaller")],
    }


async def run(given: argparse.Namespace, folder: Path) -> Results:
    kafka = ApacheKafka(folder / "kafka")
    await asyncio.to_thread(kafka.__enter__)
    largest = max([window for window in given.windows if isinstance(window, int)], default=1_000_000)
    results = []
    try:
        for window in given.windows:
            records = given.count * (window if isinstance(window, int) else largest)
            begun = time.monotonic()
            results.append(await measure(kafka, given.data, window, records, folder))
            print(json.dumps({**results[-1], "seconds_in_all": round(time.monotonic() - begun)}), flush=True)
    finally:
        await asyncio.to_thread(kafka.kill)
    return results


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--windows",
        type=lambda text: text if text == "auto" else int(text),
        nargs="+",
        default=[100_000, 300_000, 1_000_000, "auto"],
    )
    parser.add_argument("--count", type=int, default=3, help="windows of each size")
    return measured_on_kafka(parser, run)


if __name__ == "__main__":
    raise SystemExit(main())
