"""What benchmarks of the running service share: processes, events, and a reader that sees what comes out."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from benchmarks.adult import CATEGORIES
from stream_anon.ports.publication import SIGNATURE
from tests.support.apache_kafka import ApacheKafka

ROOT = Path(__file__).resolve().parents[1]
PARTITIONS = 4
_TICKS = os.sysconf("SC_CLK_TCK")
_IN = re.compile(rb'"in":(\d+)')


@dataclass(frozen=True)
class Route:
    """The topics of one system under test."""

    kafka: ApacheKafka
    name: str

    @property
    def output(self) -> str:
        """Return the topic of released records."""
        return f"{self.name}.out"

    @property
    def certificates(self) -> str:
        """Return the topic of certificates."""
        return f"{self.output}.certificates"

    async def create(self) -> None:
        """Create all topics."""
        for topic, partitions in (
            (self.name, PARTITIONS),
            (self.output, PARTITIONS),
            (self.certificates, 1),
            (f"{self.output}.dead-letters", 1),
        ):
            await self.kafka.create_topic(topic, partitions)


def adult_settings(  # noqa: PLR0913, PLR0917 - sections and keys of a settings file
    route: Route,
    data: Path,
    folder: Path,
    window: int | str,
    max_delay: str = "2s",
    target_loss: float | None = None,
    privacy: dict[str, Any] | None = None,
    sensitive: str = "salary-class",
    certificates: dict[str, Any] | None = None,
    **kafka: Any,
) -> Path:
    """Write a settings file with the policy of `benchmarks.adult` and return it.

    Another `sensitive` field is none of the quasi-identifiers then, and the salary class is not published.
    """
    attributes: dict[str, Any] = {
        "person_id": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "numeric": {"min": 17, "max": 90, "publish": "tight"}},
    }
    for name in (name for name in CATEGORIES if name != sensitive):
        table = str(data.resolve() / "hierarchies" / f"adult_hierarchy_{name}.csv")
        attributes[name] = {"role": "quasi-identifier", "hierarchy": table}
    attributes[sensitive] = {"role": "sensitive"}
    document = {
        "kafka": {
            "bootstrap_servers": route.kafka.address,
            "group": route.name,
            "input": route.name,
            "output": route.output,
            "development": True,
            **kafka,
        },
        "privacy": {"k": 10, "individual": "person_id", **(privacy or {})},
        "window": {"max_records": window, "max_delay": max_delay, "target_loss": target_loss},
        "attributes": attributes,
        "certificates": certificates or {},
        "http": {"port": 0, "admin_port": 0},
        "logs": {"format": "json", "level": "info"},
    }
    path = folder / f"{route.name}.{len(list(folder.iterdir()))}.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


class Server:
    """A process that is measured from outside."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                [sys.executable, *command],
                stdout=file,
                stderr=file,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        self._log = log

    def check(self) -> None:
        """Raise RuntimeError if the process has ended."""
        if self._process.poll() is not None:
            raise RuntimeError(f"a process ended: {self._log.read_text()[-2000:]}")

    @property
    def running(self) -> bool:
        """Return whether it has not ended."""
        return self._process.poll() is None

    @property
    def said(self) -> str:
        """Return what it has written."""
        return self._log.read_text()

    @property
    def cpu(self) -> float:
        """Return the seconds of processor that it has used."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    @property
    def peak(self) -> float:
        """Return the most memory that it had, in MiB."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))

    def hold(self) -> None:
        """Stop it by a signal."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(10)


@dataclass
class Feeder:
    """Sends events in batches and remembers when which offset was sent."""

    route: Route
    events: Sequence[bytes]
    producer: AIOKafkaProducer
    sent: int = 0
    pieces: list[tuple[int, int, int, float]] = field(default_factory=list)  # partition, first, end, moment

    async def feed(self, count: int) -> None:
        """Send so many events, evenly to all partitions."""
        moment = time.monotonic()
        per = -(-count // PARTITIONS)
        waiting = []
        for partition in range(PARTITIONS):
            batch, held = self.producer.create_batch(), 0
            for number in range(self.sent + partition * per, self.sent + min((partition + 1) * per, count)):
                value = self.events[number % len(self.events)]
                if batch.append(key=None, value=value, timestamp=None) is None:
                    waiting.append((partition, held, await self._send(batch, partition)))
                    batch, held = self.producer.create_batch(), 0
                    batch.append(key=None, value=value, timestamp=None)
                held += 1
            if held:
                waiting.append((partition, held, await self._send(batch, partition)))
        for partition, held, future in waiting:
            offset = (await future).offset
            self.pieces.append((partition, offset, offset + held, moment))
        self.sent += count

    async def _send(self, batch: Any, partition: int) -> Any:
        return await self.producer.send_batch(batch, self.route.name, partition=partition)

    async def feed_for(self, seconds: float, rate: float) -> None:
        """Send `rate` events a second."""
        begun, due = time.monotonic(), 0
        while (passed := time.monotonic() - begun) < seconds:
            count = int(passed * rate) - due
            if count >= PARTITIONS:
                await self.feed(count)
                due += count
            await asyncio.sleep(0.02)


@dataclass
class Seen:
    """A window that has become visible."""

    moment: float
    records: int
    value: bytes

    @property
    def loss(self) -> float:
        """Return its GCP; a window without one counts 1."""
        found = json.loads(self.value)["gcp"]
        return 1.0 if found is None else float(found)

    def inputs(self) -> list[tuple[int, int, int]]:
        """Return partition, start and end of its ranges."""
        return [(part["partition"], part["start"], part["end"]) for part in json.loads(self.value)["inputs"]]


class Watcher:
    """Reads certificates as a reader of committed records does, and notes when they came."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self.seen: list[Seen] = []
        self.total = self.signed = 0

    async def start(self) -> None:
        """Connect and begin to read."""
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=self._route.kafka.address,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=50,
        )
        await self._consumer.start()
        self._consumer.assign([TopicPartition(self._route.certificates, 0)])
        self._task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        while True:
            for records in (await self._consumer.getmany(timeout_ms=50)).values():
                for record in records:
                    if b'"part":1,' in record.value[:300] and b'"batch":' in record.value[:100]:
                        found = _IN.search(record.value)
                        assert found is not None
                        self.total += int(found[1])
                        self.signed += SIGNATURE in dict(record.headers)
                        self.seen.append(Seen(time.monotonic(), int(found[1]), record.value))

    async def wait_for(self, total: int, servers: Sequence[Server], within: float = 120.0) -> None:
        """Wait until windows of so many records in all were seen."""
        deadline = time.monotonic() + within
        while self.total < total:
            for server in servers:
                server.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.total} of {total} records came out in {within:g} s")
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        """Disconnect."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._consumer.stop()


def delays(feeder: Feeder, seen: Sequence[Seen]) -> list[tuple[float, int]]:
    """Return delays from sending to being visible, each with its number of records."""
    found = []
    for window in seen:
        for partition, start, end in window.inputs():
            for held, first, last, moment in feeder.pieces:
                shared = min(end, last) - max(start, first)
                if held == partition and shared > 0:
                    found.append((window.moment - moment, shared))
    return found


def quantile(found: Sequence[tuple[float, int]], part: float) -> float | None:
    """Return the delay that so large a part of all records does not exceed."""
    wanted = part * sum(count for _, count in found)
    for delay, count in sorted(found):
        wanted -= count
        if wanted <= 0:
            return delay
    return None
