"""Read the public keys by which signatures are checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stream_anon.errors import SettingsError
from stream_anon.privacy.signing.public_keys import OPTION, PublicKeys
from stream_anon.secret_files import MOST_SECRET, first_bytes


def read_public_keys(files: Sequence[Path]) -> PublicKeys:
    """Return the keys of files, one or more in each.

    Raises
    ------
    SettingsError
        If a file cannot be read, or holds something else. The message holds nothing of it: it may be a secret.
    """
    found = PublicKeys(())
    for file in files:
        try:
            found |= PublicKeys([first_bytes(file, MOST_SECRET)])
        except OSError as error:
            raise SettingsError(OPTION, f"cannot be read ({error.strerror})", str(file)) from None
        except ValueError as error:
            raise SettingsError(OPTION, str(error), str(file)) from None
    return found
