"""Draining in batches: the same records and positions as aiokafka's own way, whatever was fetched."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.consumer.fetcher import READ_COMMITTED, FetchResult, PartitionRecords
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.adapters.kafka.bulk import large_batches, record_kernels, unpacking
from stream_anon.adapters.kafka.bulk import unpacking_budget as budgets
from stream_anon.adapters.kafka.bulk.batches import Fetched
from stream_anon.adapters.kafka.bulk.draining import Unreadable, _drain, _result, drain_in_batches
from stream_anon.adapters.kafka.bulk.record_columns import RecordColumns, Records
from stream_anon.adapters.kafka.bulk.unpacking_budget import SECONDS_AT_ONCE, Budget
from stream_anon.adapters.kafka.bulk.unread import Unread
from stream_anon.errors import BrokerError
from stream_anon.microdata.keys import PADDING
from tests.support.clock import ticking
from tests.support.traced import traced

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
        base_sequence=0, batch_size=1 << 26,
    )  # fmt: skip


def own(data: bytes, start: int, aborted: list[tuple[int, int]] | None = None) -> FetchResult:
    """Return a fetch as aiokafka reads it."""
    unread = PartitionRecords(PLACE, MemoryRecords(data), aborted, start, None, None, True, READ_COMMITTED)
    return FetchResult(PLACE, assignment=Assignment(start), partition_records=unread, backoff=0)


def bulk(
    data: bytes, start: int, aborted: list[tuple[int, int]] | None = None, budget: Budget | None = None
) -> FetchResult:
    """Return a fetch as it is read here."""
    unread = Unread(PLACE, Fetched(data), aborted, start, None, None, True, READ_COMMITTED, budget=budget)
    return _result(PLACE, drain=_drain, assignment=Assignment(start), partition_records=unread, backoff=0)


def unreadable(fetched: FetchResult, most: int = 100, budget: Budget | None = None) -> Unreadable:
    """Return what a fetch ends with, which must be something that cannot be read."""
    got = None
    while fetched.has_more():
        if budget is not None:
            budget.begin_poll()
        got = fetched.getall(most)
    assert isinstance(got, Unreadable)
    return got


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
def test_draining_in_batches_gives_the_records_that_the_client_gives(data: bytes, start: int, most: int) -> None:
    alike(data, start, most)


@settings(max_examples=40)
@given(batches(), st.integers(0, 4), st.integers(1, 12), st.integers(0, 2), st.integers(0, 6))
def test_records_of_aborted_transactions_are_left_out(
    data: bytes, start: int, most: int, producer: int, first: int
) -> None:
    alike(data, start, most, [(producer, first)])


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_every_compression_is_understood(codec: int) -> None:
    batch = _builder(codec, 0)
    for i in range(50):
        batch.append(i, 1000 + i, None, b"the same again and again", [])
    data = stamped(bytes(batch.build()), 7)
    assert struct.unpack_from(">h", data, 21)[0] & 7 == codec
    alike(data, 9, 11)


@pytest.mark.parametrize("magic", [0, 1])
def test_older_formats_of_batches_are_read_too(magic: int) -> None:
    legacy = LegacyRecordBatchBuilder(magic, 0, 1 << 16)
    for i in range(5):
        legacy.append(i, timestamp=1000 + i, key=None, value=b"old")
    new = _builder(0, 0)
    new.append(0, 5, None, b"new", [])
    both = [stamped(bytes(new.build()), 0), bytes(legacy.build())]
    ours = drained(bulk(b"".join(both), 0), 3)
    assert [e[2] for e in ours if len(e) == 3] == [b"new", b"old", b"old", b"old", b"old"]
    ours = drained(bulk(both[1] + stamped(both[0], 5) + both[1][:20], 0), 3)
    assert [e[2] for e in ours if len(e) == 3] == [*[b"old"] * 5, b"new"]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_damaged_batch_of_an_older_format_is_told_with_the_offset_after_it(magic: int) -> None:
    legacy = LegacyRecordBatchBuilder(magic, 0, 1 << 16)
    for i in range(3):
        legacy.append(i, timestamp=1000 + i, key=None, value=b"old")
    damaged = bytearray(legacy.build())
    damaged[2 * len(damaged) // 3 - 1] ^= 1  # the second one's value
    assert unreadable(bulk(bytes(damaged), 0), 1).after == 2


@settings(max_examples=60)
@given(batches(), st.integers(0, 10**6), st.integers(1, 255))
def test_damaged_bytes_are_told(data: bytes, where: int, bits: int) -> None:
    # A checksum covers all of a batch from its attributes on.
    damaged = bytearray(data)
    damaged[21 + where % (12 + int.from_bytes(data[8:12], "big") - 21)] ^= bits
    unreadable(bulk(bytes(damaged), 0))


def test_good_records_before_damaged_ones_are_returned_and_it_is_told_where_to_continue() -> None:
    whole = _builder(0, 0)
    for n in range(3):
        whole.append(n, 5, None, b"x", [])
    good = bytes(whole.build())
    damaged = bytearray(stamped(good, 3))
    damaged[-1] ^= 1
    fetched = bulk(good + bytes(damaged) + stamped(good, 6), 0)
    assert fetched.getall(9).offsets.tolist() == [0, 1, 2]
    assert fetched._assignment.state.position == 3
    assert fetched.getall(9) == Unreadable(6)
    assert fetched._assignment.state.position == 3
    assert not fetched.has_more()
    assert fetched.getall(9) == []
    assert bulk(stamped(good, 6), 6).getall(9).offsets.tolist() == [6, 7, 8]


every_codec = pytest.mark.parametrize("codec", [1, 2, 3, 4])
every_abort = pytest.mark.parametrize("aborted", [None, [(99, 0)]])


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let batches be large beyond 4 kB, and polls return 2 kB."""
    monkeypatch.setattr(unpacking, "AT_ONE_GO", 4096)
    monkeypatch.setattr(unpacking, "_FIRST", 512)
    monkeypatch.setattr(large_batches, "_PIECE", 300)
    monkeypatch.setattr(budgets, "AT_ONCE", 2048)


