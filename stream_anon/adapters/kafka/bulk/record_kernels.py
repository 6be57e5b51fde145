"""Record batches of format 2 as columns and back, without an object for each record and without the lock.

A batch is a head of 61 bytes and its records; each record is its length, attributes, the differences of its time
and offset to the head's, key, value and headers, with all numbers as zigzag varints. The kernels never guess: where
the bytes do not fit, they say how far they came, and the batch counts as unreadable.

What reads is checked; what writes takes room that `PackedBatch` has counted.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_kernel, checked_inlined, checked_kernel
from stream_anon.formats.writing.varints import put_varint, read_within, read_zigzag, varint_size
from stream_anon.ports.headers import REFUSED

HEAD_FIELDS = struct.Struct(">qiibIhiqqqhii")
HEAD = HEAD_FIELDS.size
# Where the fields of a head stand that the kernels read: places in bytes.
_LENGTH, _FORMAT, _CHECKSUM, _ATTRIBUTES, _LAST_OFFSET, _FIRST_TIME, _LARGEST_TIME, _COUNT = (
    8, 16, 17, 21, 23, 27, 35, 57,
)  # fmt: skip
_AFTER_LENGTH = 12  # what a batch's length counts begins here, what its checksum covers at the attributes
_FORMAT_2 = 2
_COMPRESSION, _APPEND_TIME, _MARKERS = 0b111, 0b1000, 0b10_0000  # bits of the attributes
_NO_KEY = 1  # the varint of -1
_NEWLINE = ord("\n")
_LOWER_HALF = 2**32 - 1
_SHORT = 5  # bytes of a varint of 32 bits at the most
LEAST_RECORD = 7  # bytes
RECORDS, FILLED, NEXT, BROKEN = range(4)
"""What `read_run` has found: places in `found`."""
COUNT, AT, LAST, NEEDED = range(4)
"""What `read_spans` has found: places in `found`."""
SPANS = 8
"""How many numbers `read_spans` writes of a record."""


def _crc_tables() -> NDArray[np.int64]:
    """Return the tables of CRC-32C eight bytes at once (Kounavis and Berry, 2008); int64[8, 256]."""
    tables = np.zeros((8, 256), np.int64)
    rest = np.arange(256)
    for _ in range(8):
        rest = (rest >> 1) ^ np.where(rest & 1, 0x82F63B78, 0)
    tables[0] = rest
    for row in range(1, 8):
        tables[row] = (tables[row - 1] >> 8) ^ tables[0][tables[row - 1] & 255]
    return tables


CRC_TABLES = _crc_tables()


@checked_inlined
def _crc(data: NDArray[np.uint8], words: NDArray[np.int64], at: int, end: int, tables: NDArray[np.int64]) -> int:
    """Return the CRC-32C of the bytes from `at` to `end`."""
    rest = 0xFFFFFFFF
    while at + 8 <= end:
        word = words[at] ^ rest
        rest = (
            tables[7, word & 255]
            ^ tables[6, (word >> 8) & 255]
            ^ tables[5, (word >> 16) & 255]
            ^ tables[4, (word >> 24) & 255]
            ^ tables[3, (word >> 32) & 255]
            ^ tables[2, (word >> 40) & 255]
            ^ tables[1, (word >> 48) & 255]
            ^ tables[0, (word >> 56) & 255]
        )
        at += 8
    while at < end:
        rest = (rest >> 8) ^ tables[0, (rest ^ data[at]) & 255]
        at += 1
    return rest ^ 0xFFFFFFFF


@checked_inlined
def _big(data: NDArray[np.uint8], at: int, width: int) -> int:
    """Return the number of `width` bytes at a place, big end first, with its sign."""
    value = np.int64(data[at])
    if value > 127:
        value -= 256
    for place in range(at + 1, at + width):
        value = value << 8 | np.int64(data[place])
    return int(value)


@checked_inlined
def _short_varint(data: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """Return a zigzag varint of 32 bits and the place behind it, -1 if it does not end with its fifth byte.

    Java's clients and brokers drop what its fifth byte holds beyond 32 bits, so such a record is a sound one.
    """
    value, after = read_within(data, at, end, _SHORT)
    value &= _LOWER_HALF
    return (value >> 1) ^ -(value & 1), after


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
        length = _big(data, at + _LENGTH, 4)
        end = at + _AFTER_LENGTH + length
        count = _big(data, at + _COUNT, 4)
        if (
            length < HEAD - _AFTER_LENGTH
            or end > len(data)
            or data[at + _FORMAT] != _FORMAT_2
            or _big(data, at + _ATTRIBUTES, 2) & _COMPRESSION
        ):
            break
        if count < 0 or count > length // LEAST_RECORD:
            break
        records += count
        at = end
    found[0], found[1] = at, records


@checked_inlined
def _header(data: NDArray[np.uint8], at: int, stop: int, wanted: NDArray[np.uint8]) -> tuple[int, int]:
    """Return where the value of the last header with a name begins and ends; -1 without one."""
    begin = end = -1
    count, at = _short_varint(data, at, stop)
    while at >= 0 and count > 0:
        count -= 1
        size, at = _short_varint(data, at, stop)
        if at < 0 or size < 0 or size > stop - at:
            break
        same = size == len(wanted)
        for i in range(len(wanted)):
            if not same:
                break
            same = data[at + i] == wanted[i]
        size, at = _short_varint(data, at + size, stop)
        if at < 0 or size > stop - at:
            break
        if same:
            begin, end = at, at + max(size, 0)
        at += max(size, 0)
    return begin, end


@checked_inlined
def _put_headers(
    data: NDArray[np.uint8],
    at: int,
    stop: int,
    names: NDArray[np.uint8],
    parts: NDArray[np.int64],
    refused: NDArray[np.int64],
    room: NDArray[np.uint8],
    filled: int,
) -> int:
    """Write what the headers from `at` on put before a value; return the place behind it. See `HeaderRule`."""
    for row in range(len(refused)):
        begin, end = _header(data, at, stop, names[refused[row, 0] : refused[row, 1]])
        same = end - begin == refused[row, 3] - refused[row, 2]
        for i in range(end - begin):
            if not same:
                break
            same = data[begin + i] == names[refused[row, 2] + i]
        if begin >= 0 and not same:
            room[filled] = REFUSED
            return filled + 1
    for row in range(len(parts)):
        begin, end = _header(data, at, stop, names[parts[row, 0] : parts[row, 1]])
        size = end - begin
        if begin < 0 or size < parts[row, 2] or size > parts[row, 3]:
            break
        for i in range(parts[row, 4]):
            room[filled] = parts[row, 5 + 2 * i] + parts[row, 6 + 2 * i] * size
            filled += 1
        for place in range(begin, end):
            room[filled] = data[place]
            filled += 1
    return filled


@checked_inlined
def _read(
    data: NDArray[np.uint8],
    words: NDArray[np.int64],
    at: int,
    end: int,
    count: int,
    base_offset: int,
    last_offset: int,
    base_time: int,
    fixed_time: int,
    room: NDArray[np.uint8],
    room_words: NDArray[np.int64],
    stops: NDArray[np.int64],
    offsets: NDArray[np.int64],
    times: NDArray[np.int64],
    missing: NDArray[np.bool_],
    names: NDArray[np.uint8],
    parts: NDArray[np.int64],
    refused: NDArray[np.int64],
    found: NDArray[np.int64],
) -> bool:
    """Read `count` records that end at `end`; return whether they are sound. See `read_run`.

    Brokers store whatever place a record claims in a batch without compression. One beyond the batch's last would
    make its reader miss what others wrote behind it, so places must ascend, and none may be beyond the head's last.
    """
    records, filled, after = found[RECORDS], found[FILLED], found[NEXT]
    before = -1
    for _ in range(count):
        size, at = _short_varint(data, at, end)
        if at < 0 or size < LEAST_RECORD - 1 or size > end - at:
            return False
        stop = at + size
        time, at = read_zigzag(data, at + 1, stop)
        if at < 0:
            return False
        place, at = _short_varint(data, at, stop)
        if at < 0 or place <= before or place > last_offset:
            return False
        before = place
        size, at = _short_varint(data, at, stop)
        if at < 0 or size > stop - at:
            return False
        size, at = _short_varint(data, at + max(size, 0), stop)
        if at < 0 or max(size, 0) >= stop - at:  # headers have a count
            return False
        if base_offset + place >= after:
            after = base_offset + place + 1
            last = at + max(size, 0)
            if len(parts) and size >= 0:
                filled = _put_headers(data, last, stop, names, parts, refused, room, filled)
            while at + 8 <= last:
                room_words[filled] = words[at]
                at += 8
                filled += 8
            room_words[filled] = words[at]
            filled += last - at
            stops[records] = filled
            missing[records] = size < 0
            offsets[records] = after - 1
            times[records] = base_time + time if fixed_time < 0 else fixed_time
            room[filled] = _NEWLINE
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
    tables: NDArray[np.int64],
    room: NDArray[np.uint8],
    room_words: NDArray[np.int64],
    stops: NDArray[np.int64],
    offsets: NDArray[np.int64],
    times: NDArray[np.int64],
    missing: NDArray[np.bool_],
    names: NDArray[np.uint8],
    parts: NDArray[np.int64],
    refused: NDArray[np.int64],
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
    tables
        `CRC_TABLES`.
    room, room_words
        uint8[], int64[], written: the values, a newline behind each.
    stops, offsets, times, missing
        int64[n], int64[n], int64[n], bool[n], written.
    names, parts, refused
        uint8[], int64[p, 5 + 2 m], int64[r, 4]: a `HeaderRule` as `header_table` writes it.
    found
        int64[4], updated: records so far, bytes so far, the next offset (records below are left out), and whether
        what was read is broken.
    """
    while at < end:
        stop = at + _AFTER_LENGTH + _big(data, at + _LENGTH, 4)
        checksum = _big(data, at + _CHECKSUM, 4) & 0xFFFFFFFF
        if not checked and _crc(data, words, at + _ATTRIBUTES, stop, tables) != checksum:
            found[BROKEN] = 1
            return
        attributes, base_offset = _big(data, at + _ATTRIBUTES, 2), _big(data, at, 8)
        if not attributes & _MARKERS:
            fixed_time = _big(data, at + _LARGEST_TIME, 8) if attributes & _APPEND_TIME else -1
            sound = _read(
                data, words, at + HEAD, stop, _big(data, at + _COUNT, 4),
                base_offset, _big(data, at + _LAST_OFFSET, 4), _big(data, at + _FIRST_TIME, 8), fixed_time,
                room, room_words, stops, offsets, times, missing, names, parts, refused, found,
            )  # fmt: skip
            if not sound:
                found[BROKEN] = 1
                return
        # Compaction keeps the last offset of a batch, even if its record is gone.
        found[NEXT] = max(found[NEXT], base_offset + _big(data, at + _LAST_OFFSET, 4) + 1)
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
    place, at = _short_varint(data, at, stop)
    if at < 0 or place <= before or place > last_offset:
        return False
    spans[0], spans[1] = place, time
    for part in (2, 4):  # key and value
        size, at = _short_varint(data, at, stop)
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
        size, start = _short_varint(data, at, end)
        if start < 0:
            needed = end - at + 1 if end - at < _SHORT else -1
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


