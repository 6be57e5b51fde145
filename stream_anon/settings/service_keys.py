"""The keys of a service that settings name: of draws, and of counts of returns."""

from __future__ import annotations

from pathlib import Path

from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.engine.returning import ReturnsKey
from stream_anon.errors import SettingsError
from stream_anon.secret_files import read_key
from stream_anon.settings.model import Settings


def draws_key_of(settings: Settings) -> DrawsKey | None:
    """Return the key in the file that settings name; None if they name none. See `read_key`."""
    chosen = settings.engine.draws_key_file
    return None if chosen is None else read_key(DrawsKey, Path(chosen))


def returns_key_of(settings: Settings) -> ReturnsKey | None:
    """Return the key of counts in the file that settings name; None if nobody counts. See `read_key`."""
    given = settings.privacy.returning
    if given is None:
        return None
    if given.key_file is None:
        raise SettingsError(ReturnsKey.setting, "is required for a service: releases are counted under pseudonyms")
    return read_key(ReturnsKey, Path(given.key_file))
