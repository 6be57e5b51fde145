"""A real Kafka that sends each of its clients back to the line it came by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.support.apache_kafka.launcher import ApacheKafka
from tests.support.storm.line import Line


class KafkaBehindLines(ApacheKafka):
    """A broker with one listener for a line each, beside the plain one, which no line can cut.

    Parameters
    ----------
    lines
        Started; each target is a free port.
    """

    def __init__(self, folder: Path, lines: Sequence[Line]) -> None:
        super().__init__(folder)
        names = [f"LINE{number}" for number in range(len(lines))]
        own = [f"{name}://127.0.0.1:{line.target}" for name, line in zip(names, lines, strict=True)]
        shown = [f"{name}://127.0.0.1:{line.port}" for name, line in zip(names, lines, strict=True)]
        plain = f"PLAINTEXT://127.0.0.1:{self.port}"
        self._properties = {
            "listeners": ",".join([plain, *own, f"CONTROLLER://127.0.0.1:{self.controller}"]),
            "advertised.listeners": ",".join([plain, *shown]),
            "listener.security.protocol.map": ",".join(
                f"{name}:PLAINTEXT" for name in ["PLAINTEXT", "CONTROLLER", *names]
            ),
            "inter.broker.listener.name": "PLAINTEXT",
        }
