"""Read secrets, and other small things, from files that the settings name; no file is read without a bound."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Protocol, TypeVar

from stream_anon.errors import SettingsError


class MadeOfSecret(Protocol):
    """A key that a secret makes, or refuses by a ValueError that holds nothing of it; `setting` names its file."""

    setting: ClassVar[str]

    def __init__(self, secret: bytes) -> None: ...


_K = TypeVar("_K", bound=MadeOfSecret)
MOST_SECRET = 64 * 1024
"""Bytes of a secret's file."""


class SecretError(Exception):
    """A secret's file gives no secret. The message says why, and neither what was read nor where."""


def first_bytes(file: Path, most: int) -> bytes:
    """Return the first bytes of a file, at most `most`: a device has no end. Raises OSError."""
    with file.open("rb") as opened:
        return opened.read(most)


def secret_of(given: str | None, file: Path | None) -> str | None:
    """Return a secret, from its file if it has one, without the white space around it. Raises SecretError."""
    if file is None:
        return given
    content = b""
    try:
        content = first_bytes(file, MOST_SECRET + 1)
        if len(content) <= MOST_SECRET:
            return content.decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):  # which holds what was read: no error of ours refers to it
        pass
    raise SecretError("is larger than 64 KiB" if len(content) > MOST_SECRET else "cannot be read")


def read_key(kind: type[_K], file: Path) -> _K:
    """Return the key that a file holds the secret of, without the white space around it.

    Raises
    ------
    SettingsError
        If it cannot be read, is no text, or the key refuses it. The message holds nothing of it.
    """
    try:
        return kind((secret_of(None, file) or "").encode())
    except (SecretError, ValueError) as error:
        raise SettingsError(kind.setting, str(error), str(file)) from None
