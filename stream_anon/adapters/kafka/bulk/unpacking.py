"""Unpack compressed batches in bounded memory: a few kilobytes of a producer's may hold gigabytes.

A small batch is unpacked in one go. A larger one becomes a stream, which gives as many bytes at a time as asked.
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import cramjam

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

AT_ONE_GO = 8 * 1024 * 1024
"""Bytes up to which a batch is unpacked at one go; more than batches of ordinary producers hold."""
_FIRST = 64 * 1024
_WIDER = 8
_PART, _PARTS = 1024, 64
"""A stream may have `_PARTS` parts (members, frames or blocks), and one more for each `_PART` bytes that they give.

Compressors make larger parts. To begin one takes the time of up to 10 kB: a megabyte of empty ones that of 500 MB.
"""
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEAD, _XERIAL_LENGTH = 16, 4  # bytes
_GZIP = b"\x1f\x8b"
_SLICE = 4096
_SNAPPY_PACKS = 22  # 64 bytes into 3 at the best
_LZ4_MAGIC, _LZ4_LENGTH = 0x184D2204, 0x7FFFFFFF
_LZ4_BLOCKS = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}


class TooLargeError(Exception):
    """A batch unpacks to more than `AT_ONE_GO` bytes, or its compression is not sound."""


class UnsoundError(Exception):
    """The compression of a batch is not sound, or of a kind that no Kafka consumer reads."""


class Stream(Protocol):
    """A batch that is unpacked piece by piece."""

    def read(self, most: int) -> bytes:
        """Return some of the next bytes, about `most`; none at the end. May raise anything if it is not sound."""
        ...


def _by(stream: Callable[[bytes], Stream]) -> Callable[[bytes], bytes]:
    def unpack(data: bytes) -> bytes:
        parts, room, source = list[bytes](), AT_ONE_GO, stream(data)
        while part := source.read(room + 1):
            parts.append(part)
            room -= len(part)
            if room < 0:
                raise TooLargeError
        return b"".join(parts)

    return unpack


def _into(decompress_into: Callable[[bytes, bytearray], int]) -> Callable[[bytes], bytes]:
    def unpack(data: bytes) -> bytes:
        size = min(_FIRST + _WIDER * len(data), AT_ONE_GO)
        while True:
            room = bytearray(size)
            try:
                return bytes(memoryview(room)[: decompress_into(data, room)])
            except cramjam.DecompressionError:  # of both: too little room, and no such stream
                if size == AT_ONE_GO:
                    raise TooLargeError from None
            size = min(_WIDER * size, AT_ONE_GO)

    return unpack


def _unlz4(data: bytes) -> bytes:
    """Unpack the first frame. Kafka's own consumer passes over what is behind it, and `_lz4_blocks` does so too."""
    flags = data[4]
    at, length = 7 + (8 if flags & 8 else 0), 1
    while length:
        length = struct.unpack_from("<I", data, at)[0] & _LZ4_LENGTH
        at += 4 + length + (4 if flags & 16 and length else 0)
    return _unlz4_frame(data[: at + (4 if flags & 4 else 0)])


_unlz4_frame = _into(cramjam.lz4.decompress_into)


class _Sliced:
    """Bytes that are given out a slice at a time, and taken back in part.

    Whatever is behind the end of a frame is copied. So a frame is given a slice and never the rest of the batch, or
    a batch of a megabyte with 100,000 empty frames would take the time of 50 GB.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def next(self) -> bytes:
        given = self._data[self._at : self._at + _SLICE]
        self._at += len(given)
        return given

    def take_back(self, rest: bytes) -> None:
        self._at -= len(rest)

    def begins(self, mark: bytes) -> bool:
        return self._data.startswith(mark, self._at)


class _Parts:
    """Bounds the number of a batch's parts; see `_PART`."""

    def __init__(self) -> None:
        self._room = _PART * _PARTS

    def give(self, found: bytes) -> bytes:
        """Return what was found, and allow as many parts more as it is long."""
        self._room += len(found)
        return found

    def begin(self) -> None:
        """Count one more; raises UnsoundError if they are too many."""
        self._room -= _PART
        if self._room < 0:
            raise UnsoundError


