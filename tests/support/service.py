"""Workers as real processes, made-up records for them, and what must hold of what they publish."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import yaml
from aiokafka import AIOKafkaProducer

from stream_anon.service.wiring.clients import formats_of
from stream_anon.service.wiring.warming import warm_up
from stream_anon.settings.loading import kafka_of, load_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.apache_kafka import ApacheKafka

K = 5
PARTITIONS = 4
AT_THE_LATEST = 120.0  # seconds that anything may need on a machine that does much else
CITIES = ("Aachen", "Bonn", "Calw", "Dessau", "Essen", "Fulda", "Gera", "Halle")


@dataclass(frozen=True)
class Stage:
    """Topics and settings of one test."""

    kafka: ApacheKafka
    name: str
    folder: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    decode: Callable[[bytes], Any] = json.loads  # a released record
    encode: Callable[[bytes], bytes] = bytes  # a JSON record, as it stands in the input
    decode_input: Callable[[bytes], Any] = json.loads

    @property
    def output(self) -> str:
        return f"{self.name}.out"

    async def create_topics(self, **more: str) -> None:
        await self.kafka.create_topic(self.name, PARTITIONS, **more)
        await self.create_outputs(**more)

    async def create_outputs(self, **more: str) -> None:
        for topic, partitions in (
            (self.output, 3),
            (f"{self.output}.certificates", 2),
            (f"{self.output}.dead-letters", 1),
        ):
            await self.kafka.create_topic(topic, partitions, **more)

    def config(self, **overrides: Any) -> Path:
        """Write a settings file and return it."""
        kafka = {
            "bootstrap_servers": self.kafka.address,
            "group": self.name,
            "input": self.name,
            "output": self.output,
            "development": True,
            "session_timeout": "2s",
            "transaction_timeout": "4s",
        }
        window = {"max_records": 200, "max_delay": "1s"}
        attributes = {
            "person": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
            "city": {"role": "quasi-identifier", "values": list(CITIES)},
            # Tells each record apart, so that a test sees every one arrive once.
            "serial": {"role": "insensitive", "type": "integer", "accept_linkable": True},
        }
        given = {**self.settings, **overrides}
        document = {
            "kafka": {**kafka, **self.settings.get("kafka", {}), **given.get("kafka", {})},
            "privacy": {
                "k": K,
                "individual": "person",
                **self.settings.get("privacy", {}),
                **given.get("privacy", {}),
            },
            "window": {**window, **given.get("window", {})},
            **{
                section: given[section]
                for section in ("engine", "output", "certificates", "release")
                if section in given
            },
            "attributes": {
                name: {**attributes.get(name, {}), **given.get("attributes", {}).get(name, {})}
                for name in {**attributes, **given.get("attributes", {})}
            },
            "http": given.get("http", {"port": 0, "admin_port": 0}),
            "logs": {"format": "json", "level": "debug"},
        }
        path = self.folder / f"{self.name}.{len(list(self.folder.iterdir()))}.yaml"
        path.write_text(yaml.safe_dump(document))
        return path


_compiled: set[tuple[str, str]] = set()


def compile_once(config: Path) -> None:
    """Fill the cache of compiled kernels, or the first worker of a fresh machine spends its time on that."""
    settings = load_settings(config)
    formats = formats_of(kafka_of(settings))
    if (formats.input, formats.output) not in _compiled:
        warm_up(build_policy(settings, config), formats)
        _compiled.add((formats.input, formats.output))


class WorkerProcess:
    """`stream-anon run` in a process of its own; its log lines are read from a file.

    Parameters
    ----------
    workers
        How many of them it runs as one service.
    module
        What is run instead of the command line.
    options
        More of the command `run`.
    """

    def __init__(
        self,
        config: Path,
        environment: Mapping[str, str] | None = None,
        workers: int = 1,
        module: str = "stream_anon.cli.main",
        options: Sequence[str] = (),
    ) -> None:
        compile_once(config)
        self._log = config.with_suffix(f".{time.monotonic_ns()}.log")
        self._read = 0  # bytes of the log whose lines are in `_lines`
        self._lines: list[dict[str, Any]] = []
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", module, "run", "--config", str(config)),
                    *([] if workers == 1 else ["--workers", str(workers)]),
                    *options,
                ],
                stdout=log,
                stderr=log,
                env={**os.environ, **(environment or {})},
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.kill()
        if kind is not None:
            print(self._log.read_text()[-8000:], file=sys.stderr)  # noqa: T201 - of made-up records only

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Return the log lines so far; whoever waits for one asks often, so each is parsed once."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                if line.startswith(b"{") and line.endswith(b"}\n"):
                    self._lines.append(json.loads(line))
        return list(self._lines)

    def said(self, event: str) -> list[dict[str, Any]]:
        """Return the lines of one event."""
        return [line for line in self.lines if line.get("event") == event]

    @property
    def text(self) -> str:
        return self._log.read_text()

    async def wait_for(self, event: str, within: float = AT_THE_LATEST, times: int = 1) -> dict[str, Any]:
        """Return the line of an event as soon as it is there."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            found = self.said(event)
            if len(found) >= times:
                return found[times - 1]
            if self._process.poll() is not None:
                break
            await asyncio.sleep(0.05)
        said = [{k: line[k] for k in ("event", "error") if k in line} for line in self.lines[-8:]]
        raise AssertionError(f"no {event!r} in {within:g} s; rc {self._process.poll()}; last said: {said}")

    def get(self, page: str, port: str = "public") -> tuple[int, str]:
        """Return status and body of a page."""
        address = self.said("serving")[0][port]
        try:
            with urllib.request.urlopen(f"http://{address}{page}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        return self._process.poll()

    async def ended(self, within: float) -> int:
        """Return its exit code; fail if it still runs after `within` seconds."""
        return await asyncio.to_thread(self._process.wait, within)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(10)


async def command(
    name: str, config: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> tuple[int | None, str]:
    """Run a command of `stream-anon` on a settings file; return its exit code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "stream_anon.cli.main", name, "--config", str(config), *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"COLUMNS": "200", "PYTHONPATH": ":".join(sys.path), **(environment or {})},
    )
    text, _ = await asyncio.wait_for(process.communicate(), AT_THE_LATEST)
    return process.returncode, text.decode()


def make_records(count: int, seed: int, first: int = 0) -> list[bytes]:
    """Return records of made-up people, with serial numbers from `first` on."""
    draws = np.random.default_rng(seed)
    people = draws.integers(0, max(count, 1000), count).tolist()
    ages = draws.integers(0, 100, count).tolist()
    cities = draws.integers(0, len(CITIES), count).tolist()
    return [
        json.dumps({"person": people[i], "age": ages[i], "city": CITIES[cities[i]], "serial": first + i}).encode()
        for i in range(count)
    ]


async def produce(
    stage: Stage,
    values: Iterable[bytes],
    *,
    rate: float | None = None,
    seed: int = 0,
    idempotent: bool = True,
    topic: str | None = None,
    partitions: int = PARTITIONS,
) -> None:
    """Send records to partitions of the input, drawn by `seed`; `rate` records a second if given."""
    draws = np.random.default_rng(seed)
    async with AIOKafkaProducer(
        bootstrap_servers=stage.kafka.address, acks="all", enable_idempotence=idempotent
    ) as producer:
        values = list(values)
        piece = max(int(rate / 20), 1) if rate else len(values)
        for begin in range(0, len(values), max(piece, 1)):
            futures = [
                await producer.send(topic or stage.name, value, partition=int(draws.integers(0, partitions)))
                for value in values[begin : begin + piece]
            ]
            await asyncio.gather(*futures)
            if rate:
                await asyncio.sleep(0.05)


@dataclass
class Published:
    """Everything on a stage that a reader of committed records can see."""

    records: list[tuple[str, dict[str, Any]]]  # batch, record
    certificates: list[dict[str, Any]]
    dead_letters: list[dict[str, Any]]

    @property
    def serials(self) -> Counter[int]:
        return Counter(record["serial"] for _, record in self.records)

    @property
    def accounted(self) -> int:
        """Return the records that certificates speak of."""
        return _accounted_by(self.certificates)


def _accounted_by(certificates: Iterable[Mapping[str, Any]]) -> int:
    """Return the records that certificates speak of."""
    return sum(c["in"] for c in certificates if c["part"] == 1)


async def _certificates(stage: Stage) -> list[dict[str, Any]]:
    records = await stage.kafka.read_to_end(f"{stage.output}.certificates")
    return [json.loads(record.value) for record in records if "batch" in dict(record.headers)]


async def read_published(stage: Stage) -> Published:
    """Read the three output topics to their ends, certificates first: what they speak of is then there."""
    certificates = await _certificates(stage)
    output = await stage.kafka.read_to_end(stage.output)
    dead_letters = await stage.kafka.read_to_end(f"{stage.output}.dead-letters")
    for record in output:
        assert record.key is None
        assert [name for name, _ in record.headers] == ["batch"]
        assert record.timestamp % 1000 == 0
    return Published(
        [(record.headers[0][1].decode(), stage.decode(record.value)) for record in output],
        certificates,
        [json.loads(record.value) for record in dead_letters],
    )


async def wait_until_accounted(stage: Stage, count: int, within: float = AT_THE_LATEST) -> Published:
    """Read until certificates speak of `count` records; more than that is an error."""
    deadline = time.monotonic() + within
    while _accounted_by(await _certificates(stage)) < count and time.monotonic() < deadline:  # noqa: ASYNC110 - brokers
        await asyncio.sleep(0.3)
    published = await read_published(stage)
    assert published.accounted == count, f"{published.accounted} of {count} records accounted for"
    return published


def check_published(published: Published, sent: int) -> None:
    """Check all that must hold: every record at most once, in a class of k, ranges that join, sums that agree."""
    twice = [serial for serial, times in published.serials.items() if times > 1]
    assert not twice, f"{len(twice)} records were released twice"
    suppressed = sum(c["suppressed"] for c in published.certificates if c["part"] == 1)
    rejected = sum(c["rejected"] for c in published.certificates if c["part"] == 1)
    assert len(published.records) + suppressed + rejected == sent
    assert len(published.dead_letters) == rejected
    assert published.serials.keys() <= set(range(sent))
    _check_classes(published)
    _check_ranges(published.certificates)


def _check_classes(published: Published) -> None:
    sizes: Counter[tuple[str, str]] = Counter()
    for batch, record in published.records:
        fields = record.keys() - {"illness"}  # only where a test has one
        assert fields == {"age", "city", "serial"}, "a field that must not be published, or one too few"
        sizes[batch, json.dumps([record["age"], record["city"]])] += 1
    assert not [size for size in sizes.values() if size < K], "a class below k"
    released = {c["batch"]: c["released"] for c in published.certificates if c["part"] == 1}
    per_batch: Counter[str] = Counter(batch for batch, _ in published.records)
    assert {batch: count for batch, count in released.items() if count} == dict(per_batch)


def _check_ranges(certificates: Iterable[Mapping[str, Any]]) -> None:
    ranges: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for certificate in certificates:
        for part in certificate["inputs"]:
            ranges[part["topic"], part["partition"]].append((part["start"], part["end"]))
    for partition, parts in ranges.items():
        parts.sort()
        joins = all(left[1] == right[0] for left, right in pairwise(parts))
        assert joins, f"the ranges of {partition} do not join: {parts}"
