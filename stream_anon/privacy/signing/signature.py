"""Signatures of certificates, policy documents and reports: JSON beside the bytes that were signed.

A signature is of exactly these bytes, without a line's end: the value of a Kafka record, or a line of a file. On a
topic it is the record's header `signature`. In a file it is the next line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from stream_anon.errors import CertificateError
from stream_anon.privacy.certificate import Digest

SIGNATURE_BYTES: Final = 256
"""A signature is shorter, also with the name of its header."""
_ED25519_BYTES = 64

Sign: TypeAlias = Callable[[bytes], bytes]
"""Returns the signature of a document."""


class Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ed25519 over a document, and the name of the public key that it holds by; see `PublicKeys`.

    In JSON the 64 bytes of `signature` are Base64.
    """

    schema: Literal[1]
    key: Digest
    signature: Annotated[bytes, msgspec.Meta(min_length=_ED25519_BYTES, max_length=_ED25519_BYTES)]


_DECODER = msgspec.json.Decoder(Signature, strict=True)


def read_signature(text: bytes) -> Signature:
    """Return a signature. Raise CertificateError, which holds nothing of the text, if it is none."""
    try:
        if len(text) < SIGNATURE_BYTES:
            return _DECODER.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass
    raise CertificateError("is no signature of schema version 1")


def with_signatures(parts: Iterable[bytes], sign: Sign | None) -> list[bytes]:
    """Return the lines of parts in a file: each is followed by its signature if there is a key."""
    return [line for part in parts for line in ((part,) if sign is None else (part, sign(part)))]


def signed_parts(lines: Iterable[bytes]) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield the parts that lines of a file hold, each with its signature; a signature of nothing is a part."""
    part: bytes | None = None
    for line in lines:
        if part is not None:
            told = line if _is_signature(line) else None
            yield part, told
            part = None if told is not None else line
        else:
            part = line
    if part is not None:
        yield part, None


def _is_signature(line: bytes) -> bool:
    try:
        read_signature(line)
    except CertificateError:
        return False
    return True
