"""Integers of a varying number of bytes, seven bits in each, the lowest first: as Avro and Protobuf have them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined

MOST_VARINT = 10
"""The bytes that 64 bits take."""

_LOWER, _MORE, _BITS, _UPPER_CLEAR = 0x7F, 0x80, 64, 2**57 - 1
_BYTES = [bytes([number]) for number in range(_LOWER + 1)]


@checked_inlined
def read_varint(text: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return 64 bits, and the place behind them, -1 if there are none; bits beyond them are dropped."""
    if at < stop and text[at] < _MORE:
        return int(text[at]), at + 1
    number = np.int64(0)
    shift = np.int64(0)
    stop = min(stop, at + MOST_VARINT)
    while at < stop:
        byte = np.int64(text[at])
        at += 1
        number |= (byte & _LOWER) << shift
        if byte < _MORE:
            return int(number), at
        shift += 7
    return 0, -1


@checked_inlined
def put_varint(number: int, out: NDArray[np.uint8], place: int) -> int:
    """Write 64 bits; return the place behind them."""
    while number & ~_LOWER:
        out[place] = (number & _LOWER) | _MORE
        number = (number >> 7) & _UPPER_CLEAR
        place += 1
    out[place] = number
    return place + 1


@checked_inlined
def varint_size(number: int) -> int:
    """Return how many bytes 64 bits take."""
    size = 1
    while number & ~_LOWER:
        number = (number >> 7) & _UPPER_CLEAR
        size += 1
    return size


def varint(number: int) -> bytes:
    """Return the bytes of an integer that is not negative; `OverflowError` for one of more than 64 bits."""
    if number <= _LOWER:
        return _BYTES[number]
    if number.bit_length() > _BITS:
        raise OverflowError
    found = bytearray()
    while number > _LOWER:
        found.append(number & _LOWER | _MORE)
        number >>= 7
    found.append(number)
    return bytes(found)
