"""Copy a few numbers from array to array."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from stream_anon.compiled import bare_kernel


@bare_kernel
def copy_to(target: NDArray[Any], source: NDArray[Any]) -> None:
    """Copy source[m] into the first places of target[at least m].

    An assignment between slices would compare their shapes and know how to complain, which takes the compiler
    seconds.
    """
    for i in range(len(source)):
        target[i] = source[i]
