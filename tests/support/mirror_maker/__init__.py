"""A real MirrorMaker 2 in dedicated mode, from its Maven jars: it copies topics from one cluster to another."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Self

from tests.support.apache_kafka import ApacheKafka
from tests.support.java import QUICK, Jars, JavaProcess, write_properties
from tests.support.ports import free_port

JARS = Jars("MirrorMaker", Path(__file__).parent, "connect-mirror")
IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
EXACTLY_ONCE = {"B.exactly.once.source.support": "enabled", "dedicated.mode.enable.internal.rest": "true"}
_COMMON = {
    "clusters": "A, B",
    "emit.checkpoints.enabled": "false",
    "emit.heartbeats.enabled": "false",
    "sync.group.offsets.enabled": "false",
    "sync.topic.acls.enabled": "false",
    "refresh.topics.interval.seconds": "2",
    "offset-syncs.topic.location": "target",
    "tasks.max": "1",
    **{
        f"{name}.replication.factor": "1"
        for name in ("offset-syncs.topic", "offset.storage", "status.storage", "config.storage")
    },
    "replication.factor": "1",
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
}


def offset_syncs(source: str) -> str:
    """Return the topic, in the target, of the offset syncs of a cluster that is copied."""
    return f"mm2-offset-syncs.{source}.internal"


class MirrorMaker:
    """One process, stopped by its own process id. Entered again, it goes on where it had stored its offsets.

    Parameters
    ----------
    folder
        Where its configuration and log live.
    topics
        What it copies.
    properties
        Further lines of its configuration; they win.
    flow
        The aliases of the source and the target.
    """

    def __init__(
        self,
        folder: Path,
        source: ApacheKafka,
        target: ApacheKafka,
        topics: Collection[str],
        properties: Mapping[str, str] | None = None,
        flow: tuple[str, str] = ("A", "B"),
    ) -> None:
        self._folder = folder
        there, here = flow
        self._lines = {
            f"{there}.bootstrap.servers": source.address,
            f"{here}.bootstrap.servers": target.address,
            f"{there}.consumer.isolation.level": "read_committed",
            f"{there}->{here}.enabled": "true",
            f"{here}->{there}.enabled": "false",
            f"{there}->{here}.topics": ", ".join(topics),
            f"{there}->{here}.groups": "",
            "listeners": f"http://127.0.0.1:{free_port()}",
            **_COMMON,
            **(properties or {}),
        }
        self._process = JavaProcess(folder, "mm2")

    def __enter__(self) -> Self:
        JARS.fetch()
        settings = write_properties(self._folder / "mm2.properties", self._lines)
        program = "org.apache.kafka.connect.mirror.MirrorMaker"
        self._process.start([*QUICK, "-Xmx512m", "-cp", JARS.path, program, str(settings)])
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    def kill(self) -> None:
        """End it as a crash does: what it has copied since it last stored its offsets will be copied again."""
        self._process.kill()
