"""At one go and piece by piece the same is unpacked, and what Kafka's own consumer unpacks."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable

import pytest
from aiokafka.codec import lz4_encode, zstd_encode

from stream_anon.adapters.kafka.bulk.unpacking import STREAMS, UNPACK, UnsoundError
from tests.support.hostile_batches import GZIP, LZ4, SNAPPY, ZSTD, empty_frames, empty_members

TEXT = bytes(range(256)) * 1_000
EMPTY = lz4_encode(b"")
HEAD = bytes.fromhex("04224d18604082")  # of a frame without checksums


def at_one_go(data: bytes) -> bytes:
    return UNPACK[LZ4](data)


def piece_by_piece(data: bytes, codec: int = LZ4) -> bytes:
    stream, parts = STREAMS[codec](data), list[bytes]()
    while part := stream.read(4_096):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("unpack", [at_one_go, piece_by_piece])
@pytest.mark.parametrize("behind", [b"", b"\1\2\3", lz4_encode(b"another frame"), EMPTY * 1_000])
def test_of_lz4_the_first_frame_counts_whatever_is_behind_it(
    unpack: Callable[[bytes], bytes], behind: bytes
) -> None:
    assert unpack(lz4_encode(TEXT) + behind) == TEXT
    assert unpack(EMPTY + behind) == b""


@pytest.mark.parametrize("mark", [0, 1 << 31])
def test_a_block_of_no_length_ends_a_frame_of_lz4(mark: int) -> None:
    block = struct.pack("<I", 3 | 1 << 31) + b"abc"
    assert piece_by_piece(HEAD + block + struct.pack("<I", mark) + block) == b"abc"


def xerial(sizes: list[int]) -> bytes:
    """Return a stream of snappy with blocks of so many bytes; one of up to 60 is its length, a mark and itself."""
    blocks = (bytes([size, size - 1 << 2]) + TEXT[:size] if size else b"\0" for size in sizes)
    return b"\x82SNAPPY\0" + bytes(8) + b"".join(struct.pack(">I", len(block)) + block for block in blocks)


def lz4_blocks(sizes: list[int]) -> bytes:
    """Return a frame with blocks of so many bytes; a compressed one may be empty."""
    blocks = (
        struct.pack("<I", size | 1 << 31) + TEXT[:size] if size else struct.pack("<I", 1) + b"\0" for size in sizes
    )
    return HEAD + b"".join(blocks) + bytes(4)


EMPTY_PARTS = {
    GZIP: empty_members,
    SNAPPY: lambda n: xerial([0] * n),
    LZ4: lambda n: lz4_blocks([0] * n),
    ZSTD: empty_frames,
}


@pytest.mark.parametrize("codec", EMPTY_PARTS)
def test_a_few_empty_parts_are_read_and_thousands_are_not_sound(codec: int) -> None:
    assert piece_by_piece(EMPTY_PARTS[codec](60), codec) == b""
    with pytest.raises(UnsoundError):
        piece_by_piece(EMPTY_PARTS[codec](10_000), codec)


@pytest.mark.parametrize("codec", [GZIP, ZSTD])
def test_parts_of_a_kilobyte_are_read_however_many_they_are(codec: int) -> None:
    pack = gzip.compress if codec == GZIP else zstd_encode
    part = TEXT[:1_024]
    assert piece_by_piece(pack(part) * 1_000, codec) == part * 1_000
