"""A real MirrorMaker 2 in dedicated mode, from its Maven jars: it copies topics from cluster A to cluster B."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.apache_kafka import ApacheKafka
from tests.support.apache_kafka.launcher import fetch_jars
from tests.support.ports import free_port

HERE = Path(__file__).parent
OFFSET_SYNCS = "mm2-offset-syncs.A.internal"
IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
EXACTLY_ONCE = {"B.exactly.once.source.support": "enabled", "dedicated.mode.enable.internal.rest": "true"}
_DOWN_WITHIN = 30.0
_COMMON = {
    "clusters": "A, B",
    "A->B.enabled": "true",
    "B->A.enabled": "false",
    "A->B.groups": "",
    "emit.checkpoints.enabled": "false",
    "emit.heartbeats.enabled": "false",
    "sync.group.offsets.enabled": "false",
    "sync.topic.acls.enabled": "false",
    "refresh.topics.interval.seconds": "2",
    "offset-syncs.topic.location": "target",
    "A.consumer.isolation.level": "read_committed",
    "tasks.max": "1",
    **{
        f"{name}.replication.factor": "1"
        for name in ("offset-syncs.topic", "offset.storage", "status.storage", "config.storage")
    },
    "replication.factor": "1",
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
}


class MirrorMaker:
    """One process, stopped by its own process id.

    Parameters
    ----------
    folder
        Where its configuration and log live.
    topics
        What it copies.
    properties
        Further lines of its configuration; they win.
    """

    def __init__(
        self,
        folder: Path,
        source: ApacheKafka,
        target: ApacheKafka,
        topics: Collection[str],
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder
        self._lines = {
            "A.bootstrap.servers": source.address,
            "B.bootstrap.servers": target.address,
            "A->B.topics": ", ".join(topics),
            "listeners": f"http://127.0.0.1:{free_port()}",
            **_COMMON,
            **(properties or {}),
        }
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        fetch_jars(HERE, "connect-mirror")
        self._folder.mkdir(parents=True, exist_ok=True)
        settings = self._folder / "mm2.properties"
        settings.write_text("".join(f"{key}={value}\n" for key, value in self._lines.items()))
        with (self._folder / "mm2.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                    *("-cp", f"{HERE / 'libs'}/*"),
                    *("org.apache.kafka.connect.mirror.MirrorMaker", str(settings)),
                ],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_DOWN_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
