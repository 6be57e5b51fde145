"""Say what to install where the extra `protobuf` is missing."""

from __future__ import annotations

from importlib.util import find_spec

from stream_anon.errors import SettingsError

_PACKAGES = {"google.protobuf": "protobuf", "grpc_tools": "grpcio-tools", "google.type": "googleapis-common-protos"}


def require_protobuf(what: str) -> None:
    """Raise `SettingsError`, naming what needs it, if a package that reads schemas of Protobuf is not installed."""
    for module, package in _PACKAGES.items():
        if not _is_there(module):
            raise SettingsError(
                what, f"needs {package}, which the extra `protobuf` installs: pip install {package}"
            )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # nor is the package that it would be in
        return False
