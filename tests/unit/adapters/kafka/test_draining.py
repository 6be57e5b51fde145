"""Draining in batches: the same records and positions as aiokafka's own way, whatever was fetched."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.consumer.fetcher import READ_COMMITTED, FetchResult, PartitionRecords
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.adapters.kafka import unpacking
from stream_anon.adapters.kafka.draining import Records, Unread, Unreadable, _Fetched, _result, drain_in_batches

PLACE = TopicPartition("t", 0)
COMMIT, ABORT = struct.pack(">hh", 0, 1), struct.pack(">hh", 0, 0)


class State:
    """Stands for the position of one partition."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.paused = False

    def consumed_to(self, position: int) -> None:
        self.position = position


class Assignment:
    active = True

    def __init__(self, position: int) -> None:
        self.state = State(position)

    def state_value(self, place: TopicPartition) -> State:
        return self.state


def stamped(batch: bytes, offset: int, *, attributes: int = 0, deltas: int = 0) -> bytes:
    """Return a batch as a broker keeps it: with its offset, more attributes, and a last offset further behind."""
    data = bytearray(batch)
    data[0:8] = offset.to_bytes(8, "big")
    flags, last = struct.unpack_from(">hi", data, 21)
    struct.pack_into(">hi", data, 21, flags | attributes, last + deltas)
    struct.pack_into(">I", data, 17, calc_crc32c(bytes(data[21:])))
    return bytes(data)


values = st.one_of(st.none(), st.binary(max_size=20), st.just("ä€".encode()), st.binary(min_size=130, max_size=300))
records = st.tuples(
    values,
    st.one_of(st.none(), st.binary(max_size=9)),
    st.lists(st.tuples(st.text(max_size=3), st.one_of(st.none(), st.binary(max_size=4))), max_size=2),
    st.integers(0, 2**41),
    st.integers(1, 3),  # offsets that compaction has left between it and the one before
)


@st.composite
def batches(draw: st.DrawFn, codecs: tuple[int, ...] = (0, 0, 0, 1)) -> bytes:
    """Draw what a broker returns: batches of several producers, compressed, compacted, with markers between."""
    data, offset = b"", draw(st.integers(0, 3))
    for _ in range(draw(st.integers(1, 5))):
        producer = draw(st.integers(0, 2))
        if draw(st.integers(0, 4)) == 0:
            marker = _builder(0, producer)
            marker.append(0, 5, draw(st.sampled_from([COMMIT, ABORT])), b"\0\0\0\0\0\0", [])
            data += stamped(bytes(marker.build()), offset, attributes=32)
            offset += 1
            continue
        batch, place = _builder(draw(st.sampled_from(codecs)), producer), -1
        for value, key, headers, time, step in draw(st.lists(records, min_size=1, max_size=8)):
            place += step
            batch.append(place, time, key, value, headers)
        more = draw(st.integers(0, 2))
        data += stamped(bytes(batch.build()), offset, attributes=8 * draw(st.integers(0, 1)), deltas=more)
        offset += place + 1 + more
    cut = draw(st.integers(0, 3))
    return data + data[: cut * 15]  # an answer ends anywhere, within a head or within a batch


def _builder(codec: int, producer: int) -> Any:
    return DefaultRecordBatchBuilder(
        magic=2, compression_type=codec, is_transactional=1, producer_id=producer, producer_epoch=0,
        base_sequence=0, batch_size=1 << 20,
    )  # fmt: skip


def own(data: bytes, start: int, aborted: list[tuple[int, int]] | None = None) -> FetchResult:
    """Return a fetch as aiokafka reads it."""
    unread = PartitionRecords(PLACE, MemoryRecords(data), aborted, start, None, None, True, READ_COMMITTED)
    return FetchResult(PLACE, assignment=Assignment(start), partition_records=unread, backoff=0)


def bulk(data: bytes, start: int, aborted: list[tuple[int, int]] | None = None) -> FetchResult:
    """Return a fetch as it is read here."""
    unread = Unread(PLACE, _Fetched(data), aborted, start, None, None, True, READ_COMMITTED)
    return _result(PLACE, assignment=Assignment(start), partition_records=unread, backoff=0)


def drained(fetched: FetchResult, most: int) -> list[tuple[Any, ...]]:
    """Return all records in order and the position after each draining."""
    found: list[tuple[Any, ...]] = []
    while fetched.has_more():
        got = fetched.getall(most)
        assert len(got) <= most
        if isinstance(got, Records):
            found += zip(got.offsets.tolist(), got.times.tolist(), got.values, strict=True)
        else:
            found += [(record.offset, record.timestamp, record.value) for record in got]
        if len(got):
            found.append(("position", fetched._assignment.state.position))
    return [*found, ("end", fetched._assignment.state.position)]


def alike(data: bytes, start: int, most: int, aborted: list[tuple[int, int]] | None = None) -> None:
    # A broker's answer begins with the batch that holds the offset.
    start = min(start, int.from_bytes(data[:8], "big") + int.from_bytes(data[23:27], "big"))
    plain, ours = drained(own(data, start, aborted), most), drained(bulk(data, start, aborted), most)
    # After the last full draining ours knows already that nothing is left, and stands behind markers.
    assert [e for e in ours if e[0] != "position"] == [e for e in plain if e[0] != "position"]
    places = [[e[1] for e in found if e[0] == "position"] for found in (ours, plain)]
    assert len(places[0]) == len(places[1])
    assert all(mine >= theirs for mine, theirs in zip(*places, strict=True))


@settings(max_examples=150)
@given(batches(), st.integers(0, 8), st.integers(1, 12))
def test_draining_in_batches_loses_shifts_or_invents_a_record(data: bytes, start: int, most: int) -> None:
    alike(data, start, most)


