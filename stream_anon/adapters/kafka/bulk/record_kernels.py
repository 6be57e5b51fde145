"""Read record batches of format 2 as columns, without an object for each record and without the lock.

Each record is its length, attributes, the differences of its time and offset to the head's, key, value and headers,
with all numbers as zigzag varints. The kernels never guess: where the bytes do not fit, they say how far they came,
and the batch counts as unreadable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.kafka.bulk.batch_head import (
    AFTER_LENGTH,
    APPEND_TIME,
    ATTRIBUTES_AT,
    CHECKSUM_AT,
    COMPRESSION,
    COUNT_AT,
    FIRST_TIME_AT,
    FORMAT_2,
    FORMAT_AT,
    HEAD,
    LARGEST_TIME_AT,
    LAST_OFFSET_AT,
    LENGTH_AT,
    MARKERS,
)
from stream_anon.adapters.kafka.bulk.checksum_kernels import crc32c
from stream_anon.adapters.kafka.bulk.header_kernels import HeaderTable, put_headers
from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.formats.writing.varints import MOST_SHORT, read_short_zigzag, read_zigzag

_NEWLINE = ord("\n")
LEAST_RECORD = 7  # bytes
RECORDS, FILLED, NEXT, BROKEN = range(4)
"""What `read_run` has found: places in `found`."""
COUNT, AT, LAST, NEEDED = range(4)
"""What `read_spans` has found: places in `found`."""
SPANS = 8
"""How many numbers `read_spans` writes of a record."""


class RecordRoom(NamedTuple):
    """Room for n records.

    Parameters
    ----------
    values, words
        uint8[], int64[]: the values, a newline behind each, and the words of that room (`keys.padded_words`).
    stops, offsets, times, missing
        int64[n], int64[n], int64[n], bool[n]: where each value ends, and whether there is none.
    """

    values: NDArray[np.uint8]
    words: NDArray[np.int64]
    stops: NDArray[np.int64]
    offsets: NDArray[np.int64]
    times: NDArray[np.int64]
    missing: NDArray[np.bool_]


@checked_inlined
def _big(data: NDArray[np.uint8], at: int, width: int) -> int:
    """Return the number of `width` bytes at a place, big end first, with its sign."""
    value = np.int64(data[at])
    if value > 127:
        value -= 256
    for place in range(at + 1, at + width):
        value = value << 8 | np.int64(data[place])
    return int(value)


@checked_kernel
def survey(data: NDArray[np.uint8], at: int, found: NDArray[np.int64]) -> None:
    """Find how far whole batches of format 2 without compression reach, from one at `at` on.

    Parameters
    ----------
    data
        uint8[]: consecutive batches; the last one may be cut off.
    found
        int64[2], written: where they end, and how many records they may hold.
    """
    records = 0
    while at + HEAD <= len(data):
        length = _big(data, at + LENGTH_AT, 4)
        end = at + AFTER_LENGTH + length
        count = _big(data, at + COUNT_AT, 4)
        if (
            length < HEAD - AFTER_LENGTH
            or end > len(data)
            or data[at + FORMAT_AT] != FORMAT_2
            or _big(data, at + ATTRIBUTES_AT, 2) & COMPRESSION
        ):
            break
        if count < 0 or count > length // LEAST_RECORD:
            break
        records += count
        at = end
    found[0], found[1] = at, records


@checked_inlined
def _read(
    data: NDArray[np.uint8],
    words: NDArray[np.int64],
    head: int,
    end: int,
    room: RecordRoom,
    rule: HeaderTable,
    found: NDArray[np.int64],
) -> bool:
    """Read the records of the batch between two places; return whether they are sound. See `read_run`.

    Brokers store whatever place a record claims in a batch without compression. One beyond the batch's last would
    make its reader miss what others wrote behind it, so places must ascend, and none may be beyond the head's last.
    """
    base_offset, last_offset = _big(data, head, 8), _big(data, head + LAST_OFFSET_AT, 4)
    base_time, fixed = _big(data, head + FIRST_TIME_AT, 8), False
    if _big(data, head + ATTRIBUTES_AT, 2) & APPEND_TIME and _big(data, head + LARGEST_TIME_AT, 8) >= 0:
        base_time, fixed = _big(data, head + LARGEST_TIME_AT, 8), True
    records, filled, after = found[RECORDS], found[FILLED], found[NEXT]
    at, before = head + HEAD, -1
    for _ in range(_big(data, head + COUNT_AT, 4)):
        size, at = read_short_zigzag(data, at, end)
        if at < 0 or size < LEAST_RECORD - 1 or size > end - at:
            return False
        stop = at + size
        time, at = read_zigzag(data, at + 1, stop)
        if at < 0:
            return False
        place, at = read_short_zigzag(data, at, stop)
        if at < 0 or place <= before or place > last_offset:
            return False
        before = place
        size, at = read_short_zigzag(data, at, stop)
        if at < 0 or size > stop - at:
            return False
        size, at = read_short_zigzag(data, at + max(size, 0), stop)
        if at < 0 or max(size, 0) >= stop - at:  # headers have a count
            return False
        if base_offset + place >= after:
            after = base_offset + place + 1
            last = at + max(size, 0)
            if len(rule.parts) and size >= 0:
                filled = put_headers(data, last, stop, rule, room.values, filled)
            while at + 8 <= last:
                room.words[filled] = words[at]
                at += 8
                filled += 8
            room.words[filled] = words[at]
            filled += last - at
            room.stops[records] = filled
            room.missing[records] = size < 0
            room.offsets[records] = after - 1
            room.times[records] = base_time if fixed else base_time + time
            room.values[filled] = _NEWLINE
            filled += 1
            records += 1
        at = stop
    found[RECORDS], found[FILLED], found[NEXT] = records, filled, after
    return at == end


@checked_kernel
def read_run(
    data: NDArray[np.uint8],
    words: NDArray[np.int64],
    at: int,
    end: int,
    checked: bool,
    room: RecordRoom,
    rule: HeaderTable,
    found: NDArray[np.int64],
) -> None:
    """Read the records of batches that `survey` has found; markers of transactions are passed over.

    Parameters
    ----------
    data, words
        uint8[], int64[]: batches and `PADDING`, and their words (`keys.padded_words`).
    at, end
        Where the batches begin and end.
    checked
        Whether their checksums were compared elsewhere.
    room
        Written.
    rule
        What headers put before each value.
    found
        int64[4], updated: records so far, bytes so far, the next offset (records below are left out), and whether
        what was read is broken.
    """
    while at < end:
        stop = at + AFTER_LENGTH + _big(data, at + LENGTH_AT, 4)
        checksum = _big(data, at + CHECKSUM_AT, 4) & 0xFFFFFFFF
        if not checked and crc32c(data, words, at + ATTRIBUTES_AT, stop) != checksum:
            found[BROKEN] = 1
            return
        markers = _big(data, at + ATTRIBUTES_AT, 2) & MARKERS
        if not markers and not _read(data, words, at, stop, room, rule, found):
            found[BROKEN] = 1
            return
        # Compaction keeps the last offset of a batch, even if its record is gone.
        found[NEXT] = max(found[NEXT], _big(data, at, 8) + _big(data, at + LAST_OFFSET_AT, 4) + 1)
        at = stop


@checked_inlined
def _put_spans(
    data: NDArray[np.uint8], at: int, stop: int, before: int, last_offset: int, spans: NDArray[np.int64]
) -> bool:
    """Write where the parts of the record between two places are; return whether it is sound, but for its headers.

    See `read_spans`.
    """
    time, at = read_zigzag(data, at + 1, stop)
    if at < 0:
        return False
    place, at = read_short_zigzag(data, at, stop)
    if at < 0 or place <= before or place > last_offset:
        return False
    spans[0], spans[1] = place, time
    for part in (2, 4):  # key and value
        size, at = read_short_zigzag(data, at, stop)
        if at < 0 or size > stop - at:
            return False
        spans[part], spans[part + 1] = at, at + size if size >= 0 else -1
        at += max(size, 0)
    spans[6], spans[7] = at, stop
    return True


@checked_kernel
def read_spans(
    data: NDArray[np.uint8],
    end: int,
    most: int,
    last_offset: int,
    spans: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    """Find the parts of whole records of a batch, until `spans` is full or a record is not whole or not sound.

    Parameters
    ----------
    data, end
        uint8[]: some of its bytes, and where these end.
    most
        Bytes of a record; a larger one is not sound.
    last_offset
        The largest difference of a record's offset to the batch's.
    spans
        int64[n, SPANS], written: the differences of its offset and its time to the batch's, and where key, value
        and headers begin and end. Where there is no key or no value, its end is -1.
    found
        int64[4], updated: records found by this call; where the next one begins; the difference of the last one's
        offset; and how many bytes the next one needs if it is not whole, -1 if it is not sound, else 0.
    """
    count, at, before, needed = 0, found[AT], found[LAST], 0
    while count < len(spans):
        size, start = read_short_zigzag(data, at, end)
        if start < 0:
            needed = end - at + 1 if end - at < MOST_SHORT else -1
            break
        if size < LEAST_RECORD - 1 or size > most:
            needed = -1
            break
        stop = start + size
        if stop > end:
            needed = stop - at
            break
        if not _put_spans(data, start, stop, before, last_offset, spans[count]):
            needed = -1
            break
        before, at = spans[count, 0], stop
        count += 1
    found[COUNT], found[AT], found[LAST], found[NEEDED] = count, at, before, needed
