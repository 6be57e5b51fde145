"""Java programs in processes of their own, from what Maven fetches for a `pom.xml`."""

from __future__ import annotations

import fcntl
import shutil
import signal
import subprocess
import tarfile
import uuid
from collections.abc import Sequence
from pathlib import Path

QUICK = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""How a program is started that lives for some seconds."""
LOGGING = """rootLogger.level=WARN
rootLogger.appenderRef.out.ref=OUT
appender.out.type=Console
appender.out.name=OUT
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %c %m%n
"""
"""A `log4j2.properties`: warnings on the standard output."""

_DOWN_WITHIN = 30.0


class Jars:
    """What Maven puts into the `libs/` of a folder with a `pom.xml`.

    Parameters
    ----------
    of
        What it is for, as in "a real Kafka".
    one
        How the name of one of the jars begins: where it is, all are.
    """

    def __init__(self, of: str, folder: Path, one: str) -> None:
        self._of, self._folder, self._one = of, folder, one

    @property
    def path(self) -> str:
        """Return the class path of all of them."""
        return f"{self._folder / 'libs'}/*"

    @property
    def first(self) -> Path:
        """Return the jar whose name is known."""
        return next((self._folder / "libs").glob(f"{self._one}-*.jar"))

    def missing_parts(self) -> str:
        """Return why nothing of them can be started here; empty if it can."""
        if shutil.which("java") is None:
            return f"{self._of} needs Java 17 (no `java` on the path)"
        if not self._are_here() and shutil.which("mvn") is None:
            return f"{self._of} needs its jars (no `mvn` on the path to fetch them)"
        return ""

    def fetch(self) -> None:
        """Let Maven fetch them, and unpack an archive among them.

        That is done once: test processes that start together wait for the first.
        """
        libs = self._folder / "libs"
        with (self._folder / "pom.xml").open("rb") as pom:
            fcntl.flock(pom, fcntl.LOCK_EX)  # falls with the file
            if self._are_here():
                return
            scratch = self._folder / f"libs.{uuid.uuid4().hex}"
            command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={scratch}"]
            try:
                subprocess.run(command, cwd=self._folder, check=True, timeout=600, capture_output=True)
                for archive in scratch.glob("*.tar.gz"):
                    with tarfile.open(archive) as packed:
                        packed.extractall(scratch, filter="data")
                    archive.unlink()
                if not libs.exists():
                    scratch.rename(libs)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)

    def _are_here(self) -> bool:
        return any((self._folder / "libs").glob(f"{self._one}-*.jar"))


class JavaProcess:
    """One program at a time, stopped by its own process id.

    Parameters
    ----------
    folder
        Where it runs; what it says is added to `NAME.log` there.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self.log = folder, folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Return whether it was started and not ended by us."""
        return self._process is not None

    @property
    def pid(self) -> int | None:
        """Return its process id; None while it is down."""
        return self._process.pid if self._process else None

    def start(self, command: Sequence[str]) -> None:
        """Start a program."""
        assert self._process is None, "it runs already"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                list(command), stdout=log, stderr=log, cwd=self._folder, start_new_session=True
            )

    def check(self) -> None:
        """Raise RuntimeError if it has ended by itself."""
        assert self._process is not None, "it does not run"
        if self._process.poll() is not None:
            raise RuntimeError(f"it ended: see {self.log}")

    def stop(self) -> None:
        """End it the polite way."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power failure would."""
        self._end(signal.SIGKILL)

    def wait_until_gone(self, within: float) -> None:
        """Wait until it has ended by itself."""
        assert self._process is not None, "it does not run"
        self._process.wait(within)
        self._process = None

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(_DOWN_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_DOWN_WITHIN)


def write_properties(file: Path, lines: dict[str, str]) -> Path:
    """Write a file of Java's properties; return it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    return file
