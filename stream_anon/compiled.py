"""Compile kernels: the only module that imports numba.

A kernel is a free function on arrays without branches on configuration. It runs without the interpreter
lock, so that a window can be partitioned while the next one fills.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

_F = TypeVar("_F", bound=Callable[..., object])


def kernel(function: _F) -> _F:
    """Compile `function` at its first call, without the interpreter lock, cached on disk."""
    return cast("_F", numba.njit(cache=True, nogil=True)(function))
