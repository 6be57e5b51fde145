"""How kernels read and write the numbers of Avro."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined
from stream_anon.formats.writing.varints import MOST_VARINT, put_varint, read_varint

_MOST_LONG = 2**63 - 1


@checked_inlined
def read_long(text: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return a zigzag integer of 64 bits, and the place behind it, -1 if it is none."""
    number, after = read_varint(text, at, stop)
    if after - at == MOST_VARINT and text[after - 1] > 1:  # it has more bits
        after = -1
    return ((number >> 1) & _MOST_LONG) ^ -(number & 1), after


@checked_inlined
def put_long(number: int, out: NDArray[np.uint8], place: int) -> int:
    """Write an integer of 64 bits, zigzag; return the place behind it."""
    return put_varint((number << 1) ^ (number >> 63), out, place)
