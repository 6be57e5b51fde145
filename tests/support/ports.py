"""Ports for brokers and servers of tests that run beside each other."""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
import tempfile
from pathlib import Path
from typing import IO

# Below those that systems give to connections on their way out: a broker that is stopped and started again finds
# its port as it left it.
_PORTS = range(20_000, 30_000)
_TRIES = 1000
_held: list[IO[bytes]] = []


def free_port() -> int:
    """Return a loopback port that nobody listens on, and that no other test process gets while this one lives."""
    folder = Path(tempfile.gettempdir()) / f"stream-anon-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for _ in range(_TRIES):
        port = secrets.choice(_PORTS)
        file = (folder / str(port)).open("wb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # falls with the process
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            file.close()
            continue
        _held.append(file)
        return port
    raise RuntimeError(f"no free port in {_PORTS}")
