"""One to three real brokers, each behind a line."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

from aiokafka.admin import NewTopic

from tests.support.apache_kafka.launcher import ApacheKafka
from tests.support.late_requests.line import FrameLine
from tests.support.plain_kafka import admin_of

_TRANSACTIONS = "__transaction_state"
_REPLICATED = 3


class Node(ApacheKafka):
    """A broker of a cluster, with a second listener that sends its clients back to a line.

    Parameters
    ----------
    first
        The broker that is the controller too; None if this is it.
    """

    def __init__(self, folder: Path, line: FrameLine, size: int, identity: uuid.UUID, level: int | None) -> None:
        options = () if level is None else ("--feature", f"transaction.version={level}")
        super().__init__(folder, format_options=options, identity=identity)
        self.number = line.number
        self._line, self._size = line, size

    def join(self, first: Node) -> None:
        """Make it a member of the cluster whose controller is `first`; to be called before it starts."""
        controls = first is self
        own = [f"PLAINTEXT://127.0.0.1:{self.port}", f"LINE://127.0.0.1:{self._line.target}"]
        own += [f"CONTROLLER://127.0.0.1:{self.controller}"] if controls else []
        copies = min(self._size, _REPLICATED)
        if copies < _REPLICATED:
            copies = 1
        self._properties = {
            "node.id": str(self.number),
            "process.roles": "broker,controller" if controls else "broker",
            "controller.quorum.voters": f"1@127.0.0.1:{first.controller}",
            "listeners": ",".join(own),
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port},LINE://127.0.0.1:{self._line.port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LINE:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "offsets.topic.replication.factor": str(copies),
            "transaction.state.log.replication.factor": str(copies),
            "transaction.state.log.min.isr": str(max(copies - 1, 1)),
            "min.insync.replicas": str(max(copies - 1, 1)),
            # A broker that is stopped loses its partitions after two seconds, and gets them back as soon.
            "broker.session.timeout.ms": "2000",
            "broker.heartbeat.interval.ms": "500",
            "leader.imbalance.check.interval.seconds": "1",
            "leader.imbalance.per.broker.percentage": "0",
        }


class Cluster:
    """Brokers and the lines in front of them.

    Parameters
    ----------
    size
        1, 2 or 3 brokers; three keep three copies of everything, two of them in sync.
    level
        Of transactions, as the brokers' data folders are formatted; None for the brokers' own choice.
    """

    def __init__(self, folder: Path, size: int, level: int | None = None) -> None:
        self._folder, self._level = folder, level
        self.lines = [FrameLine(number) for number in range(1, size + 1)]
        self.nodes: list[Node] = []

    @property
    def size(self) -> int:
        return len(self.lines)

    async def start(self) -> None:
        identity = uuid.uuid4()
        for line in self.lines:
            await line.start()
            node = Node(self._folder / f"n{line.number}", line, self.size, identity, self._level)
            node.folder.mkdir(parents=True)
            node.join(self.nodes[0] if self.nodes else node)
            self.nodes.append(node)
            await asyncio.to_thread(node.__enter__)

    async def stop(self) -> None:
        for node in reversed(self.nodes):
            await asyncio.to_thread(node.kill)
        for line in self.lines:
            await line.stop()

    async def create(self, topic: str, partitions: int, leader: int, **settings: str) -> None:
        """Create a topic led by one broker, on all three if there are three, else on that one alone."""
        order = [leader, *(node.number for node in self.nodes if node.number != leader)]
        replicas = order if self.size == _REPLICATED else order[:1]
        async with admin_of(self.nodes[0].address) as admin:
            configs = {key.replace("_", "."): value for key, value in settings.items()}
            places = dict.fromkeys(range(partitions), replicas)
            new = NewTopic(topic, -1, -1, replica_assignments=places, topic_configs=configs)
            answer = await admin.create_topics([new])
            assert all(code == 0 for _, code, *_ in answer.topic_errors), answer

    async def let_coordinate(self, number: int) -> None:
        """Let one broker coordinate all transactions, as long as it is there; to be called before the first one."""
        await self.create(_TRANSACTIONS, 4, number, cleanup_policy="compact", min_insync_replicas="2")


@contextlib.asynccontextmanager
async def cluster_of(folder: Path, size: int, level: int | None = None) -> AsyncIterator[Cluster]:
    """Start a cluster, and stop it at the end."""
    cluster = Cluster(folder, size, level)
    try:
        await cluster.start()
        yield cluster
    finally:
        await cluster.stop()