class _Gzip:
    """Consecutive members. As Java's reader does, this one passes over what is behind them and begins no other."""

    def __init__(self, data: bytes) -> None:
        self._rest, self._parts = _Sliced(data), _Parts()
        self._member = zlib.decompressobj(wbits=31)

    def read(self, most: int) -> bytes:
        while True:
            if self._member.eof:
                if not self._rest.begins(_GZIP):
                    return b""
                self._parts.begin()
                self._member = zlib.decompressobj(wbits=31)
            given = self._rest.next()
            found = self._member.decompress(given, most)
            self._rest.take_back(self._member.unused_data if self._member.eof else self._member.unconsumed_tail)
            if found:
                return self._parts.give(found)
            if not given and not self._member.eof:
                raise UnsoundError


class _Zstd:
    """Consecutive frames; the window of a frame may take 128 MiB, as Kafka's own consumer allows."""

    def __init__(self, data: bytes) -> None:
        self._rest, self._parts = _Sliced(data), _Parts()
        self._frame = zstd.ZstdDecompressor()

    def read(self, most: int) -> bytes:
        while True:
            if self._frame.eof:
                if not self._rest:
                    return b""
                self._parts.begin()
                self._frame = zstd.ZstdDecompressor()
            given = self._rest.next() if self._frame.needs_input else b""
            found = self._frame.decompress(given, most)
            if self._frame.eof:
                self._rest.take_back(self._frame.unused_data)
            if found:
                return self._parts.give(found)
            if self._frame.needs_input and not self._frame.eof and not self._rest:
                raise UnsoundError


class _Blocks:
    """A stream of whole blocks, each of which the format bounds."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._parts = blocks, _Parts()

    def read(self, most: int) -> bytes:  # noqa: ARG002 - see `Stream`
        for block in self._blocks:
            self._parts.begin()
            if block:
                return self._parts.give(block)
        return b""


def _snappy_blocks(data: bytes) -> Iterator[bytes]:
    """Yield what is packed in the frames of Java's library, or in a single block.

    As its reader does, this one takes several such streams for one, and leaves what is no whole length at the end.
    """
    if not data.startswith(_XERIAL):
        yield _snappy_block(data)
        return
    at = _XERIAL_HEAD
    while len(data) - at >= _XERIAL_LENGTH:
        if data.startswith(_XERIAL, at):
            at += _XERIAL_HEAD
            continue
        (size,) = struct.unpack_from(">I", data, at)
        at += _XERIAL_LENGTH
        if size > len(data) - at:
            raise UnsoundError
        yield _snappy_block(data[at : at + size])
        at += size


def _snappy_block(block: bytes) -> bytes:
    if cramjam.snappy.decompress_raw_len(block) > _SNAPPY_PACKS * len(block) + _FIRST:
        raise UnsoundError
    return bytes(cramjam.snappy.decompress_raw(block))


def _lz4_blocks(data: bytes) -> Iterator[bytes]:
    """Yield the blocks of a frame; as in Kafka's own consumer, only blocks that do not depend on each other."""
    magic, flags, size = struct.unpack_from("<IBB", data)
    most = _LZ4_BLOCKS.get(size >> 4 & 7)
    if magic != _LZ4_MAGIC or flags >> 6 != 1 or not flags & 32 or most is None:
        raise UnsoundError
    room = bytearray(most)
    at = 7 + (8 if flags & 8 else 0)
    while True:
        (head,) = struct.unpack_from("<I", data, at)
        length = head & _LZ4_LENGTH
        if not length:
            return
        block = data[at + 4 : at + 4 + length]
        if len(block) < length or length > most:
            raise UnsoundError
        if head >> 31:  # compression would not have made it smaller
            yield block
        else:
            filled = cramjam.lz4.decompress_block_into(block, room, output_len=most)
            yield bytes(memoryview(room)[:filled])
        at += 4 + length + (4 if flags & 16 else 0)


def _snappy(data: bytes) -> Stream:
    return _Blocks(_snappy_blocks(data))


UNPACK: dict[int, Callable[[bytes], bytes]] = {
    1: _by(_Gzip),
    2: _by(_snappy),
    3: _unlz4,
    4: _into(cramjam.zstd.decompress_into),
}
"""What unpacks a batch of each codec at one go. Raises TooLargeError, and anything where it is not sound."""

STREAMS: dict[int, Callable[[bytes], Stream]] = {
    1: _Gzip,
    2: _snappy,
    3: lambda data: _Blocks(_lz4_blocks(data)),
    4: _Zstd,
}
"""What unpacks a batch of each codec piece by piece. For what is not sound anything may be raised."""
