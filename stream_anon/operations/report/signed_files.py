"""Files with their signature beside them: `report.json` and `report.json.sig`."""

from __future__ import annotations

from pathlib import Path

from stream_anon.errors import CertificateError, InputError
from stream_anon.formats.tables.new_files import write_whole
from stream_anon.privacy.signing.public_keys import PublicKeys
from stream_anon.privacy.signing.signature import SIGNATURE_BYTES, Sign, read_signature
from stream_anon.secret_files import first_bytes

SUFFIX = ".sig"
MOST_SIGNED = 1024**3  # bytes of a file


def write_signed(path: Path, content: bytes, sign: Sign | None) -> None:
    """Write a file, and what signs it beside it if there is a key. Raise InputError if it cannot be written.

    Without a key an older signature is taken away: it would be of another file.
    """
    beside = path.with_name(path.name + SUFFIX)
    try:
        beside.unlink(missing_ok=True)
    except OSError:
        raise InputError(f"{beside}: cannot be taken away, and is of an older file") from None
    write_whole(path, content)
    if sign is not None:
        write_whole(beside, sign(content))


def signer_of(path: Path, keys: PublicKeys) -> str:
    """Return the name of the key that has signed a file.

    Raises
    ------
    InputError
        If the file or its signature cannot be read.
    CertificateError
        If none of the keys has signed exactly these bytes.
    """
    try:
        content = first_bytes(path, MOST_SIGNED + 1)
        told = first_bytes(path.with_name(path.name + SUFFIX), SIGNATURE_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: it or its signature cannot be read: {error.strerror}") from None
    if len(content) > MOST_SIGNED:
        raise InputError(f"{path}: is larger than 1 GiB")
    try:
        signature = read_signature(told.strip())
    except CertificateError as error:
        raise CertificateError(f"{path.name + SUFFIX}: {error}") from None
    if signature.key not in keys:
        raise CertificateError(f"{path}: is signed by a key that was not given")
    if not keys.holds(content, signature):
        raise CertificateError(f"{path}: its signature is of something else: somebody changed one of them")
    return signature.key