@settings(max_examples=40)
@given(batches(), st.integers(0, 4), st.integers(1, 12), st.integers(0, 2), st.integers(0, 6))
def test_records_of_aborted_transactions_are_returned(
    data: bytes, start: int, most: int, producer: int, first: int
) -> None:
    alike(data, start, most, [(producer, first)])


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_compression_is_not_understood(codec: int) -> None:
    batch = _builder(codec, 0)
    for i in range(50):
        batch.append(i, 1000 + i, None, b"the same again and again", [])
    data = stamped(bytes(batch.build()), 7)
    assert struct.unpack_from(">h", data, 21)[0] & 7 == codec
    alike(data, 9, 11)


@pytest.mark.parametrize("magic", [0, 1])
def test_formats_before_the_second_are_not_read(magic: int) -> None:
    legacy = LegacyRecordBatchBuilder(magic, 0, 1 << 16)
    for i in range(5):
        legacy.append(i, timestamp=1000 + i, key=None, value=b"old")
    new = _builder(0, 0)
    new.append(0, 5, None, b"new", [])
    ours = drained(bulk(stamped(bytes(new.build()), 0) + bytes(legacy.build()), 0), 3)
    assert [e[2] for e in ours if len(e) == 3] == [b"new", b"old", b"old", b"old", b"old"]


@settings(max_examples=60)
@given(batches(), st.integers(0, 10**6), st.integers(1, 255))
def test_damaged_bytes_are_taken_for_records(data: bytes, where: int, bits: int) -> None:
    # A checksum covers all of a batch from its attributes on.
    damaged = bytearray(data)
    damaged[21 + where % (12 + int.from_bytes(data[8:12], "big") - 21)] ^= bits
    with pytest.raises(CorruptRecordException):
        drained(bulk(bytes(damaged), 0), 100)


def test_good_records_before_damaged_ones_are_passed_over_unread() -> None:
    """What raises gives nothing: the position stays, or nobody would ever ask for those before it again."""
    whole = _builder(0, 0)
    whole.append(0, 5, None, b"x", [])
    good = bytes(whole.build())
    damaged = bytearray(stamped(good, 1))
    damaged[-1] ^= 1
    fetched = bulk(good + bytes(damaged), 0)
    with pytest.raises(Unreadable) as raised:
        fetched.getall(5)
    assert raised.value.place == fetched._topic_partition
    assert fetched._assignment.state.position == 0
    assert not fetched.has_more()
    assert fetched.getall(5) == []


@pytest.mark.parametrize("codec", [1, 3, 4])
@pytest.mark.parametrize("aborted", [None, [(99, 0)]])
def test_a_few_kilobytes_become_gigabytes(
    codec: int, aborted: list[tuple[int, int]] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither here nor by the client, which reads answers with aborted transactions and knows no limit."""
    for most, sound in ((1 << 20, False), (4 << 20, True)):
        monkeypatch.setattr(unpacking, "MOST", most)
        batch = _builder(codec, 0)
        batch.append(0, 5, None, bytes(2 << 20), [])
        fetched = bulk(stamped(bytes(batch.build()), 0), 0, aborted)
        if sound:
            assert len(fetched.getall(5)) == 1
        else:
            with pytest.raises(Unreadable, match="TooLargeError"):
                fetched.getall(5)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_what_is_no_compression_ends_the_client(codec: int) -> None:
    batch = _builder(0, 0)
    batch.append(0, 5, None, b"value", [])
    with pytest.raises(Unreadable):
        bulk(stamped(bytes(batch.build()), 0, attributes=codec), 0).getall(5)


def test_a_header_whose_name_is_no_text_ends_the_client() -> None:
    batch = _builder(0, 0)
    batch.append(0, 5, None, b"value", [("hh", b"v")])
    data = stamped(bytes(batch.build()).replace(b"hh", b"\xff\xfe"), 0)
    assert len(bulk(data, 0).getall(5)) == 1
    with pytest.raises(Unreadable, match="UnicodeDecodeError"):
        bulk(data, 0, [(99, 0)]).getall(5)


@pytest.mark.parametrize("place", [61, 65, 67])
def test_records_that_are_not_sound_are_read_beyond_their_end(place: int) -> None:
    batch = _builder(0, 0)
    for i in range(3):
        batch.append(i, 5, b"k", b"value", [("h", b"v")])
    damaged = bytearray(batch.build())
    damaged[place] = 254
    with pytest.raises(CorruptRecordException):
        drained(bulk(stamped(bytes(damaged), 0), 0), 100)


def test_paused_partition_is_drained() -> None:
    batch = _builder(0, 0)
    batch.append(0, 5, None, b"x", [])
    fetched = bulk(bytes(batch.build()), 0)
    fetched._assignment.state.paused = True
    assert fetched.getall(5) == []
    assert not fetched.has_more()


class Consumer:
    def __init__(self) -> None:
        self._fetcher = object.__new__(fetcher.Fetcher)


def test_fetcher_is_not_made_as_expected_and_nobody_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = Consumer()
    assert drain_in_batches(consumer)  # type: ignore[arg-type]
    assert consumer._fetcher._proc_fetch_request.__func__ is not fetcher.Fetcher._proc_fetch_request

    async def other(self: object) -> None: ...

    monkeypatch.setattr(fetcher.Fetcher, "_proc_fetch_request", other)
    consumer = Consumer()
    assert not drain_in_batches(consumer)  # type: ignore[arg-type]
    assert consumer._fetcher._proc_fetch_request.__func__ is other
