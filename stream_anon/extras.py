"""Say what to install where a package of an extra is missing."""

from __future__ import annotations

from importlib.util import find_spec
from shlex import quote

from stream_anon.errors import SettingsError

# Of each module that is looked for: the package that brings it, and the extra that installs the package.
_PACKAGES = {
    "cryptography": ("cryptography", "sign"),
    "flaml": ("flaml[automl]", "automl"),
    "google.protobuf": ("protobuf", "protobuf"),
    "google.type": ("googleapis-common-protos", "protobuf"),
    "grpc_tools": ("grpcio-tools", "protobuf"),
    "lightgbm": ("flaml[automl]", "automl"),
    "matplotlib": ("matplotlib", "analysis"),
    "narwhals": ("narwhals", "frames"),
    "pyarrow": ("pyarrow", "frames"),
    "sklearn": ("scikit-learn", "analysis"),
    "weasyprint": ("weasyprint", "reports"),
    "xgboost": ("flaml[automl]", "automl"),
}


def require(what: str, *modules: str) -> None:
    """Raise `SettingsError`, naming `what` needs them, if one of these modules is not installed; none is loaded."""
    for module in modules:
        if not _is_there(module):
            package, extra = _PACKAGES[module]
            raise SettingsError(
                what, f"needs {package}, which the extra `{extra}` installs: pip install {quote(package)}"
            )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # nor is the package that it would be in
        return False