def large_batch(codec: int, sizes: list[int | None], offset: int = 0, *, producer: int = 0) -> bytes:
    """Return a batch whose values have so many bytes."""
    batch = _builder(codec, producer)
    for place, size in enumerate(sizes):
        text = None if size is None else bytes(65 + (place + i) % 26 for i in range(997)) * (size // 997 + 1)
        headers = [("h" * 500, b"v" * 900)] if place % 3 == 0 else []
        batch.append(place, 1000 + place, b"k" * (700 * (place % 2)), text and text[:size], headers)
    return stamped(bytes(batch.build()), offset)


def polled(fetched: FetchResult, budget: Budget, most: int = 100) -> list[tuple[int, int, bytes | None]]:
    """Return what polls give until nothing is left; none may give much more than the budget."""
    found: list[tuple[int, int, bytes | None]] = []
    while fetched.has_more():
        budget.begin_poll()
        got = fetched.getall(most)
        assert len(got) <= most
        if isinstance(got, Records):
            assert got.values.size <= budgets.AT_ONCE + unpacking.AT_ONE_GO
            found += zip(got.offsets.tolist(), got.times.tolist(), got.values, strict=True)
    return found


@every_codec
@every_abort
@pytest.mark.usefixtures("small_steps")
def test_a_batch_that_is_too_large_for_one_go_is_read_piece_by_piece(
    codec: int, aborted: list[tuple[int, int]] | None
) -> None:
    sizes = [100, None, 0, 700, 999, 64, *([300] * 30)]
    data = large_batch(codec, sizes) + large_batch(codec, [5, 6], len(sizes))
    plain = own(data, 3, None)
    wanted = [(record.offset, record.timestamp, record.value) for record in plain.getall(100)]
    for most in (100, 7):
        budget = Budget(1000)
        assert polled(bulk(data, 3, aborted, budget), budget, most) == wanted


@every_codec
@pytest.mark.usefixtures("small_steps")
def test_a_record_that_is_too_large_is_cut_off_and_the_others_of_its_batch_come_whole(codec: int) -> None:
    budget = Budget(1000)
    found = polled(bulk(large_batch(codec, [900, 50_000, 1000, 1001, 3]), 0, None, budget), budget)
    assert [len(value or b"") for _, _, value in found] == [900, 1001, 1000, 1001, 3]
    assert [offset for offset, _, _ in found] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("codec", [1, 4])
def test_a_few_kilobytes_that_unpack_to_gigabytes_are_skipped_piece_by_piece(codec: int) -> None:
    batch = _builder(codec, 0)
    for place in range(3):
        batch.append(place, 5, None, bytes(10 << 20), [])
    data = stamped(bytes(batch.build()), 0)
    assert len(data) < 100_000
    budget = Budget(1000, ticking(SECONDS_AT_ONCE / 10))
    fetched, polls, sizes = bulk(data, 0, None, budget), 0, []
    with traced() as memory:
        while fetched.has_more():
            budget.begin_poll()
            got = fetched.getall(100)
            polls += 1
            if isinstance(got, Records):
                sizes += [len(value or b"") for value in got.values]
        peak = memory()[1]
    assert sizes == [1001, 1001, 1001]
    assert polls >= 9
    assert peak < 2 * unpacking.AT_ONE_GO + (4 << 20), peak


@pytest.mark.usefixtures("small_steps")
def test_large_batches_of_all_partitions_share_one_budget_and_are_unpacked_in_turn() -> None:
    budget = Budget(1000)
    sizes = [500] * 40
    fetches = [bulk(large_batch(4, sizes), 0, None, budget) for _ in range(3)]
    found: list[list[int]] = [[], [], []]
    for _ in range(100):
        budget.begin_poll()
        taken = 0
        for number, fetched in enumerate(fetches):
            got = fetched.getall(100) if fetched.has_more() else []
            if isinstance(got, Records):
                found[number] += got.offsets.tolist()
                taken += got.values.size
        assert taken <= 2048 + 600
        begun = [0 < len(offsets) < len(sizes) for offsets in found]
        assert sum(begun) <= 1, "two large batches are unpacked at once"
    assert found == [list(range(len(sizes)))] * 3


@pytest.mark.usefixtures("small_steps")
def test_a_large_batch_that_gives_way_begins_again_without_losing_a_record() -> None:
    budget = Budget(1000)
    sizes = [500] * 40
    paused, other = (bulk(large_batch(4, sizes), 0, None, budget) for _ in range(2))
    budget.begin_poll()
    first = paused.getall(100)
    assert isinstance(first, Records)
    assert 0 < len(first) < 40
    budget.begin_poll()
    assert len(other.getall(100)) == 0
    budget.begin_poll()
    assert [offset for offset, _, _ in polled(other, budget)] == list(range(40))
    rest = [offset for offset, _, _ in polled(paused, budget)]
    assert [*first.offsets.tolist(), *rest] == list(range(40))


@pytest.mark.parametrize("damage", ["compression", "count", "cut"])
@every_codec
@pytest.mark.usefixtures("small_steps")
def test_a_damaged_large_batch_is_told_with_the_offset_after_it(codec: int, damage: str) -> None:
    data = bytearray(large_batch(codec, [800] * 20, 7))
    if damage == "compression":
        for place in range(61, len(data), 40):
            data[place] ^= 0x55
    elif damage == "count":
        struct.pack_into(">i", data, 57, 21)
    else:
        del data[-9:]
        struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">I", data, 17, calc_crc32c(bytes(data[21:])))
    budget = Budget(1000)
    assert unreadable(bulk(bytes(data), 7, None, budget), budget=budget).after == 27


