"""The commands of Apache Kafka that mend topics and brokers, as an operator types them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from stream_anon.adapters.kafka.client.connection import Connection


@dataclass(frozen=True, slots=True)
class Tools:
    """Makes commands for some brokers.

    Parameters
    ----------
    secured
        Whether the tools need a file with a login, `client.properties`.
    """

    servers: str
    secured: bool = False

    @classmethod
    def of(cls, connection: Connection) -> Self:
        """Return those for a connection's brokers."""
        return cls(connection.servers, connection.security.protocol != "PLAINTEXT")

    def create(self, topic: str, partitions: int, replicas: int, settings: Mapping[str, str]) -> str:
        """Return the command that creates a topic."""
        words = ["--create", "--topic", topic, "--partitions", str(partitions)]
        words += ["--replication-factor", str(replicas)]
        for key, value in settings.items():
            words += ["--config", f"{key}={value}"]
        return self._command("kafka-topics.sh", *words)

    def delete(self, topic: str) -> str:
        """Return the command that deletes a topic with all that it holds."""
        return self._command("kafka-topics.sh", "--delete", "--topic", topic)

    def add_partitions(self, topic: str, partitions: int) -> str:
        """Return the command that gives a topic more partitions, so many in all."""
        return self._command("kafka-topics.sh", "--alter", "--topic", topic, "--partitions", str(partitions))

    def change(self, topic: str, settings: Mapping[str, str]) -> str:
        """Return the command that changes settings of a topic."""
        added = ",".join(f"{key}={value}" for key, value in settings.items())
        named = ("--entity-type", "topics", "--entity-name", topic)
        return self._command("kafka-configs.sh", "--alter", *named, "--add-config", added)

    def raise_feature(self, feature: str, level: int) -> str:
        """Return the command with which a cluster agrees on a level of a feature."""
        return self._command("kafka-features.sh", "upgrade", "--feature", f"{feature}={level}")

    def _command(self, tool: str, *words: str) -> str:
        login = ("--command-config", "client.properties") if self.secured else ()
        return shlex.join([tool, "--bootstrap-server", self.servers, *login, *words])
