"""Give memory back to the system that this process has freed, so that a worker keeps to its share of it."""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of <malloc.h>
_LARGE = 4 * 2**20  # bytes; at 1 MiB a worker takes a tenth longer for a record, for it gets new pages for more


def return_large_blocks() -> None:
    """Let arrays of 4 MiB and more go back to the system as soon as they are freed.

    glibc raises that limit, up to 32 MiB, whenever a larger block is freed (mallopt(3), M_MMAP_THRESHOLD). Then the
    arrays of one window lie among small blocks that outlive it, and their memory stays with the process. Blocks
    below 4 MiB stay in the heap on purpose. With the limit that glibc starts with, 128 KiB, each gets new pages,
    and forming the classes of 10,000 rows takes a seventh longer. Other C libraries have no such limit to set:
    there this does nothing.
    """
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        library.mallopt(_M_MMAP_THRESHOLD, _LARGE)
        library.mallopt(_M_TRIM_THRESHOLD, 2 * _LARGE)  # the ratio that glibc keeps; setting one stops both
