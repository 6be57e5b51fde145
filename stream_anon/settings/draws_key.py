"""The file of the key that draws follow from."""

from __future__ import annotations

from pathlib import Path

from stream_anon.adapters.secret_files import SecretError, secret_of
from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.errors import SettingsError
from stream_anon.settings.model import Settings

KEY_SETTING = "engine.draws_key_file"


def draws_key_of(settings: Settings) -> DrawsKey | None:
    """Return the key in the file that settings name; None if they name none. See `read_key`."""
    chosen = settings.engine.draws_key_file
    return None if chosen is None else read_key(Path(chosen))


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
