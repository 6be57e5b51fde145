"""Kernels are compiled once, not once per test process.

Two processes that need the same kernel at the same time, before it is in the cache on disk, both compile it. Here
the second one waits for the first, and then finds it in the cache.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path
from typing import Any


def compile_in_turn() -> None:
    """Let processes that compile the same kernel take turns.

    The interpreter-wide lock of the compiler is taken first: two threads of one process never wait for each other's
    file. A kernel waits for those that it calls, never the other way round, so neither do two processes.
    """
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    compile_at_once: Callable[..., Any] = Dispatcher.compile

    def compile_when_free(self: Any, signature: Any) -> Any:
        folder = getattr(self._cache, "cache_path", None)
        if folder is None:
            return compile_at_once(self, signature)
        code = self.py_func.__code__
        place = Path(folder) / f"{Path(code.co_filename).stem}.{code.co_qualname}.lock"
        place.parent.mkdir(parents=True, exist_ok=True)
        with global_compiler_lock, place.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # falls with the file
            return compile_at_once(self, signature)

    Dispatcher.compile = compile_when_free
