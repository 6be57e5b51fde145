"""The version, the revision of the source, and how certificates name what made them."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

UNKNOWN = "unknown"
_DIGITS = 12  # of a commit, as deploy/wheel/hook.py writes them


def revision(package: Path) -> str:
    """Return the revision of a package's source: the one that its build wrote, else that of the checkout around it.

    A checkout is marked, since its files may differ from the commit. It is read without running a program.
    """
    try:
        return (package / "_revision").read_text("ascii").strip()
    except OSError:
        pass
    try:
        commit = _commit(package.parent / ".git")
    except (OSError, UnicodeDecodeError):
        return UNKNOWN
    return f"{commit[:_DIGITS]}.checkout" if re.fullmatch("[0-9a-f]{40,64}", commit) else UNKNOWN


def _commit(git: Path) -> str:
    """Return what HEAD stands for; empty if it is not found."""
    if git.is_file():  # of a worktree: it names a folder, which names that of the repository
        git = git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()
    head = (git / "HEAD").read_text("utf-8").strip()
    if not head.startswith("ref:"):
        return head
    name, common = head.removeprefix("ref:").strip(), git / "commondir"
    shared = git / common.read_text("utf-8").strip() if common.exists() else git
    if (shared / name).exists():
        return (shared / name).read_text("utf-8").strip()
    packed = (line.split(" ") for line in (shared / "packed-refs").read_text("utf-8").splitlines())
    return next((line[0] for line in packed if line[1:] == [name]), "")


__version__ = version("stream-anon")
REVISION = revision(Path(__file__).parent)
SOFTWARE = f"stream-anon {__version__}+{REVISION}"
