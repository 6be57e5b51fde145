"""Say what to install where the extra `sign` is missing."""

from __future__ import annotations

from importlib.util import find_spec

from stream_anon.errors import SettingsError


def require_cryptography(what: str) -> None:
    """Raise `SettingsError`, naming what needs it, if cryptography is not installed."""
    if find_spec("cryptography") is None:
        raise SettingsError(what, "needs cryptography, which the extra `sign` installs: pip install cryptography")
