"""Whole records: those that aiokafka's own reader gives, and for bytes that it does not bear, a bounded answer."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.codec import lz4_encode
from aiokafka.consumer.fetcher import READ_COMMITTED, READ_UNCOMMITTED, PartitionRecords
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.adapters.kafka.bulk import unpacking_budget as budgets
from stream_anon.adapters.kafka.bulk import whole_records
from stream_anon.adapters.kafka.bulk.batch_head import BatchHead
from stream_anon.adapters.kafka.bulk.batches import Fetched, UnreadableBatch
from stream_anon.adapters.kafka.bulk.header_reading import read_headers
from stream_anon.adapters.kafka.bulk.old_batches import bounded
from stream_anon.adapters.kafka.bulk.unpacking import UnsoundError
from stream_anon.adapters.kafka.bulk.unpacking_budget import Budget
from stream_anon.adapters.kafka.bulk.whole_records import UnreadWhole, WholeBatch
from tests.support import hostile_batches as made
from tests.support.hostile_batches import GOOD, LZ4, NONE, ZSTD, Raw, batch_of, varint
from tests.support.record_reference import Reference
from tests.support.traced import traced
from tests.unit.adapters.kafka.bulk.test_draining import ABORT, _builder, batches, stamped
from tests.unit.adapters.kafka.bulk.test_large_batches import Pieces, sections

PLACE = TopicPartition("t", 3)
CODECS = (0, 0, 1, 2, 3, 4)
MEGABYTE = 1 << 20
Aborted = list[tuple[int, int]]


def whole(
    data: bytes, start: int = 0, *, most: int | None = None, aborted: Aborted | None = None, isolation: int = 1
) -> tuple[list[ConsumerRecord], int, int | None]:
    """Return the records up to an error, the position behind them, and the offset that the error names."""
    budget, found = Budget(0), list[ConsumerRecord]()
    unread = UnreadWhole(PLACE, Fetched(data), aborted, start, None, None, True, isolation, budget=budget)
    try:
        for _ in range(100_000):
            if unread.exhausted:
                break
            budget.begin_poll()
            got = unread.take(most)
            assert most is None or len(got) <= most
            found += got
    except UnreadableBatch as error:
        return found, unread.next_fetch_offset, error.after
    return found, unread.next_fetch_offset, None


def plain(data: bytes, start: int, aborted: Aborted | None, isolation: int) -> tuple[list[ConsumerRecord], int]:
    """Return what aiokafka reads."""
    records = PartitionRecords(PLACE, MemoryRecords(data), aborted, start, None, None, True, isolation)
    return list(records), records.next_fetch_offset


@settings(max_examples=100)
@given(
    batches(CODECS), st.integers(0, 8), st.integers(1, 12), st.sampled_from([READ_COMMITTED, READ_UNCOMMITTED]),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=2), st.integers(1, 40),
)  # fmt: skip
def test_whole_records_are_those_that_the_client_gives(
    data: bytes, start: int, most: int, isolation: int, aborted: Aborted, piece: int
) -> None:
    start = min(start, int.from_bytes(data[:8], "big") + int.from_bytes(data[23:27], "big"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_records, "_PIECE", piece)
        got = whole(data, start, most=most, aborted=aborted, isolation=isolation)
    assert got == (*plain(data, start, aborted, isolation), None)


def test_headers_of_one_name_stay_apart_and_in_order() -> None:
    batch = _builder(0, 0)
    headers = [("a", b"1"), ("a", None), ("", b""), ("a", b"1")]
    batch.append(0, 5, b"", b"", headers)
    batch.append(1, 5, None, None, [])
    data = stamped(bytes(batch.build()), 0)
    (first, second), _, _ = whole(data)
    assert (first.key, first.value, first.headers) == (b"", b"", tuple(headers))
    assert (second.key, second.value, second.headers) == (None, None, ())
    assert [first, second] == plain(data, 0, None, 1)[0]


@pytest.mark.parametrize("name", made.HOSTILE)
def test_what_others_wrote_behind_a_hostile_batch_is_read(name: str) -> None:
    """It is read at once, or from where the error says on; and what aiokafka reads too, it reads alike."""
    batch = made.HOSTILE[name]
    last = max(int.from_bytes(batch[23:27], "big", signed=True), 0)
    behind = batch_of([Raw(b"x"), Raw(b"y")], base=last + 1)
    found, position, after = whole(batch + behind)
    if after is not None:
        assert after == last + 1
        assert position == (found[-1].offset + 1 if found else 0)
        found += whole(behind, after)[0]
    assert [(each.offset, each.value) for each in found[-2:]] == [(last + 1, b"x"), (last + 2, b"y")]
    offsets = [each.offset for each in found]
    assert offsets == sorted(set(offsets))


SOUND = {
    "a header without a text", "a packed time that wraps", "a time that wraps", "six bytes",
    *(f"junk behind the stream of {codec}" for codec in (1, 2, 3)),
    *(f"a stream of {codec} in two" for codec in (0, 1, 2, 4)),
    *(f"bits {beyond} beyond 32 of a {what}" for beyond in (0x10, 0x70) for what in ("place", "length")),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(SOUND & made.HOSTILE.keys()))
def test_what_kafkas_own_consumer_reads_is_read(name: str) -> None:
    assert whole(made.HOSTILE[name])[2] is None


def test_a_header_name_that_is_no_text_is_read_with_signs_in_its_place() -> None:
    records, _, after = whole(made.HOSTILE["a header without a text"])
    assert (records[0].headers, after) == ((("\ufffd", None),), None)


@pytest.mark.parametrize(
    "text",
    [
        b"", varint(1), varint(-1), varint(1) + varint(-1) + varint(-1), varint(1) + varint(2) + b"a",
        varint(1) + varint(1) + b"a" + varint(2) + b"b", varint(0) + b"\0", b"\x80" * 5 + b"\0",
        varint(1_000_000) + b"\0\1" * 1_000_000,
    ],
)  # fmt: skip
def test_headers_that_are_none_are_told(text: bytes) -> None:
    with pytest.raises(UnsoundError):
        read_headers(text)


@given(st.binary(max_size=30))
def test_any_bytes_are_headers_or_told(text: bytes) -> None:
    try:
        found = read_headers(text)
    except UnsoundError:
        return
    assert sum(len(value or b"") for _, value in found) <= len(text)


class WholeReference(Reference):
    """The format as its specification says, with keys and headers."""

    def whole(self, head: BatchHead) -> Iterator[tuple[Any, ...]]:
        for offset, time, stop in self.walk(head):
            key, value, count, headers = self.text(stop), self.text(stop), self.number(32, stop), []
            if count < 0:
                raise UnsoundError
            for _ in range(count):
                name, held = self.text(stop), self.text(stop)
                if name is None:
                    raise UnsoundError
                headers.append((name.decode("utf-8", "replace"), held))
            if self.at != stop:
                raise UnsoundError
            yield offset, time, key, value, tuple(headers)


@settings(max_examples=300)
@given(
    sections(), st.integers(-1, 12), st.sampled_from([0, 5, 2**63 - 2, -(2**63)]), st.integers(1, 40),
    st.integers(1, 3),
)  # fmt: skip
def test_whole_records_are_what_the_specification_says(
    drawn: tuple[bytes, int], last: int, base_time: int, piece: int, most: int
) -> None:
    data, count = drawn
    wanted = list[tuple[Any, ...]]()
    head, sound = BatchHead(base_offset=5, last_offset=last, first_time=base_time, records=count), True
    try:
        for record in WholeReference(data).whole(head):
            wanted.append(record)
    except UnsoundError:
        sound = False
    batch, budget, found = WholeBatch(PLACE, head, Pieces(data, piece), 0), Budget(0), list[ConsumerRecord]()
    told = False
    try:
        while not batch.ended:
            found += batch.take(most, budget)
    except UnsoundError:
        told = True
    got = [(each.offset, each.timestamp, each.key, each.value, each.headers) for each in found]
    assert (got, not told) == (wanted, sound)


def test_sound_records_come_before_the_error_that_tells_the_rest() -> None:
    bad = batch_of([Raw(b"d"), Raw(b"e", tail=varint(9)), Raw(b"f")], base=3)
    found, position, after = whole(batch_of(GOOD) + bad)
    assert [each.value for each in found] == [b"a", b"b", b"c", b"d"]
    assert (position, after) == (4, 6)


def test_junk_behind_the_last_record_is_told_wherever_a_piece_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_records, "_PIECE", 1)
    found, _, after = whole(batch_of(GOOD, codec=ZSTD, tail=b"j"))
    assert (len(found), after) == (3, 3)


def test_a_producer_is_heard_again_behind_the_end_of_its_aborted_transaction() -> None:
    def written(offset: int, value: bytes) -> bytes:
        batch = _builder(0, 1)
        batch.append(0, 5, None, value, [])
        return stamped(bytes(batch.build()), offset)

    marker = _builder(0, 1)
    marker.append(0, 5, ABORT, b"\0\0\0\0\0\0", [])
    data = written(0, b"aborted") + stamped(bytes(marker.build()), 1, attributes=32) + written(2, b"committed")
    for isolation, values in ((READ_COMMITTED, [b"committed"]), (READ_UNCOMMITTED, [b"aborted", b"committed"])):
        found, position, after = whole(data, aborted=[(1, 0)], isolation=isolation)
        assert ([each.value for each in found], position, after) == (values, 3, None)


def test_records_that_are_passed_over_count_as_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "AT_ONCE", 100_000)
    monkeypatch.setattr(whole_records, "_PIECE", 10_000)
    data = batch_of([Raw(bytes(1_000)) for _ in range(1_000)], codec=ZSTD)
    budget, polls = Budget(0), 0
    unread = UnreadWhole(PLACE, Fetched(data), None, 999, None, None, True, 1, budget=budget)
    while not unread.exhausted:
        budget.begin_poll()
        found = unread.take(None)
        polls += 1
    assert [each.offset for each in found] == [999]
    assert polls >= 10


def test_an_error_is_raised_until_the_position_is_moved() -> None:
    unread = UnreadWhole(PLACE, Fetched(batch_of([Raw(tail=b"")])), None, 0, None, None, True, 1, budget=Budget(0))
    for _ in range(2):
        with pytest.raises(UnreadableBatch):
            unread.take(None)
        assert not unread.exhausted


@pytest.mark.parametrize("packed", [True, False])
def test_a_record_is_sound_up_to_16_mib_or_as_large_as_its_batch(
    packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_records, "MOST_RECORD", 1_000_000)
    for size, sound in ((999_000, True), (1_000_001, not packed)):
        records = [Raw(b"a"), Raw(bytes(size)), Raw(b"c")]
        found, _, after = whole(batch_of(records, codec=ZSTD if packed else NONE))
        assert (len(found), after) == ((3, None) if sound else (1, 3))


def peak_of(data: bytes) -> tuple[int, int, int | None]:
    """Return how many records there are, the memory that reading a poll at a time takes, and what an error says."""
    budget, count, after = Budget(0), 0, None
    unread = UnreadWhole(PLACE, Fetched(data), None, 0, None, None, True, 1, budget=budget)
    with traced() as memory:
        try:
            while not unread.exhausted:
                budget.begin_poll()
                count += len(unread.take(None))
        except UnreadableBatch as error:
            after = error.after
        return count, memory()[1], after


def test_a_few_kilobytes_that_unpack_to_gigabytes_take_a_fraction_of_it() -> None:
    records = 10 * [Raw(bytes(12 * MEGABYTE))]
    count, peak, after = peak_of(batch_of(records, codec=ZSTD))
    assert (count, after) == (10, None)
    assert peak < 70 * MEGABYTE
    count, peak, after = peak_of(batch_of([Raw(bytes(100 * MEGABYTE))], codec=ZSTD))
    assert (count, after) == (0, 1)
    assert peak < 40 * MEGABYTE


def test_a_megabyte_of_empty_records_or_headers_takes_a_bounded_part_of_its_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budgets, "AT_ONCE", MEGABYTE)
    count, peak, after = peak_of(batch_of([Raw(b"") for _ in range(20_000)], codec=ZSTD))
    assert (count, after) == (20_000, None)
    assert peak < 4 * MEGABYTE
    many = varint(10_000) + b"\0\1" * 10_000
    count, peak, after = peak_of(batch_of([Raw(b"", tail=many) for _ in range(50)], codec=ZSTD))
    assert (count, after) == (50, None)
    assert peak < 4 * MEGABYTE


def test_one_batch_at_a_time_is_unpacked_and_all_partitions_have_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budgets, "AT_ONCE", 100_000)
    budget = Budget(0)
    batch = batch_of([Raw(bytes(1_000)) for _ in range(400)], codec=ZSTD)
    fetches = [UnreadWhole(PLACE, Fetched(batch), None, 0, None, None, True, 1, budget=budget) for _ in range(3)]
    found: list[list[int]] = [[], [], []]
    for poll in range(100):
        budget.begin_poll()
        for number, unread in list(enumerate(fetches))[:: 1 if poll % 2 else -1]:
            found[number] += [] if unread.exhausted else [record.offset for record in unread.take(None)]
        assert sum(0 < len(offsets) < 400 for offsets in found) <= 1, "two batches are unpacked at once"
    assert found == [list(range(400))] * 3


def old(magic: int, codec: int, values: list[bytes]) -> bytes:
    builder = LegacyRecordBatchBuilder(magic, codec, 1 << 26)
    for place, value in enumerate(values):
        builder.append(place, timestamp=1_000 + place, key=b"k", value=value)
    data = bytes(builder.build())
    return data if not codec else (len(values) - 1).to_bytes(8, "big") + data[8:]  # as a broker stamps it


@pytest.mark.parametrize(("magic", "codec"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3)])
def test_batches_of_older_formats_are_read_as_the_client_reads_them(magic: int, codec: int) -> None:
    data = old(magic, codec, [b"a", b"b" * 500, b"", b"c"])
    for start in (0, 2):
        records, position = plain(data, start, None, 1)
        # Of single messages aiokafka gives those below the start too.
        assert whole(data, start, most=2) == ([each for each in records if each.offset >= start], position, None)
    behind = stamped(bytes(_one().build()), 4)
    assert [each.offset for each in whole(data + behind)[0]] == [0, 1, 2, 3, 4]


def _one() -> Any:
    batch = _builder(0, 0)
    batch.append(0, 5, None, b"new", [])
    return batch


def test_a_batch_of_an_older_format_that_unpacks_to_too_much_is_told() -> None:
    data = old(1, 1, [bytes(30 * MEGABYTE)])
    assert len(data) < MEGABYTE
    count, peak, after = peak_of(data)
    assert (count, after) == (0, 1)
    assert peak < 30 * MEGABYTE


def test_an_older_batch_of_messages_without_an_end_is_told() -> None:
    """aiokafka would walk on the spot for ever where a length takes it back to the same message."""
    message = bytearray(old(1, 0, [b"a"]))
    message[8:12] = (-12).to_bytes(4, "big", signed=True)
    wrapper = LegacyRecordBatchBuilder(1, 0, 1 << 20)
    wrapper.append(0, timestamp=5, key=None, value=gzip.compress(bytes(message)))
    data = bytearray(wrapper.build())
    data[17] = 1  # compressed by gzip
    with pytest.raises(UnsoundError):
        next(bounded(bytes(data), iter([None])))


def test_an_older_batch_of_several_frames_of_lz4_is_told() -> None:
    """aiokafka would unpack all of them, and what is bounded is the first."""
    wrapper = LegacyRecordBatchBuilder(1, 0, 1 << 26)
    frames = lz4_encode(old(1, 0, [b"a"])) + lz4_encode(bytes(30 * MEGABYTE))
    wrapper.append(0, timestamp=5, key=None, value=frames)
    data = bytearray(wrapper.build())
    data[17] = LZ4
    with pytest.raises(UnsoundError):
        next(bounded(bytes(data), iter([None])))
