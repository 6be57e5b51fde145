"""What the system allows the control group of this process: where its files stand, and how much memory is free.

Linux counts a group's memory in `memory.max` and `memory.current` (its admin guide, cgroup-v2), and in
`memory.limit_in_bytes` and `memory.usage_in_bytes` of version 1. What is used includes pages of files that nobody
has read for long. Linux gives these up when memory is short; `memory.stat` tells how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MOUNTED = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
_MEMORY = Path("/proc/meminfo")
_UNKNOWN = 2**30  # where the system tells nothing


class _Names(NamedTuple):
    """Files of a group, and what its `memory.stat` calls file pages that can be given up."""

    limit: str
    used: str
    idle: str


_SECOND = _Names("memory.max", "memory.current", "inactive_file")
_FIRST = _Names("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def group_path(own: Path, controller: str = "") -> str:
    """Return the path of our group below the mount; empty if it is not told.

    Parameters
    ----------
    controller
        Of version 1, which has a mount for each; that of version 2 has no name.
    """
    groups = (line.split(":", 2) for line in _lines(own))
    return next((path.lstrip("/") for _, names, path in groups if controller in names.split(",")), "")


def free_memory(mounted: Path = MOUNTED, own: Path = OWN, memory: Path = _MEMORY) -> int:
    """Return how many bytes this process may still use: what the machine has left, or its group if less."""
    available = _told(memory, "MemAvailable:")
    second = _left_along(mounted, group_path(own), _SECOND)
    first = _left_along(mounted / "memory", group_path(own, "memory"), _FIRST)
    return max(0, min([_UNKNOWN if available is None else available * 1024, *second, *first]))


def _left_along(mounted: Path, path: str, names: _Names) -> Iterator[int]:
    """Yield what is left of each limit on a group and those around it."""
    group = mounted / path
    for folder in (group, *group.parents):
        if folder.is_relative_to(mounted):
            bounds = [int(line) for name in names[:2] for line in _lines(folder / name) if line.isdigit()]
            if len(bounds) == 2:  # without a limit the first is the word max
                limit, used = bounds
                yield limit - max(0, used - (_told(folder / "memory.stat", names.idle) or 0))


def _told(file: Path, name: str) -> int | None:
    """Return the number beside a name, or None if there is none."""
    return next((int(line.split()[1]) for line in _lines(file) if line.startswith(f"{name} ")), None)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
