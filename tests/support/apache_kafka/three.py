"""Three brokers as most people run them: three copies of everything, two in sync, TLS, SCRAM and least permissions.

Each of them is a controller too, so two must be there. Workers come by the listener with TLS and SCRAM. Tests come
by the plain one, as the brokers do among themselves: everything is allowed there.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from stream_anon.adapters.kafka.topics.descriptions import Topics
from stream_anon.adapters.kafka.topics.permissions import least_privileges
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka.certificates import Authority
from tests.support.apache_kafka.launcher import prepare
from tests.support.apache_kafka.secured import PASSWORD, USER, SecuredKafka
from tests.support.plain_kafka import admin_of

SIZE = 3
_SETTLED_WITHIN = 120.0
_PROPERTIES = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    # A broker that stands still for so long loses its partitions to others.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "1000",
    "replica.lag.time.max.ms": "5000",
    "leader.imbalance.check.interval.seconds": "5",
    "leader.imbalance.per.broker.percentage": "0",
    # What one secured broker forgets within seconds is kept here as long as brokers keep it.
    "producer.id.expiration.ms": "86400000",
    "transactional.id.expiration.ms": "604800000",
}


class Node(SecuredKafka):
    """One of three. What is asked of it may be answered by any of them."""

    replicas = SIZE
    memory = ("-Xmx320m", "-Xms128m")

    def __init__(self, folder: Path, number: int, authority: Authority, identity: uuid.UUID) -> None:
        super().__init__(folder, None, authority, identity)
        self.number = number
        self._nodes: Sequence[Node] = (self,)

    def join(self, nodes: Sequence[Node]) -> None:
        """Make it one of these; to be called before it is formatted."""
        self._nodes = nodes
        voters = ",".join(f"{node.number}@127.0.0.1:{node.controller}" for node in nodes)
        self._properties |= {
            **_PROPERTIES,
            "node.id": str(self.number),
            "controller.quorum.voters": voters,
        }

    @property
    def address(self) -> str:
        return ",".join(f"127.0.0.1:{node.port}" for node in self._nodes)

    def format(self) -> None:
        """Prepare its data folder."""
        self._format()


class ThreeBrokers:
    """A cluster of three, stopped by their own process ids."""

    def __init__(self, folder: Path) -> None:
        authority, identity = Authority(folder / "certificates", "authority"), uuid.uuid4()
        numbers = range(1, SIZE + 1)
        self.nodes = [Node(folder / f"broker-{number}", number, authority, identity) for number in numbers]
        for node in self.nodes:
            node.join(self.nodes)

    def __enter__(self) -> Self:
        prepare()
        for node in self.nodes:
            node.format()
        try:
            self.start(self.nodes)
        except BaseException:
            self._kill_all()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._kill_all()

    def _kill_all(self) -> None:
        for node in self.nodes:
            node.kill()

    def start(self, nodes: Sequence[Node]) -> None:
        """Start some of them side by side: one alone would wait for the others."""
        with ThreadPoolExecutor(SIZE) as pool:
            list(pool.map(Node.start, nodes))

    @property
    def any(self) -> Node:
        """Return a broker for questions that any of them answers."""
        return self.nodes[0]

    def settings(self) -> dict[str, Any]:
        """Return the settings of a worker's connection."""
        return {
            "bootstrap_servers": ",".join(node.at("SASL") for node in self.nodes),
            "security": {
                "protocol": "SASL_SSL",
                "sasl_mechanism": "SCRAM-SHA-512",
                "username": USER,
                "password": PASSWORD,
                "ca_file": str(self.any.authority.certificate),
            },
        }

    async def allow_service(self, name: str, output: str) -> None:
        """Give the user of the workers what docs/guides/kafka.md lists; group and input have one name."""
        topics = Topics(
            InputTopics((name,)), output, f"{output}.certificates", f"{output}.dead-letters", f"{output}.ledger"
        )
        await self.any.allow(least_privileges(name, topics, (name,)))

    async def create_on(self, topic: str, partitions: int, nodes: Sequence[Node], **settings: str) -> None:
        """Create a topic whose copies these have, the first as the leader of all partitions."""
        async with admin_of(self.any.address) as admin:
            copies = [node.number for node in nodes]
            places = dict.fromkeys(range(partitions), copies)
            configs = {key.replace("_", "."): value for key, value in settings.items()}
            answer = await admin.create_topics(
                [NewTopic(topic, -1, -1, replica_assignments=places, topic_configs=configs)]
            )
            assert all(code == 0 for _, code, *_ in answer.topic_errors), answer

    async def coordinator_of(self, group: str) -> Node:
        """Return the broker that coordinates a consumer group."""
        async with admin_of(self.any.address) as admin:
            number = await admin.find_coordinator(group)
        return next(node for node in self.nodes if node.number == number)

    async def until_whole(self) -> None:
        """Wait until every copy of every partition is in sync."""
        await self._until(lambda p: len(p["isr"]) == len(p["replicas"]))

    async def until_led_by(self, node: Node, topic: str) -> None:
        """Wait until one broker leads all partitions of a topic, and the others are out of sync."""
        await self._until(lambda p: p["leader"] == node.number and p["isr"] == [node.number], [topic])

    async def _until(self, holds: Callable[[Mapping[str, Any]], bool], topics: list[str] | None = None) -> None:
        """Wait until something holds of all partitions."""
        deadline = time.monotonic() + _SETTLED_WITHIN
        while not all(map(holds, found := await self._partitions(topics))) or not found:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the cluster has not settled after {_SETTLED_WITHIN:g} s: {found}")
            await asyncio.sleep(0.3)

    async def _partitions(self, topics: list[str] | None) -> list[Mapping[str, Any]]:
        """Return what the brokers say of partitions; nothing while none answers."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.any.address, request_timeout_ms=5000)
        try:
            await admin.start()
            return [p for topic in await admin.describe_topics(topics) for p in topic["partitions"]]
        except (KafkaError, OSError, TimeoutError):
            return []
        finally:
            await admin.close()
