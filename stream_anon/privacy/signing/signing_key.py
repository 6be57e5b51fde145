"""The key that signs: a secret of the controller, read once, when a process starts."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from stream_anon.extras import require
from stream_anon.privacy.signing.public_keys import key_name
from stream_anon.privacy.signing.signature import Signature


class SigningKey:
    """A private key of Ed25519. It is never shown: not by `repr`, and in no error.

    Parameters
    ----------
    secret
        PEM (PKCS #8) without a password, as `stream-anon signing-key --new` and `openssl genpkey` write it.

    Attributes
    ----------
    name
        That of its public key; see `key_name`.
    public
        The public key, PEM.

    Raises
    ------
    ValueError
        If it is something else. The message holds nothing of it.
    SettingsError
        If cryptography is not installed.
    """

    __slots__ = ("_key", "name", "public")
    setting: ClassVar[str] = "certificates.sign.key_file"

    def __init__(self, secret: bytes) -> None:
        require(self.setting, "cryptography")
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

        try:
            key = load_pem_private_key(secret, password=None)
        except TypeError:
            raise ValueError("has a password: a key that signs by itself must have none") from None
        except (ValueError, UnsupportedAlgorithm):
            raise ValueError("is no private key in PEM") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError("is no private key of Ed25519")  # noqa: TRY004 - as for all else that it may hold
        public = key.public_key()
        self._key = key
        self.name = key_name(public)
        self.public = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    @staticmethod
    def drawn() -> bytes:
        """Return the secret of a new key, PEM."""
        require("signing-key", "cryptography")
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        key = Ed25519PrivateKey.generate()
        return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def sign(self, document: bytes) -> bytes:
        """Return the signature of exactly these bytes, as JSON; the same each time; about 0.05 ms."""
        return msgspec.json.encode(Signature(1, self.name, self._key.sign(document)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"
