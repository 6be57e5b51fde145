"""Git, for tests that need a history."""

from __future__ import annotations

import subprocess
from pathlib import Path

_NOBODY = ("-c", "user.name=t", "-c", "user.email=t", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return what it printed."""
    done = subprocess.run(["git", *_NOBODY, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()
