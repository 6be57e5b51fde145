"""The key that draws of files follow from: where it lies, and how it is made, once."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from stream_anon.formats.tables.new_files import private_file

SUFFIX = ".draws-key"


def key_beside(policy: Path) -> Path:
    """Return where the key of a policy's file lies unless told: `policy.yaml.draws-key` beside `policy.yaml`."""
    return policy.with_name(policy.name + SUFFIX)


def make_key(file: Path, secret: str | None = None) -> bool:
    """Write a key that only its owner may read, unless the file exists; return whether it was written.

    The file appears whole or not at all, whoever else makes it at the same time.

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
            opened.write((secret or secrets.token_hex(32)).encode() + b"\n")
        os.link(part, file)
    except FileExistsError:
        return False
    finally:
        part.unlink(missing_ok=True)
    return True
