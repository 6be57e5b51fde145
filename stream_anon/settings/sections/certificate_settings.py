"""Whether certificates are signed, and the key that signs them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field

from stream_anon.privacy.signing.signing_key import SigningKey
from stream_anon.secret_files import read_key
from stream_anon.settings.sections.section import Section


class SigningSettings(Section):
    """By which key certificates are signed."""

    key_file: Annotated[str, Field(min_length=1)]
    """A file with a private key of Ed25519, PEM without a password, relative to this one, such as
    `stream-anon signing-key --new` makes. It is read once, when a process starts."""


class CertificateSettings(Section):
    """What certificates get beside their content."""

    explanation = """\
With `sign`, certificates and policy documents are signed, so that `stream-anon audit --public-key FILE`
tells which of them somebody else wrote, changed, left out or repeated. It needs the extra `sign`. Workers of a
service may have the same key or each its own. The functions for Spark and Bytewax take the file as
`signing_key_file`, and do not read this setting. See [audit.md](../explain/audit.md#signatures)."""

    sign: SigningSettings | None = None
    """The key that signs; without it nothing is signed."""


def signing_key_of(given: CertificateSettings) -> SigningKey | None:
    """Return the key in the file that settings name; None if they name none. See `read_key`."""
    return signing_key_in(None if given.sign is None else given.sign.key_file)


def signing_key_in(file: str | os.PathLike[str] | None) -> SigningKey | None:
    """Return the key in a file; None without a file. See `read_key`."""
    return None if file is None else read_key(SigningKey, Path(file))
