"""`stream-anon signing-key`: make a key that signs, and print its public key."""

from __future__ import annotations

from pathlib import Path

import typer

from stream_anon.errors import InputError
from stream_anon.files.key_files import make_key
from stream_anon.privacy.signing.signing_key import SigningKey
from stream_anon.secret_files import read_key


def signing_key(file: Path, *, new: bool) -> int:
    """Print the public key of a file's private key, which `new` makes; only the file's owner may read it then.

    Raises
    ------
    SettingsError
        If the file holds no private key of Ed25519.
    InputError
        If a new key is wanted and the file is there, or cannot be written.
    """
    if new:
        _make(file)
    key = read_key(SigningKey, file)
    typer.echo(f"stream-anon: {key.name}", err=True)
    typer.echo(key.public.decode(), nl=False)
    return 0


def _make(file: Path) -> None:
    try:
        if make_key(file, SigningKey.drawn().decode().strip()):
            typer.echo(f"stream-anon: made {file}: keep it, and keep it secret", err=True)
            return
    except OSError as error:
        raise InputError(f"{file}: no key can be made there ({error.strerror})") from None
    raise InputError(
        f"{file}: is there already; a new key needs another name, for what the old one signed needs it"
    )
