"""Records read from a stream: the same as the kernel reads, and as the specification of the format says."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from stream_anon.adapters.kafka.bulk.batch_head import AFTER_LENGTH, HEAD, BatchHead
from stream_anon.adapters.kafka.bulk.large_batches import LargeBatch
from stream_anon.adapters.kafka.bulk.record_columns import RecordColumns
from stream_anon.adapters.kafka.bulk.unpacking import UnsoundError
from stream_anon.adapters.kafka.bulk.unpacking_budget import SECONDS_AT_ONCE, Budget
from stream_anon.microdata.keys import PADDING
from stream_anon.ports.headers import NO_HEADERS, HeaderPart, HeaderRule
from tests.support.clock import ticking
from tests.support.hostile_batches import varint
from tests.support.record_reference import Record, Reference

HEADERS = HeaderRule((HeaderPart(b"name", 1, 8),))


class Pieces:
    """Stands for a stream that gives so many bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data, self._size = data, size

    def read(self, most: int) -> bytes:
        given, self._data = self._data[: self._size], self._data[self._size :]
        return given


def by_reference(data: bytes, head: BatchHead) -> tuple[list[Record], bool]:
    found = list[Record]()
    try:
        for record in Reference(data).records(head):
            found.append(record)
    except UnsoundError:
        return found, False
    return found, True


def by_stream(data: bytes, head: BatchHead, piece: int, most: int) -> tuple[list[Record], bool]:
    budget, found = Budget(1_000), list[Record]()
    batch = LargeBatch(head, Pieces(data, piece), 0, budget.most_value)
    try:
        while not batch.ended:
            budget.begin_poll()
            got = batch.take(most, budget)
            found += zip(got.offsets.tolist(), got.times.tolist(), got.values, strict=True)
    except UnsoundError:
        return found, False
    return found, True


def by_kernel(data: bytes, head: BatchHead) -> tuple[list[Record], bool]:
    end = HEAD + len(data)
    whole = head._replace(length=end - AFTER_LENGTH).packed()
    columns = RecordColumns(head.records, len(data), 0)
    if not columns.read(whole + data + PADDING, 0, end, checked=True):
        return [], False
    got = columns.taken()
    return list(zip(got.offsets.tolist(), got.times.tolist(), got.values, strict=True)), True


@st.composite
def numbers(draw: st.DrawFn, near: int, bits: int) -> bytes:
    """Draw a varint: mostly the number that fits, else too wide, with bits beyond its field, or noise."""
    kind = draw(st.integers(0, 19))
    if kind == 0:
        return varint(draw(st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)))
    if kind == 1:
        return draw(st.binary(min_size=1, max_size=11))
    if kind <= 5:
        width = draw(st.integers(1, 11))
        return varint(near, width=width, beyond=draw(st.sampled_from([0, 0x10, 0x70, 2])) if width >= 5 else 0)
    return varint(near)


@st.composite
def sections(draw: st.DrawFn) -> tuple[bytes, int]:
    """Draw the records of a batch, each field as it should be or not, and how many they are."""
    data, count, place = bytearray(), draw(st.integers(0, 5)), 0
    for _ in range(count):
        key, value = draw(st.binary(max_size=5)), draw(st.binary(max_size=20))
        body = b"\0" + draw(numbers(draw(st.integers(-3, 3)), 64)) + draw(numbers(place, 32))
        body += draw(numbers(draw(st.sampled_from([len(key), len(key), -1])), 32)) + key
        body += draw(numbers(draw(st.sampled_from([len(value), len(value), -1])), 32)) + value
        body += draw(st.sampled_from([b"\0", b"\0", b"\2\2n\2v", b"\4\2\xff\1\0\0", b"", b"\2ab"]))
        data += draw(numbers(len(body), 32)) + body
        place += draw(st.integers(1, 2))
    for at, bits in draw(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 255)), max_size=1)):
        if data:
            data[at % len(data)] ^= bits
    return bytes(data), count


@settings(max_examples=1_000)
@given(
    sections(), st.integers(-1, 12), st.sampled_from([0, 5, 2**63 - 2, -(2**63)]), st.integers(1, 40),
    st.integers(1, 3),
)  # fmt: skip
@example((varint(6) + b"\0\0\0\1\1\0", 1), 0, 0, 1, 1)
@example((varint(6) + b"\0\0\0\1\2a", 1), 0, 0, 1, 1)  # without a count of headers
def test_kernel_and_stream_read_what_the_specification_says(
    drawn: tuple[bytes, int], last: int, base_time: int, piece: int, most: int
) -> None:
    data, count = drawn
    head = BatchHead(last_offset=last, first_time=base_time, records=count)
    wanted, sound = by_reference(data, head)
    assert by_stream(data, head, piece, most) == (wanted, sound)
    assert by_kernel(data, head) == (wanted if sound else [], sound)


def plain(records: int, headers: int) -> bytes:
    """Return records without key and text, with so many headers each."""
    data = b""
    for place in range(records):
        body = b"\0\0" + varint(place) + b"\1\0" + varint(headers) + b"\2h\0" * headers
        data += varint(len(body)) + body
    return data


def turns_of(data: bytes, count: int, wanted: int, headers: HeaderRule) -> tuple[list[int], int]:
    """Return the offsets that are read and the turns that it takes, each of a hundred looks at the clock."""
    budget, offsets, turns = Budget(1_000, ticking(SECONDS_AT_ONCE / 100)), list[int](), 0
    head = BatchHead(last_offset=count - 1, records=count)
    batch = LargeBatch(head, Pieces(data, 256), wanted, 1_000, headers)
    while not batch.ended:
        budget.begin_poll()
        offsets += batch.take(10, budget).offsets.tolist()
        turns += 1
    return offsets, turns


def test_records_that_are_not_wanted_end_a_turn_too() -> None:
    offsets, turns = turns_of(plain(1_000, 0), 1_000, 999, NO_HEADERS)
    assert offsets == [999]
    assert turns >= 10


def test_headers_of_one_record_end_a_turn_too() -> None:
    offsets, turns = turns_of(plain(1, 1_000), 1, 0, HEADERS)
    assert offsets == [0]
    assert turns >= 10
