"""Start and stop a real Apache Kafka: one KRaft node on free loopback ports, its data in a folder of its own."""

from __future__ import annotations

import asyncio
import fcntl
import socket
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Self

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.admin import NewTopic
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError

from stream_anon.adapters.kafka.client.connection import Connection
from tests.support.java import LOGGING, QUICK, Jars, JavaProcess, write_properties
from tests.support.plain_kafka import admin_of
from tests.support.ports import free_port

JARS = Jars("a real Kafka", Path(__file__).parent, "kafka_2.13")
missing_parts = JARS.missing_parts
_UP_WITHIN = 120.0
_CLASSES = Path(__file__).parent / "libs" / "classes.jsa"


class ApacheKafka:
    """One broker and controller in one process, stopped by its own process id.

    Parameters
    ----------
    folder
        Where its data, configuration and log live.
    properties
        Further lines of server.properties; they win.
    format_options
        Further options of the tool that formats its data folder.
    identity
        Of the cluster, if it is to have further brokers.
    """

    replicas = 1  # of a topic that tests create
    memory = ("-Xmx768m", "-Xms256m")
    classes: tuple[str, ...] = (f"-XX:SharedArchiveFile={_CLASSES}", "-Xlog:disable", "-Xlog:all=error:stderr")

    def __init__(
        self,
        folder: Path,
        properties: dict[str, str] | None = None,
        format_options: Sequence[str] = (),
        identity: uuid.UUID | None = None,
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.controller = free_port()
        self._properties = properties or {}
        self._format_options = tuple(format_options)
        self._identity = identity or uuid.uuid4()
        self._process = JavaProcess(folder, "broker")

    @property
    def address(self) -> str:
        """Return host and port for clients."""
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        prepare()
        self._format()
        self.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.kill() if kind else self.stop()

    def start(self) -> None:
        """Start the process and wait until it serves requests."""
        self._process.start([*self._java(), "kafka.Kafka", str(self.folder / "server.properties")])
        try:
            self._wait_until_up()
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Stop it the polite way."""
        self._process.stop()

    def kill(self) -> None:
        """Stop it as a power failure would."""
        self._process.kill()

    def wait_until_gone(self, within: float) -> None:
        """Wait until it has ended by itself."""
        self._process.wait_until_gone(within)

    async def tool(self, name: str, *arguments: str) -> None:
        """Run one of Kafka's own command line tools against this broker."""
        await self._run(name, "--bootstrap-server", self.address, *arguments)

    async def dump(self, topic: str, partition: int = 0) -> str:
        """Return what Kafka's own reader of logs prints of a partition: each batch, and each record of it."""
        files = sorted(map(str, self.folder.rglob(f"{topic}-{partition}/*.log")))
        return await self._run("kafka.tools.DumpLogSegments", "--print-data-log", "--files", ",".join(files))

    async def _run(self, name: str, *arguments: str) -> str:
        command = [*self._java(), name, *arguments]
        done = await asyncio.to_thread(subprocess.run, command, check=True, timeout=60, capture_output=True)
        return done.stdout.decode()

    def _java(self) -> list[str]:
        log4j = self.folder / "log4j2.properties"
        return [*QUICK, *self.memory, *self.classes, f"-Dlog4j2.configurationFile={log4j}", "-cp", JARS.path]

    def _format(self) -> None:
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.folder / "data"),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.num.partitions": "4",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "group.min.session.timeout.ms": "500",
            # A killed worker's transaction is to be settled as soon as its own timeout is over.
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "250",
            # Tests write records of 1970: they must outlive the first look for old ones, after 30 s.
            "log.retention.ms": "-1",
            "log.cleaner.dedupe.buffer.size": "8388608",
            "log.cleaner.backoff.ms": "1000",
            "num.io.threads": "4",
            "num.network.threads": "2",
        } | self._properties
        settings = write_properties(self.folder / "server.properties", lines)
        (self.folder / "log4j2.properties").write_text(LOGGING)
        identity = urlsafe_b64encode(self._identity.bytes).decode().rstrip("=")
        if identity.startswith("-"):  # the tool would read it as an option
            identity = "A" + identity[1:]
        command = ["kafka.tools.StorageTool", "format", "-t", identity, "-c", str(settings), *self._format_options]
        subprocess.run([*self._java(), *command], check=True, timeout=60, capture_output=True)

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + _UP_WITHIN
        while time.monotonic() < deadline:
            self._process.check()
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    break
            except OSError:
                time.sleep(0.1)
        asyncio.run(self._wait_until_it_answers(deadline))

    async def _wait_until_it_answers(self, deadline: float) -> None:
        while time.monotonic() < deadline:
            client = AIOKafkaClient(bootstrap_servers=self.address, request_timeout_ms=3000)
            try:
                await client.bootstrap()
                if client.cluster.brokers():
                    return
            except KafkaError:
                pass
            finally:
                await client.close()
            await asyncio.sleep(0.1)
        raise RuntimeError("the broker does not answer")

    @property
    def pid(self) -> int | None:
        """Return its process id; None while it is down."""
        return self._process.pid

    async def create_topic(self, name: str, partitions: int = 1, **settings: str) -> None:
        """Create a topic and wait until its partitions have leaders."""
        async with admin_of(self.address) as admin:
            configs = {key.replace("_", "."): value for key, value in settings.items()}
            answer = await admin.create_topics([NewTopic(name, partitions, self.replicas, topic_configs=configs)])
            for _, code, *_ in answer.topic_errors:
                assert code == 0, f"topic {name} could not be created: {code}"
            for _ in range(100):
                described = await admin.describe_topics([name])
                leaders = [p["leader"] for topic in described for p in topic["partitions"]]
                if len(leaders) == partitions and min(leaders) >= 0:
                    return
                await asyncio.sleep(0.05)
            raise RuntimeError(f"topic {name} has no leaders")

    async def read_to_end(
        self, topic: str, *, isolation: str = "read_committed", within: float = 30.0
    ) -> list[ConsumerRecord]:
        """Return all records of a topic up to the end that it has now, waiting for open transactions."""
        consumer = Connection(self.address, "tests").client(  # one that creates no topic by looking for it
            AIOKafkaConsumer,
            "reader",
            isolation_level=isolation,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=50,
            metadata_max_age_ms=2_000,  # aiokafka asks a former leader for the first offset again and again
        )
        try:
            await consumer.start()
            await consumer._client._wait_on_metadata(topic)
            places = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic) or ())]
            ends = await high_watermarks(self.address, places)
            consumer.assign(places)
            records: list[ConsumerRecord] = []
            deadline = time.monotonic() + within
            while time.monotonic() < deadline:
                for part in (await consumer.getmany(timeout_ms=100)).values():
                    records.extend(part)
                if all([await consumer.position(place) >= ends[place] for place in places]):
                    return records
            raise TimeoutError(f"{topic}: a transaction stays open")
        finally:
            await consumer.stop()


@cache
def prepare() -> None:
    """Fetch the jars, and keep a broker's classes as Java has read them: a later start takes half the computing.

    That is done once: test processes that start together wait for the first.
    """
    JARS.fetch()
    with Path(__file__).open("rb") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # falls with the file
        if _CLASSES.exists():
            return
        unfinished = _CLASSES.with_suffix(".unfinished")
        with tempfile.TemporaryDirectory() as folder:
            broker = ApacheKafka(Path(folder))
            broker._format()
            broker.classes = (f"-XX:ArchiveClassesAtExit={unfinished}",)
            broker.start()
            broker.stop()
        if unfinished.exists():  # else this Java cannot, and starts without
            unfinished.rename(_CLASSES)


async def high_watermarks(address: str, places: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the ends of partitions, what open transactions wrote included."""
    async with AIOKafkaConsumer(bootstrap_servers=address, isolation_level="read_uncommitted") as consumer:
        ends: dict[TopicPartition, int] = await consumer.end_offsets(places)
        return ends
