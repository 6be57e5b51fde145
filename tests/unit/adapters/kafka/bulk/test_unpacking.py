"""At one go and piece by piece the same is unpacked, and what Kafka's own consumer unpacks."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from aiokafka.codec import lz4_encode

from stream_anon.adapters.kafka.bulk.unpacking import STREAMS, UNPACK
from tests.support.hostile_batches import LZ4

TEXT = bytes(range(256)) * 1_000
EMPTY = lz4_encode(b"")
HEAD = bytes.fromhex("04224d18604082")  # of a frame without checksums


def at_one_go(data: bytes) -> bytes:
    return UNPACK[LZ4](data)


def piece_by_piece(data: bytes) -> bytes:
    stream, parts = STREAMS[LZ4](data), list[bytes]()
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