@pytest.mark.usefixtures("small_steps")
def test_a_large_batch_of_an_aborted_transaction_is_not_unpacked_at_all() -> None:
    data = large_batch(4, [2000] * 20, producer=1)
    marker = _builder(0, 1)
    marker.append(0, 5, ABORT, b"\0\0\0\0\0\0", [])
    data += stamped(bytes(marker.build()), 20, attributes=32) + large_batch(4, [3, 4], 21, producer=1)
    budget = Budget(1000)
    assert [offset for offset, _, _ in polled(bulk(data, 0, [(1, 0)], budget), budget)] == [21, 22]


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_an_unknown_compression_is_told_as_unreadable(codec: int) -> None:
    batch = _builder(0, 0)
    batch.append(0, 5, None, b"value", [])
    unreadable(bulk(stamped(bytes(batch.build()), 0, attributes=codec), 0))


def test_a_header_whose_name_is_no_text_does_not_stop_reading() -> None:
    batch = _builder(0, 0)
    batch.append(0, 5, None, b"value", [("hh", b"v")])
    data = stamped(bytes(batch.build()).replace(b"hh", b"\xff\xfe"), 0)
    assert len(bulk(data, 0).getall(5)) == 1
    assert len(bulk(data, 0, [(99, 0)]).getall(5)) == 1


