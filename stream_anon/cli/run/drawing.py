"""Which key the draws of `anonymize` follow from, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import typer

from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.files.key_files import key_beside, make_key
from stream_anon.secret_files import read_key
from stream_anon.settings.model import Settings
from stream_anon.settings.service_keys import draws_key_of

FRESH = (
    "stream-anon: warning: drawn without a key: another run on the same records forms other classes, and who "
    "compares both releases learns more of people than one tells (docs/explain/privacy.md, The same records twice)"
)


def key_of_draws(config: Path, settings: Settings, *, fresh: bool) -> DrawsKey | None:
    """Return the key of a run, made beside the policy if there is none yet; None to draw anew, which is said aloud.

    Parameters
    ----------
    config, settings
        The policy's file, and what it says.
    fresh
        Whether no key is wanted.

    Raises
    ------
    SettingsError
        If a key cannot be read.
    """
    if not fresh and (chosen := draws_key_of(settings)) is not None:
        return chosen
    file = key_beside(config)
    if not fresh:
        try:
            if make_key(file):
                typer.echo(f"stream-anon: made {file}: keep it, and keep it secret", err=True)
            return read_key(DrawsKey, file)
        except OSError as error:
            typer.echo(f"stream-anon: {file}: no key can be made there ({error.strerror})", err=True)
    typer.echo(FRESH, err=True)
    return None
