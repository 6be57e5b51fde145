"""A PostgreSQL of its own: one server on a free loopback port, its data in a folder of its own."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

from tests.support.ports import free_port

_UP_WITHIN = 60.0
_DOWN_WITHIN = 20.0
_UNPRIVILEGED = "nobody"  # the server refuses to run as root
_OPTIONS = (
    *("listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "shared_buffers=16MB"),
    *("wal_level=logical", "max_wal_senders=4", "max_replication_slots=4", "max_connections=20"),
)


def programs() -> Path | None:
    """Return the folder of the server's programs; None where there is none."""
    own = shutil.which("postgres")
    # Debian puts each version into a folder of its own, outside of the path.
    found = [*([Path(own).resolve()] if own else []), *Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    whole = (path.parent for path in found if all(path.with_name(name).exists() for name in ("initdb", "psql")))
    return next(whole, None)


def missing_parts() -> str:
    """Return why no PostgreSQL can be started here; empty if one can."""
    return "" if programs() else "a database needs PostgreSQL (no `postgres` on the path)"


class Postgres:
    """One server, stopped by its own process id; its log stands in its folder."""

    user = "owner"

    def __init__(self) -> None:
        self.port = free_port()
        self.password = secrets.token_hex(8)
        folder = programs()
        assert folder is not None, missing_parts()
        self._programs = folder
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # A folder of pytest is closed to the user that the server runs as.
        self._folder = Path(tempfile.mkdtemp(prefix="stream-anon-postgres-"))
        secret = self._folder / "password"
        secret.write_text(self.password)
        identity: dict[str, Any] = {}
        if os.getuid() == 0:
            identity = {"user": _UNPRIVILEGED, "group": "nogroup", "extra_groups": []}
            for path in (self._folder, secret):
                shutil.chown(path, _UNPRIVILEGED)
        data = str(self._folder / "data")
        try:
            subprocess.run(
                [
                    *(self._programs / "initdb", "-D", data, "-U", self.user, "--no-sync", "--pwfile", secret),
                    *("-A", "scram-sha-256", "-E", "UTF8", "--locale=C"),
                ],
                check=True,
                capture_output=True,
                timeout=60,
                cwd=self._folder,
                **identity,
            )
            with (self._folder / "log").open("ab") as log:
                self._process = subprocess.Popen(
                    [
                        *(str(self._programs / "postgres"), "-D", data, "-p", str(self.port)),
                        *(word for option in _OPTIONS for word in ("-c", option)),
                    ],
                    stdout=log,
                    stderr=log,
                    cwd=self._folder,
                    start_new_session=True,
                    **identity,
                )
            self._wait_until_up()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def execute(self, statements: str) -> str:
        """Run SQL in one session and return what it prints."""
        done = self._psql(statements)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def _psql(self, statements: str) -> subprocess.CompletedProcess[bytes]:
        command = [
            *(str(self._programs / "psql"), "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1"),
            *("-h", "127.0.0.1", "-p", str(self.port), "-U", self.user, "-d", "postgres"),
        ]
        environment = {**os.environ, "PGPASSWORD": self.password}
        return subprocess.run(
            command, input=statements.encode(), env=environment, capture_output=True, timeout=60, check=False
        )

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + _UP_WITHIN
        while self._psql("SELECT 1").returncode:
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the database does not start: " + (self._folder / "log").read_text()[-500:])
            time.sleep(0.1)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGINT)  # the server's fast shutdown
            try:
                process.wait(_DOWN_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
