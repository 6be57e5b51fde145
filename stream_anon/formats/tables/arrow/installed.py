"""Say what to install where the extra `frames` is missing."""

from __future__ import annotations

from importlib.util import find_spec

from stream_anon.errors import SettingsError

_EXTRA = "which the extra `frames` installs: pip install"


def require_pyarrow(what: str) -> None:
    """Raise `SettingsError`, naming what needs it, if pyarrow is not installed."""
    if find_spec("pyarrow") is None:
        raise SettingsError(what, f"needs pyarrow, {_EXTRA} pyarrow")


def require_narwhals(what: str) -> None:
    """Raise `SettingsError`, naming what needs them, if pyarrow or narwhals is not installed."""
    require_pyarrow(what)
    if find_spec("narwhals") is None:
        raise SettingsError(what, f"needs narwhals, {_EXTRA} narwhals")
