"""Public keys: who signed something, for those who have no secret."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from stream_anon.extras import require
from stream_anon.privacy.signing.signature import Signature

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

OPTION = "--public-key"
_PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----\s.*?-----END PUBLIC KEY-----", re.DOTALL)


def key_name(key: Ed25519PublicKey) -> str:
    """Return the name of a public key: the SHA-256 of its DER, as `openssl pkey -pubin -outform DER` writes it."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return "sha256:" + hashlib.sha256(der).hexdigest()


class PublicKeys:
    """The keys that something may be signed by, each known by its name.

    Parameters
    ----------
    texts
        PEM, one or more keys of Ed25519 in each.

    Raises
    ------
    ValueError
        If a text holds no key, or one that is not of Ed25519. The message holds nothing of it.
    SettingsError
        If cryptography is not installed.
    """

    def __init__(self, texts: Iterable[bytes]) -> None:
        require(OPTION, "cryptography")
        self._keys = {key_name(key): key for text in texts for key in _read(text)}

    def __or__(self, other: PublicKeys) -> PublicKeys:
        """Return the keys of both."""
        both = PublicKeys(())
        both._keys = self._keys | other._keys
        return both

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def holds(self, document: bytes, signature: Signature) -> bool:
        """Return whether a signature is of exactly these bytes, by the key that it names; about 0.1 ms."""
        from cryptography.exceptions import InvalidSignature

        key = self._keys.get(signature.key)
        if key is None:
            return False
        try:
            key.verify(signature.signature, document)
        except InvalidSignature:
            return False
        return True


def _read(text: bytes) -> list[Ed25519PublicKey]:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    blocks = _PEM.findall(text)
    try:
        keys = [load_pem_public_key(block) for block in blocks]
    except (ValueError, UnsupportedAlgorithm):
        keys = []
    found = [key for key in keys if isinstance(key, Ed25519PublicKey)]
    if not found or len(found) < text.count(b"-----BEGIN"):  # one without its end is no block
        raise ValueError("holds something else than public keys of Ed25519 in PEM")
    return found
