"""How kernels copy bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined


@checked_inlined
def copied(source: NDArray[np.int64], start: int, stop: int, target: NDArray[np.int64], place: int) -> int:
    """Copy bytes, eight at once and perhaps some too many; return the place for the next ones.

    `source` and `target` are words (`keys.padded_words`).
    """
    after = place + stop - start
    while start < stop:
        target[place] = source[start]
        start += 8
        place += 8
    return after
