"""The key of the digests that certificates carry of what is released."""

from __future__ import annotations

from stream_anon.secret_key import SecretKey


class DigestKey(SecretKey):
    """A secret without which nobody can make or check a digest."""

    __slots__ = ()
    use, setting, person = "digests", "output.digest_key_file", b"digests"
