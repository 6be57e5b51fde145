"""The headers of one record, from its bytes."""

from __future__ import annotations

from stream_anon.adapters.kafka.bulk.unpacking import UnsoundError
from stream_anon.formats.writing.varints import varint_at

MOST_RECORD = 16 * 1024 * 1024
"""Bytes of a record's key, value and headers; a larger one is not sound, unless its batch takes as many packed."""
EACH_HEADER = 128
"""Bytes that the objects of a header take in memory, beside those of the header."""
_MOST_NUMBER = 5  # bytes of a number of 32 bits

Headers = tuple[tuple[str, bytes | None], ...]


def read_headers(text: bytes) -> Headers:
    """Return the headers of a record; of a name that is no UTF-8 with signs in the place of what is none.

    Raises
    ------
    UnsoundError
        If the bytes are none, or if they would take more than `MOST_RECORD`.
    """
    count, at = _varint(text, 0)
    if not 0 <= count <= MOST_RECORD // EACH_HEADER:
        raise UnsoundError
    found = []
    for _ in range(count):
        size, at = _varint(text, at)
        name, at = text[at : at + size], at + size
        if size < 0 or at > len(text):
            raise UnsoundError
        size, at = _varint(text, at)
        value = None if size < 0 else text[at : at + size]
        at += max(size, 0)
        if at > len(text):
            raise UnsoundError
        found.append((name.decode("utf-8", "replace"), value))
    if at != len(text):
        raise UnsoundError
    return tuple(found)


def _varint(text: bytes, at: int) -> tuple[int, int]:
    """Return a zigzag varint of 32 bits and the place behind it; bits beyond are dropped, as Java does."""
    found = varint_at(text, at, _MOST_NUMBER)
    if found is None:
        raise UnsoundError
    value = found[0] & 2**32 - 1
    return value >> 1 ^ -(value & 1), found[1]
