"""Which classes of the package fit a port, whatever they inherit."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import stream_anon


def implementations(port: type) -> set[str]:
    """Return module and name of each class of the package that has all that a protocol names.

    Modules whose extra is not installed are left out.
    """
    wanted = {name for name in vars(port) if not name.startswith("_")}
    found = set[str]()
    for module in pkgutil.walk_packages(stream_anon.__path__, "stream_anon.", onerror=lambda _: None):
        if module.name.startswith("stream_anon.ports") or module.name.endswith("__main__"):
            continue
        try:
            members = vars(importlib.import_module(module.name))
        except ImportError:
            continue
        found |= {
            f"{module.name}.{name}"
            for name, member in members.items()
            if inspect.isclass(member) and member.__module__ == module.name and wanted <= set(dir(member))
        }
    return found
