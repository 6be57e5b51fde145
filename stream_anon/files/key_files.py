"""The file of the key that draws follow from: read, or made once."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from stream_anon.adapters.secret_files import SecretError, secret_of
from stream_anon.adapters.tables.new_files import private_file
from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.errors import SettingsError

KEY_SETTING = "engine.draws_key_file"
SUFFIX = ".draws-key"


def key_beside(policy: Path) -> Path:
    """Return where the key of a policy's file lies unless told: `policy.yaml.draws-key` beside `policy.yaml`."""
    return policy.with_name(policy.name + SUFFIX)


def read_key(file: Path) -> DrawsKey:
    """Return the key in a file, without the white space around it.

    Raises
    ------
    SettingsError
        If it cannot be read, is no text, or is too short. The message holds nothing of it.
    """
    try:
        return DrawsKey((secret_of(None, file) or "").encode())
    except (SecretError, ValueError) as error:
        raise SettingsError(KEY_SETTING, str(error), str(file)) from None


def make_key(file: Path) -> bool:
    """Write a new key that only its owner may read, unless the file exists; return whether it was written.

    The file appears whole or not at all, whoever else makes it at the same time.

    Raises
    ------
    OSError
        If the folder cannot be written to.
    """
    if file.exists():
        return False
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        with private_file(part) as opened:
            opened.write(secrets.token_hex(32).encode() + b"\n")
        os.link(part, file)
    except FileExistsError:
        return False
    finally:
        part.unlink(missing_ok=True)
    return True
