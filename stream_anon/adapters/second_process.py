"""Compile kernels in two processes: what numba compiles it compiles on one core, and a first use waits for it.

Both write to the folder of compiled kernels. Each kernel has files of its own there, which numba replaces at once.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import TypeVar

from stream_anon.compiled import is_kept, when_compiling

_T = TypeVar("_T")
# The pipe stays open while the first process is there. It ends with it, however that ends.
_PROGRAM = """
import os, pickle, sys, threading
work, about = pickle.load(sys.stdin.buffer)
def follow():
    sys.stdin.buffer.read()
    os._exit(1)
threading.Thread(target=follow, daemon=True).start()
work(about)
os._exit(0)
"""
_LONGEST = 300.0  # seconds that one process waits for the other


def compile_in_two(one_half: Callable[[_T], object], other_half: Callable[[_T], object], about: _T) -> None:
    """Run both halves, the second in a process of its own, if the first has to compile anything at all.

    Nothing is started where kernels are on disk already, where they cannot be kept there, or where there is one
    core only. A second process that fails has compiled less: whoever calls a kernel then compiles it.

    Parameters
    ----------
    one_half, other_half
        Functions of a module, since another process must find them.
    about
        Their argument; it is pickled.
    """
    if not is_kept() or len(os.sched_getaffinity(0)) < 2:
        return
    started: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        command = [sys.executable, "-c", _PROGRAM]
        try:
            process = subprocess.Popen(  # noqa: S603 - this interpreter, and a program of ours
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except OSError:
            return
        started.append(process)
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        try:
            process.stdin.write(pickle.dumps((other_half, about)))
            process.stdin.flush()
        except BrokenPipeError:  # it has ended; what it would have compiled is compiled here
            return

    try:
        with when_compiling(start):
            one_half(about)
        for process in started:
            process.wait(_LONGEST)
    except subprocess.TimeoutExpired:
        return
    finally:
        for process in started:
            process.kill()
            process.communicate()
