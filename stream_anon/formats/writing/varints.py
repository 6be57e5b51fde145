"""Integers of a varying number of bytes, seven bits in each, the lowest first: of Avro, Protobuf and Kafka.

A zigzag integer may be negative: its sign is the lowest bit, 0, -1, 1, -2 and so on are 0, 1, 2, 3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined

MOST_VARINT = 10
"""The bytes that 64 bits take."""
MOST_SHORT = 5
"""The bytes that 32 bits take."""

_LOWER, _MORE, _STEP, _BITS, _UPPER_CLEAR = 0x7F, 0x80, 7, 64, 2**57 - 1
_MOST_LONG = 2**63 - 1
_LOWER_HALF = 2**32 - 1
_BYTES = [bytes([number]) for number in range(_LOWER + 1)]


@checked_inlined
def read_within(text: NDArray[np.uint8], at: int, stop: int, most: int) -> tuple[int, int]:
    """Return the integer of at most `most` bytes, and the place behind it, -1 if it does not end within them."""
    number, shift = np.int64(0), 0
    while at < stop and shift < _STEP * most:
        byte = np.int64(text[at])
        at += 1
        number |= (byte & _LOWER) << shift
        if byte < _MORE:
            return int(number), at
        shift += _STEP
    return 0, -1


@checked_inlined
def read_varint(text: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return 64 bits, and the place behind them, -1 if there are none; bits beyond them are dropped."""
    if at < stop and text[at] < _MORE:
        return int(text[at]), at + 1
    return read_within(text, at, stop, MOST_VARINT)


@checked_inlined
def read_zigzag(text: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return a zigzag integer of 64 bits, and the place behind it, as `read_varint`."""
    number, after = read_varint(text, at, stop)
    return ((number >> 1) & _MOST_LONG) ^ -(number & 1), after


@checked_inlined
def read_short_zigzag(text: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return a zigzag integer of 32 bits, and the place behind it, -1 if it does not end with its fifth byte.

    Kafka's own clients and brokers drop what its fifth byte holds beyond 32 bits.
    """
    number, after = read_within(text, at, stop, MOST_SHORT)
    number &= _LOWER_HALF
    return (number >> 1) ^ -(number & 1), after


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


@checked_inlined
def put_zigzag(number: int, out: NDArray[np.uint8], place: int) -> int:
    """Write an integer of 64 bits, zigzag; return the place behind it."""
    return put_varint((number << 1) ^ (number >> 63), out, place)


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


def zigzag(number: int) -> bytes:
    """Return the bytes of a zigzag integer of 64 bits; `OverflowError` for a longer one."""
    return varint(number << 1 if number >= 0 else ~(number << 1))


def varint_at(data: bytes, at: int, most: int) -> tuple[int, int] | None:
    """Return the integer at a place and the place behind it; None if it does not end within `most` bytes."""
    value = 0
    for turn, byte in enumerate(data[at : at + most]):
        value |= (byte & _LOWER) << 7 * turn
        if byte < _MORE:
            return value, at + turn + 1
    return None
