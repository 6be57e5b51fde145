"""What this process has open."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def open_below(folder: Path) -> int:
    """Return how many files below a folder are open, also such as have no name any more."""
    count = 0
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of the listing itself
            count += link.readlink().is_relative_to(folder)
    return count
