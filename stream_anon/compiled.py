"""Compile kernels: the only module that imports numba.

A kernel is a free function on arrays without branches on configuration. It runs without the interpreter
lock, so that a window can be partitioned while the next one fills.

Compiled kernels are kept on disk. numba drops one when its own file changes, but not when a kernel in another file
that was compiled into it does; so the folder is named after all sources, and an update never runs old code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import numba
import numpy as np
from numba.core import event

_F = TypeVar("_F", bound=Callable[..., object])
_V = TypeVar("_V", bool, int)
_PACKAGE = Path(__file__).parent
_ROOMS = ("microdata", "privacy", "clustering", "windowing", "engine", "adapters/json")
_SOURCES = (*(f"{room}/**/*.py" for room in _ROOMS), "adapters/kafka/bulk/record_kernels.py")


class _NumbaSettings(Protocol):
    CACHE_DIR: str


@cache
def _sources() -> str:
    """Return a digest of every source that may hold a kernel."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for pattern in _SOURCES:
        for path in sorted(_PACKAGE.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def constant(value: _V) -> _V:
    """Return a constant to call kernels with.

    A plain one is a type of its own to numba, and each kernel that it is passed to is compiled once more for it.
    """
    return cast("_V", np.array(value)[()])


def kernel(function: _F) -> _F:
    """Compile `function` at its first call, without the interpreter lock, cached on disk.

    The cache lies in numba's own folder if one is set, else beside this file; where that cannot be written numba
    finds a place of its own, and where no place can be written each process compiles for itself.
    """
    return _compiled(function, within=False)


def inlined(function: _F) -> _F:
    """Compile `function` into each kernel that calls it.

    For small functions in hot loops: a call that passes a named tuple of arrays counts references to each of them,
    about 8 ns an array.
    """
    return _compiled(function, within=True)


def bare_kernel(function: _F) -> _F:
    """Compile a kernel that makes no array and returns none.

    A part of an array that it takes is there while the call lasts. It counts no references to its arrays, which
    costs an ordinary kernel more than a short inner function does: about 10 ns for each array at each call, inlined
    or not, and every array of a named tuple counts.
    """
    return _compiled(function, within=False, counted=False)


def bare_inlined(function: _F) -> _F:
    """Compile such a function into each kernel that calls it."""
    return _compiled(function, within=True, counted=False)


class _Notice(event.Listener):
    """Call `tell` at the first kernel that is compiled."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell

    def on_start(self, _event: object) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()

    def on_end(self, _event: object) -> None:
        pass


@contextmanager
def when_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once if a kernel is compiled while the block lasts, since no cache holds it.

    It is called in the thread that compiles, before it does; it must not raise.
    """
    notice = _Notice(tell)
    events = cast("Any", event)  # its functions have no types
    events.register("numba:compile", notice)
    try:
        yield
    finally:
        events.unregister("numba:compile", notice)


def _compiled(function: _F, *, within: bool, counted: bool = True) -> _F:
    settings = cast("_NumbaSettings", numba.config)
    chosen = settings.CACHE_DIR
    settings.CACHE_DIR = str(Path(chosen or _PACKAGE / "__pycache__") / f"kernels-{_sources()}")
    # numba's own tests switch reference counts off in this way; its types know nothing of it.
    compiled = cast("Any", numba.njit)
    try:
        return cast("_F", compiled(cache=True, nogil=True, forceinline=within, _nrt=counted)(function))
    except RuntimeError:  # numba finds no folder that it can write, as on a read-only file system
        return cast("_F", compiled(nogil=True, forceinline=within, _nrt=counted)(function))
    finally:
        settings.CACHE_DIR = chosen
