"""CRC-32C, eight bytes at once (Kounavis and Berry, 2008), for kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined


def _crc_tables() -> NDArray[np.int64]:
    """Return a table for each of eight bytes; int64[8, 256]."""
    tables = np.zeros((8, 256), np.int64)
    rest = np.arange(256)
    for _ in range(8):
        rest = (rest >> 1) ^ np.where(rest & 1, 0x82F63B78, 0)
    tables[0] = rest
    for row in range(1, 8):
        tables[row] = (tables[row - 1] >> 8) ^ tables[0][tables[row - 1] & 255]
    return tables


_TABLES = _crc_tables()


@checked_inlined
def crc32c(data: NDArray[np.uint8], words: NDArray[np.int64], at: int, end: int) -> int:
    """Return the checksum of the bytes from `at` to `end`; `words` are those of `keys.padded_words`."""
    rest = 0xFFFFFFFF
    while at + 8 <= end:
        word = words[at] ^ rest
        rest = (
            _TABLES[7, word & 255]
            ^ _TABLES[6, (word >> 8) & 255]
            ^ _TABLES[5, (word >> 16) & 255]
            ^ _TABLES[4, (word >> 24) & 255]
            ^ _TABLES[3, (word >> 32) & 255]
            ^ _TABLES[2, (word >> 40) & 255]
            ^ _TABLES[1, (word >> 48) & 255]
            ^ _TABLES[0, (word >> 56) & 255]
        )
        at += 8
    while at < end:
        rest = (rest >> 8) ^ _TABLES[0, (rest ^ data[at]) & 255]
        at += 1
    return rest ^ 0xFFFFFFFF
