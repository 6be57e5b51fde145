"""The key of the digests that certificates carry of what is released."""

from __future__ import annotations

import hashlib

LEAST_KEY, MOST_KEY = 16, 64 * 1024
"""Bytes of a secret."""


class DigestKey:
    """A secret without which nobody can make or check a digest. It is never shown: not by `repr`, and in no error.

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

    def __init__(self, secret: bytes) -> None:
        if not LEAST_KEY <= len(secret) <= MOST_KEY:
            raise ValueError(f"a key of digests must have {LEAST_KEY} bytes or more, and at most 64 KiB")
        self.hashed = hashlib.blake2b(secret, person=b"digests").digest()  # BLAKE2b takes keys of up to 64 bytes

    def __repr__(self) -> str:
        return "DigestKey(...)"
