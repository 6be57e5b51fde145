"""Compress the records of a batch, as Kafka's clients do; `bulk.unpacking` is the way back."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from aiokafka.codec import lz4_encode, snappy_encode, zstd_encode

_GZIP_LEVEL = 6  # zlib's own default; level 9 takes several times as long for about the same size
_LZ4_LEVEL = 1
_ZSTD_LEVEL = 3  # as brokers and Java's client have it
NONE = "none"


class Packer(NamedTuple):
    """A kind of compression.

    Parameters
    ----------
    flag
        Its bits in the attributes of a batch.
    pack
        Returns the compressed bytes.
    """

    flag: int
    pack: Callable[[bytes], bytes]


def _gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(_GZIP_LEVEL, wbits=31)  # a gzip stream without a time in its head
    return packer.compress(data) + packer.flush()


PACKERS: Mapping[str, Packer] = {
    NONE: Packer(0, bytes),
    "gzip": Packer(1, _gzip),
    "snappy": Packer(2, snappy_encode),
    "lz4": Packer(3, partial(lz4_encode, level=_LZ4_LEVEL)),
    "zstd": Packer(4, partial(zstd_encode, level=_ZSTD_LEVEL)),
}
"""By the names that Kafka's clients give them."""


def packed(data: memoryview, compression: str) -> tuple[int, bytes | None]:
    """Return the flag and the compressed records of a batch; 0 and None where nothing would be saved."""
    packer = PACKERS[compression]
    if not packer.flag:
        return 0, None
    found = packer.pack(bytes(data))
    return (packer.flag, found) if len(found) < len(data) else (0, None)
