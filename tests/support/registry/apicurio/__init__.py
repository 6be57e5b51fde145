"""A real Apicurio Registry on loopback, from its Maven archive."""

from __future__ import annotations

import fcntl
import shutil
import signal
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.ports import free_port

HERE = Path(__file__).parent
LIBS = HERE / "libs"
_UP_WITHIN = 120.0
_DOWN_WITHIN = 20.0


def missing_parts() -> str:
    """Return why a real registry cannot be started here; empty if it can."""
    if shutil.which("java") is None:
        return "a real Apicurio needs Java 17 (no `java` on the path)"
    if not LIBS.exists() and shutil.which("mvn") is None:
        return "a real Apicurio needs its archive (no `mvn` on the path to fetch it)"
    return ""


def _fetch() -> None:
    """Let Maven put the archive of `pom.xml` into `libs/`, unpacked; once, whoever starts first."""
    with (HERE / "pom.xml").open("rb") as pom:
        fcntl.flock(pom, fcntl.LOCK_EX)  # falls with the file
        if LIBS.exists():
            return
        scratch = HERE / f"libs.{uuid.uuid4().hex}"
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={scratch}"]
        try:
            subprocess.run(command, cwd=HERE, check=True, timeout=600, capture_output=True)
            (archive,) = scratch.glob("*.tar.gz")
            with tarfile.open(archive) as packed:
                packed.extractall(scratch, filter="data")
            archive.unlink()
            scratch.rename(LIBS)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


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
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the address of Confluent's interface."""
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def __enter__(self) -> Self:
        _fetch()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start the process and wait until it answers."""
        assert self._process is None, "it runs already"
        (runner,) = LIBS.glob("apicurio-registry-app-*-runner.jar")
        command = [
            "java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self.port}",
            f"-Dquarkus.datasource.jdbc.url=jdbc:h2:file:{self.folder / 'registry'};WRITE_DELAY=0",
            "-jar", str(runner),
        ]  # fmt: skip
        with (self.folder / "registry.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )
        try:
            self._wait_until_up()
        except BaseException:
            self.kill()
            raise

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + _UP_WITHIN
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                raise RuntimeError(f"the registry ended: see {self.folder / 'registry.log'}")
            try:
                with urllib.request.urlopen(f"{self.url}/subjects", timeout=2):  # noqa: S310 - our own address
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        raise RuntimeError("the registry does not answer")

    @property
    def is_running(self) -> bool:
        """Return whether it was started and not killed."""
        return self._process is not None

    def kill(self) -> None:
        """Stop it as a power failure would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(_DOWN_WITHIN)
            self._process = None
