"""A key that follows from a secret of the controller."""

from __future__ import annotations

import hashlib
from typing import ClassVar

LEAST_KEY, MOST_KEY = 16, 64 * 1024
"""Bytes of a secret."""


class SecretKey:
    """A key of one use, made from a secret. It is never shown: not by `repr`, and in no error.

    A subclass names its use and the setting of its file. `person` keeps its key apart from those that others make
    of the same secret.

    Parameters
    ----------
    secret
        16 bytes or more, drawn by chance.

    Raises
    ------
    ValueError
        If it is shorter, or longer than 64 KiB.
    """

    __slots__ = ("hashed",)
    use: ClassVar[str]
    setting: ClassVar[str]
    person: ClassVar[bytes] = b""

    def __init__(self, secret: bytes) -> None:
        if not LEAST_KEY <= len(secret) <= MOST_KEY:
            raise ValueError(f"a key of {self.use} must have {LEAST_KEY} bytes or more, and at most 64 KiB")
        self.hashed = hashlib.blake2b(secret, person=self.person).digest()  # BLAKE2b takes keys of up to 64 bytes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"
