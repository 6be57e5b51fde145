"""How kernels read the numbers of Avro."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined
from stream_anon.formats.writing.varints import MOST_VARINT, read_zigzag


@checked_inlined
def read_long(text: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return a zigzag integer of 64 bits, and the place behind it, -1 if it is none."""
    number, after = read_zigzag(text, at, stop)
    if after - at == MOST_VARINT and text[after - 1] > 1:  # it has more bits
        after = -1
    return number, after
