"""What the system allows the control group of this process: where its files stand, and how much memory is free.

Linux counts a group's memory in `memory.max` and `memory.current` (its admin guide, cgroup-v2), and in
`memory.limit_in_bytes` and `memory.usage_in_bytes` of version 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

MOUNTED = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
_MEMORY = Path("/proc/meminfo")
_UNKNOWN = 2**30  # where the system tells nothing


def group_path(own: Path) -> str:
    """Return the path of our group of version 2 below the mount; empty if it is not told."""
    return next((line[3:].lstrip("/") for line in _lines(own) if line.startswith("0::")), "")


def free_memory(mounted: Path = MOUNTED, own: Path = OWN, memory: Path = _MEMORY) -> int:
    """Return how many bytes this process may still use: what the machine has left, or its group if less."""
    return max(0, min([_available(memory), *_left_of_groups(mounted, own)]))


def _left_of_groups(mounted: Path, own: Path) -> Iterator[int]:
    """Yield what is left of each limit on our group and those around it."""
    group = mounted / group_path(own)
    around = (folder for folder in group.parents if folder.is_relative_to(mounted))
    for folder in (group, *around):
        yield from _left(folder / "memory.max", folder / "memory.current")
    first = mounted / "memory"
    yield from _left(first / "memory.limit_in_bytes", first / "memory.usage_in_bytes")


def _left(limit: Path, used: Path) -> Iterator[int]:
    bounds = [int(line) for file in (limit, used) for line in _lines(file) if line.isdigit()]
    if len(bounds) == 2:  # without a limit the first is the word max
        yield bounds[0] - bounds[1]


def _available(memory: Path) -> int:
    found = [line.split() for line in _lines(memory) if line.startswith("MemAvailable:")]
    return int(found[0][1]) * 1024 if found else _UNKNOWN


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
