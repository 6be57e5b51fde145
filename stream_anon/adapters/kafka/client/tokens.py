"""Tokens for SASL OAUTHBEARER: from a file that another process keeps fresh, or from a command that prints one."""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaError

from stream_anon.secret_files import MOST_SECRET, first_bytes

_COMMAND_WITHIN = 10.0
_KEPT_FOR = 5.0  # seconds: a start opens ten connections, and one run of the command serves them all
MOST_BYTES = MOST_SECRET
_TOKEN = re.compile(rb"[\x21-\x7e]+")


class TokenError(KafkaError):  # type: ignore[misc] # aiokafka ships no types; its own kind, or it would not retry
    """No token could be obtained. The message says why, and never what was read."""


class FileToken(AbstractTokenProvider):  # type: ignore[misc]
    """Read the token from a file, anew for each connection."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def token(self) -> str:
        """Return the token. Raises TokenError."""
        try:
            return cleaned(await asyncio.to_thread(first_bytes, self._file, MOST_BYTES + 1), "token_file")
        except OSError as error:
            raise TokenError(f"kafka.security.token_file: cannot be read ({type(error).__name__})") from None


class KeptToken(AbstractTokenProvider):  # type: ignore[misc]
    """Obtain a token and keep it for a while; connections that open at the same time share one request."""

    def __init__(self) -> None:
        self._asking: asyncio.Task[str] | None = None
        self._until = -math.inf

    async def token(self) -> str:
        """Return the token. Raises TokenError."""
        now = asyncio.get_running_loop().time()
        if self._asking is None or (self._asking.done() and (not _succeeded(self._asking) or now >= self._until)):
            self._asking = asyncio.create_task(self._ask())
            self._asking.add_done_callback(_succeeded)  # looked at even where all who asked have given up
        return await asyncio.shield(self._asking)

    async def _ask(self) -> str:
        asked = asyncio.get_running_loop().time()  # a token may live from the moment at which it was asked for
        token, kept = await self._obtained()
        self._until = asked + kept
        return token

    @abstractmethod
    async def _obtained(self) -> tuple[str, float]:
        """Return a new token, and the seconds for which it may be used. Raises TokenError."""


def _succeeded(task: asyncio.Task[str]) -> bool:
    return not task.cancelled() and task.exception() is None


class CommandToken(KeptToken):
    """Let a command print the token, without a shell."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__()
        self._command = tuple(command)

    async def _obtained(self) -> tuple[str, float]:
        try:
            async with asyncio.timeout(_COMMAND_WITHIN):
                return cleaned(await self._printed(), "token_command"), _KEPT_FOR
        except TimeoutError:
            raise TokenError(f"kafka.security.token_command: took more than {_COMMAND_WITHIN:g} s") from None
        except OSError as error:
            raise TokenError(f"kafka.security.token_command: cannot be run ({type(error).__name__})") from None

    async def _printed(self) -> bytes:
        devnull, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*self._command, stdin=devnull, stdout=pipe, stderr=devnull)
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        try:
            printed = b""
            while len(printed) <= MOST_BYTES and (piece := await process.stdout.read(MOST_BYTES)):
                printed += piece
            if len(printed) <= MOST_BYTES and await process.wait():
                raise TokenError(f"kafka.security.token_command: ended with exit code {process.returncode}")
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        return printed


def cleaned(given: bytes, key: str) -> str:
    """Return a token without the white space around it; only one printable word fits into the request."""
    token = given.strip()
    if len(given) > MOST_BYTES or not _TOKEN.fullmatch(token):
        raise TokenError(
            f"kafka.security.{key}: does not hold a token, which is one word of at most {MOST_BYTES} bytes"
        )
    return token.decode("ascii")
