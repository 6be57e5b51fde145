"""Keys that sign in tests: each number is a key."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from stream_anon.privacy.signing.public_keys import PublicKeys
from stream_anon.privacy.signing.signing_key import SigningKey


def secret_of(number: int) -> bytes:
    """Return a private key, PEM."""
    key = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def key_of(number: int) -> SigningKey:
    """Return a key that signs."""
    return SigningKey(secret_of(number))


def public_of(*numbers: int) -> PublicKeys:
    """Return public keys."""
    return PublicKeys(key_of(number).public for number in numbers)
