"""The head of a record batch of format 2: 61 bytes before its records, all numbers big end first."""

from __future__ import annotations

import struct
from typing import NamedTuple, Self

_FIELDS = struct.Struct(">qiibIhiqqqhii")
HEAD = _FIELDS.size
"""Bytes of a head."""
# Where the fields stand that kernels read: places in bytes.
LENGTH_AT, FORMAT_AT, CHECKSUM_AT, ATTRIBUTES_AT = 8, 16, 17, 21
LAST_OFFSET_AT, FIRST_TIME_AT, LARGEST_TIME_AT, COUNT_AT = 23, 27, 35, 57
AFTER_LENGTH = 12
"""Where begins what a batch's length counts; what its checksum covers begins at `ATTRIBUTES_AT`."""
FORMAT_2 = 2
COMPRESSION, APPEND_TIME, TRANSACTIONAL, MARKERS = 0b111, 0b1000, 0b1_0000, 0b10_0000
"""Bits of the attributes."""


class BatchHead(NamedTuple):
    """The fields of a head.

    Parameters
    ----------
    length
        Bytes of the batch behind this field.
    last_offset
        The largest difference of a record's offset to `base_offset`.
    first_time
        The time from which records count theirs; like `largest_time` in milliseconds since the epoch.
    records
        How many follow.
    """

    base_offset: int = 0
    length: int = 0
    leader_epoch: int = -1
    format: int = FORMAT_2
    checksum: int = 0
    attributes: int = 0
    last_offset: int = 0
    first_time: int = 0
    largest_time: int = 0
    producer: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    records: int = 0

    @classmethod
    def at(cls, data: bytes, place: int = 0) -> Self:
        """Return the head that begins at a place."""
        return cls(*_FIELDS.unpack_from(data, place))

    def packed(self) -> bytes:
        """Return its bytes."""
        return _FIELDS.pack(*self)

    @property
    def codec(self) -> int:
        """Return the number of its compression; 0 for none."""
        return self.attributes & COMPRESSION

    @property
    def fixed_time(self) -> int | None:
        """Return the time of all records if the broker has set it; None if each has its own."""
        return self.largest_time if self.attributes & APPEND_TIME else None

    @property
    def next_offset(self) -> int:
        """Return the offset behind the batch; compaction keeps it even if the last record is gone."""
        return self.base_offset + max(self.last_offset, 0) + 1