@checked_inlined
def _width(value: int) -> int:
    """Return how many bytes a number that is not negative takes as a zigzag varint."""
    return varint_size(value << 1)


@bare_kernel
def write_values(
    words: NDArray[np.int64],
    stops: NDArray[np.int64],
    gap: int,
    first: int,
    time: int,
    tail: NDArray[np.uint8],
    limit: int,
    target: NDArray[np.uint8],
    target_words: NDArray[np.int64],
    written: NDArray[np.int64],
) -> int:
    """Append values as records without a key; return how many of them the batch took.

    Parameters
    ----------
    words, stops, gap
        The words of the room of `Texts` (`keys.padded_words`), and the rest of it.
    first
        The first value to write.
    time
        Milliseconds after the batch's first record.
    tail
        uint8[]: the headers as they stand in each record, with their count.
    limit
        Bytes of the batch that no record but its first may reach.
    target, target_words
        uint8[], int64[]: the batch, with eight bytes of room behind what it may hold.
    written
        int64[2]: records and bytes of the batch until now, updated.
    """
    number, at = written[0], written[1]
    taken = 0
    for place in range(first, len(stops)):
        start = stops[place - 1] + gap if place else 0
        size = stops[place] - start
        body = 2 + _width(time) + _width(number) + _width(size) + size + len(tail)
        if number and at + _width(body) + body >= limit:
            break
        at = put_varint(body << 1, target, at)
        target[at] = 0
        at = put_varint(time << 1, target, at + 1)
        at = put_varint(number << 1, target, at)
        target[at] = _NO_KEY
        at = put_varint(size << 1, target, at + 1)
        end = at + size
        while at < end:
            target_words[at] = words[start]
            at += 8
            start += 8
        at = end
        for spot in range(len(tail)):
            target[at + spot] = tail[spot]
        at += len(tail)
        number += 1
        taken += 1
    written[0], written[1] = number, at
    return taken
