"""Offset syncs of MirrorMaker 2 as bytes."""

from __future__ import annotations

import struct

import pytest

from stream_anon.adapters.kafka.topics.offset_syncs import sync_of

KEY = struct.pack(">h", 6) + b"people" + struct.pack(">i", 3)
VALUE = struct.pack(">qq", 700, 512)


def test_a_sync_names_a_partition_and_both_offsets_of_one_record() -> None:
    assert sync_of(KEY, VALUE) == (("people", 3), 700, 512)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", VALUE),
        (KEY, b""),
        (KEY[:-1], VALUE),
        (KEY + b"x", VALUE),
        (KEY, VALUE + b"x"),
        (struct.pack(">h", -1) + KEY[2:], VALUE),
        (struct.pack(">h", 6) + b"\xff" * 6 + KEY[-4:], VALUE),
        (KEY, struct.pack(">qq", -1, 512)),
    ],
)
def test_a_record_that_is_no_sync_is_refused_without_quoting_it(key: bytes, value: bytes) -> None:
    with pytest.raises(ValueError, match="no offset sync") as raised:
        sync_of(key, value)
    assert "people" not in str(raised.value)
