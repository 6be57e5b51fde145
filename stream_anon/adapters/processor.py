"""How long the system held this process back because its group had used up its share of the processor.

A limit on processor time (`resources.limits.cpu` of a pod) is a quota per period, usually 100 ms. Processes beyond
the quota wait for the next period. Linux counts that time in `cpu.stat` of the control group (its admin guide,
cgroup-v2).
"""

from __future__ import annotations

from pathlib import Path

from stream_anon.adapters.control_group import MOUNTED, OWN, group_path

_UNITS = {"throttled_usec": 1e-6, "throttled_time": 1e-9}  # of version 2, and of version 1


def throttled_seconds(mounted: Path = MOUNTED, own: Path = OWN) -> float:
    """Return how long all processes of our control group were held back; 0 without a limit, or if it is not told.

    The time is added up over processors, so it may grow faster than the clock.
    """
    # A container may see its own group as the root of a mount, under another path than the one that it is told.
    first = mounted / "cpu"  # a mount of version 1
    for group in (mounted / group_path(own), mounted, first / group_path(own, "cpu"), first):
        try:
            lines = (group / "cpu.stat").read_text(encoding="ascii").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        for line in lines:
            name, _, value = line.partition(" ")
            if name in _UNITS and value.strip().isdigit():
                return int(value) * _UNITS[name]
    return 0.0
