"""The key of the digests that certificates carry of what is released."""

from __future__ import annotations

import hashlib

from stream_anon.secret_key import SecretKey


class DigestKey(SecretKey):
    """A secret without which nobody can make or check a digest."""

    __slots__ = ()
    use, setting, person = "digests", "output.digest_key_file", b"digests"

    @property
    def name(self) -> str:
        """Return what certificates call the key: 16 hexadecimal digits, from which it does not follow."""
        return hashlib.blake2b(key=self.hashed, digest_size=8, person=b"name").hexdigest()