@pytest.mark.parametrize("place", [61, 65, 67])
def test_records_that_are_not_sound_are_told_and_not_read_beyond_their_end(place: int) -> None:
    batch = _builder(0, 0)
    for i in range(3):
        batch.append(i, 5, b"k", b"value", [("h", b"v")])
    damaged = bytearray(batch.build())
    damaged[place] = 254
    unreadable(bulk(stamped(bytes(damaged), 0), 0))


async def test_a_partition_that_cannot_be_read_keeps_back_no_record_of_another() -> None:
    good = _builder(0, 0)
    good.append(0, 5, None, b"x", [])
    damaged = bytearray(good.build())
    damaged[-1] ^= 1
    places = [TopicPartition("t", number) for number in range(3)]
    client = object.__new__(fetcher.Fetcher)
    client._subscriptions = SimpleNamespace(reassignment_in_progress=False)
    client._wait_consume_future = None
    client._records = {
        places[0]: bulk(bytes(good.build()), 0),
        places[1]: bulk(bytes(damaged), 0),
        places[2]: bulk(bytes(good.build()), 0),
    }
    answer = await client.fetched_records((), 0, 10)
    assert {place: len(part) for place, part in answer.items()} == {places[0]: 1, places[1]: 0, places[2]: 1}
    assert answer[places[1]] == Unreadable(1)


def _uncompressed(offset: int, value: bytes) -> bytes:
    batch = _builder(0, -1)
    batch.append(0, 5, None, value, [])
    return stamped(bytes(batch.build()), offset)


def test_a_batch_that_makes_the_kernel_leave_its_bounds_is_told_as_such_and_those_around_it_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = record_kernels.read_run

    def faulty(data: Any, words: Any, at: int, end: int, *others: Any) -> None:
        if b"poison" in data[at:end].tobytes():
            raise IndexError("index is out of bounds")
        read(data, words, at, end, *others)

    monkeypatch.setattr(record_kernels, "read_run", faulty)
    texts = (b"a", b"b", b"poison", b"c")
    data = b"".join(_uncompressed(offset, value) for offset, value in enumerate(texts))
    fetched = bulk(data, 0)
    assert list(fetched.getall(10).values) == [b"a", b"b"]
    assert fetched.getall(10) == Unreadable(3, fault=True)
    assert list(bulk(_uncompressed(3, b"c"), 3).getall(10).values) == [b"c"]


def test_a_batch_that_is_only_damaged_is_no_fault_of_a_kernel() -> None:
    data = bytearray(_uncompressed(0, b"a"))
    data[-2] ^= 1
    assert unreadable(bulk(bytes(data), 0)) == Unreadable(1)


def test_records_beyond_the_room_that_was_made_for_them_are_refused() -> None:
    data = _uncompressed(0, b"abc" * 50)
    for count, size in ((0, len(data)), (1, 100)):
        columns = RecordColumns(count, size, 0)
        assert not columns.read(data + PADDING, 0, len(data), checked=False)
        assert columns.fault


def test_paused_partition_gives_no_records() -> None:
    batch = _builder(0, 0)
    batch.append(0, 5, None, b"x", [])
    fetched = bulk(bytes(batch.build()), 0)
    fetched._assignment.state.paused = True
    assert fetched.getall(5) == []
    assert not fetched.has_more()


class Consumer:
    def __init__(self) -> None:
        self._fetcher = object.__new__(fetcher.Fetcher)


def test_a_fetcher_of_another_make_reads_nothing_without_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = Consumer()
    drain_in_batches(consumer, Budget(1))  # type: ignore[arg-type]
    assert consumer._fetcher._proc_fetch_request.__func__ is not fetcher.Fetcher._proc_fetch_request

    async def other(self: object) -> None: ...

    monkeypatch.setattr(fetcher.Fetcher, "_proc_fetch_request", other)
    consumer = Consumer()
    with pytest.raises(BrokerError, match=r"does not know aiokafka [0-9.]+ and could not bound the memory"):
        drain_in_batches(consumer, Budget(1))  # type: ignore[arg-type]
    assert consumer._fetcher._proc_fetch_request.__func__ is other
