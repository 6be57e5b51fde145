"""Measure the running service beside a bare exactly-once pass-through, by turns, on one real broker.

    python benchmarks/throughput.py [--windows 1000 10000 50000] [--workers 1 2] [--repeats 5]
        [--beside faust|returning|families|signatures] [--json FILE]

(a) is benchmarks/pass_through.py, (b) `stream-anon run`; both read the Adult census as JSON. Both run all the time;
for each turn both are stopped by a signal, one is fed, and the records that it publishes after its first window are
counted until its last full one. Prints the ratio b/a (median over the turns), processor seconds for a million
records, the delay at half of the service's throughput and the peak memory. Broker, readers and workers share the
machine's cores. With --beside a third one takes turns, and the ratio c/b is printed: (c) is the service in a Faust
app (extra `faust`), one that counts how often people are released (`privacy.returning`), one that publishes the
occupation as families of three, or one that signs its certificates (extra `sign`). With families the occupation is
sensitive in (b) too, and no quasi-identifier. With signatures the time of one is printed too, of a certificate that
(c) has published: median and quartiles, as of the ratio c/b. Each other turn goes in reverse order.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
import timeit
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from aiokafka import AIOKafkaProducer

from benchmarks.adult import adult_events
from benchmarks.on_kafka import Results, measured_on_kafka, parser_of
from benchmarks.serving import Feeder, Route, Server, Watcher, adult_settings, delays, quantile
from stream_anon.operations.dealt_families import deal
from stream_anon.privacy.signing.signing_key import SigningKey
from tests.support.apache_kafka import ApacheKafka

EVENTS = 200_000
MEASURED = {1_000: 60_000, 10_000: 200_000, 50_000: 500_000}
WARM = 4  # windows before anything is measured: kernels, and the order that the engine learns
HALF_RATE_SECONDS = 4.0
TOGETHER = 0.005  # seconds within which a reader sees all windows of a transaction
FAUST_WINDOWS = 4  # measured in a turn: an app takes a thousand or two records a second
SALARY, OCCUPATION, LEAST = "salary-class", "occupation", 3  # values of a family
SIGNED, SIGNED_TIMES = 500, 9  # signatures that are timed at once, and how often
MODULES = {"faust": "tests.support.faust_app"}


@dataclass
class System:
    """One of those compared, with what feeds and what watches it."""

    name: str
    servers: list[Server]
    feeder: Feeder
    watcher: Watcher
    window: int

    async def measure(self, records: int) -> tuple[float, float]:
        """Return records a second and processor seconds for a million records of one turn."""
        for server in self.servers:
            server.hold()
        await self.feeder.feed(records)
        first = len(self.watcher.seen)
        for server in self.servers:
            server.go_on()
        while len(self.watcher.seen) <= first:  # noqa: ASYNC110 - a moment is enough
            await asyncio.sleep(0.001)
        cpu = sum(server.cpu for server in self.servers)
        known = self.watcher.total
        try:
            await self.watcher.wait_for(self.feeder.sent, self.servers)
        finally:
            spent = sum(server.cpu for server in self.servers) - cpu
        seen = self.watcher.seen[first:]
        last = max(i for i, window in enumerate(seen) if window.records >= self.window)
        # Windows of one transaction become visible at once, so those of the first one are not counted.
        begun = sum(window.moment - seen[0].moment < TOGETHER for window in seen)
        counted = sum(window.records for window in seen[begun : last + 1])
        rate = counted / (seen[last].moment - seen[0].moment)
        return rate, spent / (self.feeder.sent - known) * 1e6

    async def delay(self, rate: float) -> tuple[float | None, float | None]:
        """Return p50 and p99 of the delay at a rate."""
        first = len(self.watcher.seen)
        await self.feeder.feed_for(HALF_RATE_SECONDS, rate)
        await self.watcher.wait_for(self.feeder.sent, self.servers)
        found = delays(self.feeder, self.watcher.seen[first:])
        return quantile(found, 0.5), quantile(found, 0.99)

    async def end(self) -> None:
        """Kill the processes and disconnect."""
        for server in self.servers:
            server.kill()
        await self.watcher.stop()
        await self.feeder.producer.stop()


async def start(  # noqa: PLR0913, PLR0917 - what is measured, and where
    kind: str,
    kafka: ApacheKafka,
    data: Path,
    events: list[bytes],
    window: int,
    workers: int,
    folder: Path,
    sensitive: str,
) -> System:
    route = Route(kafka, f"{kind}-{window}-{workers}-{uuid.uuid4().hex[:6]}")
    await route.create()
    if kind != "pass-through":
        delay = "60s" if kind == "faust" else "2s"  # its windows must close by count too
        # All workers are measured at once, so each must have its share.
        kafka_settings: dict[str, Any] = {"session_timeout": "60s", "assignment": "spread"}
        privacy: dict[str, Any] = {}
        certificates: dict[str, Any] = {}
        if kind == "signatures":
            (folder / "sign.key").write_bytes(SigningKey.drawn())
            certificates = {"sign": {"key_file": "sign.key"}}
        if kind == "returning":
            (folder / "returns.key").write_bytes(b"a secret of a benchmark")
            privacy = {"returning": {"most": 65_535, "period": "366d", "key_file": "returns.key"}}
        if kind == "families":
            dealt = deal(Counter(json.loads(event)[OCCUPATION] for event in events), LEAST)
            families = [list(family) for family in dealt]
            privacy = {"sensitive": {OCCUPATION: {"invariant": LEAST, "families": families}}}
        own: dict[str, Any] = {"privacy": privacy, "sensitive": sensitive, "certificates": certificates}
        config = adult_settings(route, data, folder, window, delay, **own, **kafka_settings)
        command = ["-m", MODULES.get(kind, "stream_anon.cli.main"), "run", "--config", str(config)]
    else:
        command = ["benchmarks/pass_through.py", kafka.address, route.name, str(window)]
    servers = [Server(command, folder / f"{route.name}.{n}.log") for n in range(workers)]
    producer = AIOKafkaProducer(
        bootstrap_servers=kafka.address, max_batch_size=256 * 1024, max_request_size=64 * 1024 * 1024
    )
    await producer.start()
    system = System(kind, servers, Feeder(route, events, producer), Watcher(route), window)
    await system.watcher.start()
    try:
        await _warm(system, window * workers)
    except BaseException:
        await system.end()
        raise
    return system


def signature_figures(system: System) -> dict[str, Any]:
    """Return what the signature of a certificate takes, in microseconds, and the certificate's bytes.

    Raises
    ------
    RuntimeError
        If the system did not sign all that it published.
    """
    seen = system.watcher.seen
    if system.watcher.signed != len(seen):
        raise RuntimeError(f"{system.watcher.signed} of {len(seen)} windows were signed")
    key, certificate = SigningKey(SigningKey.drawn()), seen[-1].value
    seconds = [timeit.timeit(lambda: key.sign(certificate), number=SIGNED) / SIGNED for _ in range(SIGNED_TIMES)]
    return {"signature_us": quartiles([one * 1e6 for one in seconds], 1), "certificate_bytes": len(certificate)}


def quartiles(figures: Sequence[float], digits: int = 3) -> list[float]:
    """Return the median between its quartiles; of one figure three times that."""
    found = statistics.quantiles(figures, n=4) if len(figures) > 1 else [*figures] * 3
    return [round(one, digits) for one in found]


async def _warm(system: System, records: int) -> None:
    """Wait until all are ready, and let each see some windows."""
    ready = '"event":"ready"', '"event": "ready"', "ready\n"
    deadline = time.monotonic() + 240
    while not all(any(word in server.said for word in ready) for server in system.servers):
        for server in system.servers:
            server.check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"{system.name} is not ready: {system.servers[0].said[-1000:]}")
        await asyncio.sleep(0.1)
    await asyncio.sleep(2.0)  # with two, the second one's join makes both take over
    await system.feeder.feed(WARM * records)
    await system.watcher.wait_for(system.feeder.sent, system.servers)


async def compare(
    kafka: ApacheKafka,
    data: Path,
    events: list[bytes],
    window: int,
    workers: int,
    given: argparse.Namespace,
    folder: Path,
) -> dict[str, Any]:
    """Measure all systems by turns."""
    both: list[System] = []
    kinds = ("pass-through", "service", *([given.beside] if given.beside else []))
    sensitive = OCCUPATION if given.beside == "families" else SALARY
    rates: dict[str, list[float]] = {kind: [] for kind in kinds}
    cpu: dict[str, list[float]] = {kind: [] for kind in kinds}
    try:
        for kind in rates:
            both.append(await start(kind, kafka, data, events, window, workers, folder, sensitive))
            for server in both[-1].servers:
                server.hold()
        count = MEASURED.get(window, 10 * window) // window // workers * window * workers
        for turn in range(given.repeats):
            for system in both[:: -1 if turn % 2 else 1]:
                fewer = system.name == "faust"
                rate, seconds = await system.measure(min(count, FAUST_WINDOWS * window) if fewer else count)
                for server in system.servers:
                    server.hold()
                rates[system.name].append(rate)
                cpu[system.name].append(seconds)
        half = statistics.median(rates["service"]) / 2
        late = {}
        for system in both:
            if system.name == "faust":
                continue  # the rate is more than it takes
            for server in system.servers:
                server.go_on()
            late[system.name] = await system.delay(half)
            for server in system.servers:
                server.hold()
        peak = {system.name: round(max(server.peak for server in system.servers)) for system in both}
    finally:
        for system in both:
            await system.end()
    signatures = signature_figures(both[-1]) if given.beside == "signatures" else {}
    ratios = [b / a for a, b in zip(rates["pass-through"], rates["service"], strict=True)]
    third = rates.get(given.beside, [])
    beside = [c / b for b, c in zip(rates["service"], third, strict=True)] if third else []
    return {
        "window": window,
        "workers": workers,
        "ratio": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
        **({f"{given.beside}_ratio": quartiles(beside)} if beside else {}),
        **({f"{given.beside}_ratios": [round(ratio, 3) for ratio in beside]} if beside else {}),
        **signatures,
        "records_per_second": {name: round(statistics.median(found)) for name, found in rates.items()},
        "cpu_seconds_per_million": {name: round(statistics.median(found), 2) for name, found in cpu.items()},
        "delay_at_half_p50": {name: found[0] and round(found[0], 3) for name, found in late.items()},
        "delay_at_half_p99": {name: found[1] and round(found[1], 3) for name, found in late.items()},
        "peak_rss_mib": peak,
    }


async def run(given: argparse.Namespace, folder: Path) -> Results:
    events = adult_events(given.data, EVENTS)
    kafka = ApacheKafka(folder / "kafka")
    await asyncio.to_thread(kafka.__enter__)
    results = []
    try:
        for window in given.windows:
            for workers in given.workers:
                found = await compare(kafka, given.data, events, window, workers, given, folder)
                results.append(found)
                print(json.dumps(found), flush=True)
    finally:
        await asyncio.to_thread(kafka.kill)
    return results


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--windows", type=int, nargs="+", default=[1_000, 10_000, 50_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--beside",
        choices=("faust", "returning", "families", "signatures"),
        help="what takes turns with the service",
    )
    return measured_on_kafka(parser, run)


if __name__ == "__main__":
    raise SystemExit(main())
