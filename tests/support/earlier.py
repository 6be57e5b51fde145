"""An earlier version of this package and its chart, from the history of the project's own repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.support.git import git

ROOT = Path(__file__).resolve().parents[2]
BEFORE = os.environ.get("STREAM_ANON_BEFORE", "cc483d7a")


def missing_history(revision: str) -> str:
    """Return why a revision cannot be had here, or an empty text."""
    if shutil.which("git") is None:
        return "an earlier version needs `git`"
    try:
        git(ROOT, "cat-file", "-e", f"{revision}^{{commit}}")
    except subprocess.CalledProcessError:
        return f"the history here does not reach back to {revision}"
    return ""


def unpack_path(revision: str, path: str, folder: Path) -> Path:
    """Put a folder or a file of a revision into a folder; return where it is."""
    packed = folder / "packed.tar"
    git(ROOT, "archive", "--output", str(packed), revision, path)
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    packed.unlink()
    return folder / path


def unpack(revision: str, folder: Path) -> dict[str, str]:
    """Put the package of a revision into a folder; return the environment in which Python imports it."""
    unpack_path(revision, "stream_anon", folder)
    # Without the second `python -m` would import what lies in the current folder.
    environment = {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
    where = [sys.executable, "-c", "import stream_anon; print(stream_anon.__file__)"]
    found = subprocess.run(where, env={**os.environ, **environment}, check=True, capture_output=True, timeout=60)
    assert Path(found.stdout.decode().strip()).is_relative_to(folder)
    return environment
