"""Keep the memory of this process out of core dumps: it holds people's ids, and secrets."""

from __future__ import annotations

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4  # of <sys/prctl.h>


def forbid_core_dumps() -> None:
    """Let this process leave no core dump, and let no other one of its user read its memory.

    Programs that it starts inherit the limit on the size of a core, but can be dumped again where the system pipes
    cores to a program, which ignores that limit (Linux, core(5)). So each process that holds records calls this.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
