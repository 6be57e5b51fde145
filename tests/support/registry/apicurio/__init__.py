"""A real Apicurio Registry on loopback, from its Maven archive."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Self

from tests.support.java import QUICK, Jars, JavaProcess
from tests.support.ports import free_port

JARS = Jars("a real Apicurio", Path(__file__).parent, "apicurio-registry-app")
missing_parts = JARS.missing_parts
_UP_WITHIN = 120.0


class Apicurio:
    """One registry in one process, stopped by its own process id; its schemas outlive a kill.

    Parameters
    ----------
    folder
        Where its data and log live.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process = JavaProcess(folder, "registry")

    @property
    def url(self) -> str:
        """Return the address of Confluent's interface."""
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def __enter__(self) -> Self:
        JARS.fetch()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start the process and wait until it answers."""
        options = [
            "-Xmx384m",
            "-Dquarkus.http.host=127.0.0.1",
            f"-Dquarkus.http.port={self.port}",
            f"-Dquarkus.datasource.jdbc.url=jdbc:h2:file:{self.folder / 'registry'};WRITE_DELAY=0",
        ]
        self._process.start([*QUICK, *options, "-jar", str(JARS.first)])
        try:
            self._wait_until_up()
        except BaseException:
            self.kill()
            raise

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + _UP_WITHIN
        while time.monotonic() < deadline:
            self._process.check()
            try:
                with urllib.request.urlopen(f"{self.url}/subjects", timeout=2):  # noqa: S310 - our own address
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        raise RuntimeError("the registry does not answer")

    @property
    def is_running(self) -> bool:
        """Return whether it was started and not killed."""
        return self._process.is_running

    def kill(self) -> None:
        """Stop it as a power failure would."""
        self._process.kill()
