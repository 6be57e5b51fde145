"""The key that draws of files follow from: where it lies, and how it is made, once."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from stream_anon.formats.tables.new_files import keep, private_file

SUFFIX = ".draws-key"


def key_beside(policy: Path) -> Path:
    """Return where the key of a policy's file lies unless told: `policy.yaml.draws-key` beside `policy.yaml`."""
    return policy.with_name(policy.name + SUFFIX)


def new_secret() -> str:
    """Return a secret for a key, drawn by chance."""
    return secrets.token_hex(32)


def make_key(file: Path, secret: str | None = None) -> bool:
    """Write a key that only its owner may read, unless the file exists; return whether it was written.

    The file appears whole or not at all, whoever else makes it at the same time, and stays after a power cut.

    Parameters
    ----------
    secret
        What the key follows from; a new one without it.

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
            opened.write((secret or new_secret()).encode() + b"\n")
        keep(part)
        os.link(part, file)
        keep(file.parent)
    except FileExistsError:
        return False
    finally:
        part.unlink(missing_ok=True)
    return True
