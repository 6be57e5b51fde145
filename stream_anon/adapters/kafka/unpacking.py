"""Unpack compressed batches, but no more than so many bytes: a few kilobytes of a producer's may hold gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import cramjam
from aiokafka.codec import snappy_decode

MOST = 64 * 1024 * 1024
_FIRST = 64 * 1024
_WIDER = 8


class TooLargeError(Exception):
    """A batch unpacks to more than `MOST` bytes, or its compression is not sound."""


def _gunzip(data: bytes) -> bytes:
    parts, room = [], MOST
    while data:
        member = zlib.decompressobj(wbits=31)
        parts.append(member.decompress(data, room + 1))
        room -= len(parts[-1])
        if room < 0 or not member.eof:
            raise TooLargeError
        data = member.unused_data
    return b"".join(parts)


def _into(decompress_into: Callable[[bytes, bytearray], int]) -> Callable[[bytes], bytes]:
    def unpack(data: bytes) -> bytes:
        size = min(_FIRST + _WIDER * len(data), MOST)
        while True:
            room = bytearray(size)
            try:
                return bytes(memoryview(room)[: decompress_into(data, room)])
            except cramjam.DecompressionError:  # of both: too little room, and no such stream
                if size == MOST:
                    raise TooLargeError from None
            size = min(_WIDER * size, MOST)

    return unpack


def _unsnap(data: bytes) -> bytes:
    if len(data) > MOST // 16:  # it packs 64 bytes into 3 at the best
        raise TooLargeError
    return bytes(snappy_decode(data))


UNPACK: dict[int, Callable[[Any], bytes]] = {
    1: _gunzip,
    2: _unsnap,
    3: _into(cramjam.lz4.decompress_into),
    4: _into(cramjam.zstd.decompress_into),
}
