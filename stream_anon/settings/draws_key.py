"""The key of draws that settings name."""

from __future__ import annotations

from pathlib import Path

from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.secret_files import read_key
from stream_anon.settings.model import Settings


def draws_key_of(settings: Settings) -> DrawsKey | None:
    """Return the key in the file that settings name; None if they name none. See `read_key`."""
    chosen = settings.engine.draws_key_file
    return None if chosen is None else read_key(DrawsKey, Path(chosen))
