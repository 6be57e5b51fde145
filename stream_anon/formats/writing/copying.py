"""How kernels copy bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_inlined


@bare_inlined
def copied(source: NDArray[np.int64], start: int, stop: int, target: NDArray[np.int64], place: int) -> int:
    """Copy bytes, eight at once and perhaps some too many; return the place for the next ones.

    `source` and `target` are words (`keys.padded_words`). Both spans are compared with them once, IndexError if one
    reaches beyond, so the loop is not checked.
    """
    after = place + stop - start
    if start < 0 or place < 0 or stop > len(source) or after > len(target):
        raise IndexError("a text reaches beyond its source or its room")
    while start < stop:
        target[place] = source[start]
        start += 8
        place += 8
    return after
