"""Batches that no client makes: what others wrote behind them is read, or their end is told."""

from __future__ import annotations

import gzip
import random
import struct
import time
from collections.abc import Callable

import pytest
from aiokafka import TopicPartition
from aiokafka.codec import zstd_encode
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.adapters.kafka.bulk import unpacking
from stream_anon.adapters.kafka.bulk.batches import Fetched, UnreadableBatch
from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.bulk.unpacking_budget import SECONDS_AT_ONCE, Budget
from stream_anon.adapters.kafka.bulk.unread import Unread
from tests.support import hostile_batches as made
from tests.support.clock import ticking
from tests.support.hostile_batches import GOOD, MOST, Raw, batch_of, varint

PLACE = TopicPartition("t", 0)
BEHIND = batch_of([Raw(b"x"), Raw(b"y")], base=3)
Found = list[tuple[int, bytes | None]]


def read(data: bytes, start: int = 0, *, budget: Budget | None = None) -> tuple[Found, int | None]:
    """Return the records up to an error, and where the error says that reading goes on."""
    unread, found = Unread(PLACE, Fetched(data), None, start, None, None, True, 1, budget=budget), Found()
    try:
        for _ in range(1_000):
            if unread.exhausted:
                break
            if budget is not None:
                budget.begin_poll()
            records = unread.take(None)
            if isinstance(records, Records):
                found += zip(records.offsets.tolist(), records.values, strict=True)
    except UnreadableBatch as error:
        return found, error.after
    return found, None


def of_batch(batch: bytes, *, small: bool = False) -> tuple[Found, int | None]:
    """Read a batch; small ones are read as large ones are if `small`."""
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(unpacking, "AT_ONE_GO", 1)
            patch.setattr(unpacking, "_FIRST", 1)
        return read(batch, budget=Budget(1_000))


@pytest.mark.parametrize("name", made.HOSTILE)
def test_what_others_wrote_behind_a_hostile_batch_is_read(name: str) -> None:
    """Nothing behind the batch is missed: it is read at once, or from where the error says on."""
    batch = made.HOSTILE[name]
    last = int.from_bytes(batch[23:27], "big", signed=True)
    behind = batch_of([Raw(b"x"), Raw(b"y")], base=max(last, 0) + 1)
    found, after = read(batch + behind, budget=Budget(1_000))
    if after is not None:
        assert after == max(last, 0) + 1
        assert all(offset < after for offset, _ in found)
        found += read(behind, after)[0]
    assert found[-2:] == [(max(last, 0) + 1, b"x"), (max(last, 0) + 2, b"y")]
    offsets = [offset for offset, _ in found]
    assert offsets == sorted(set(offsets))


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("name", made.ODD)
def test_a_batch_that_is_only_odd_is_read_whole(name: str, small: bool) -> None:
    values = [b"a", b"bcd", b"e"]
    assert of_batch(made.ODD[name](values), small=small) == (list(enumerate(values)), None)


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("delta", [7, 100, MOST, -1])
@pytest.mark.parametrize("codec", made.PACK)
def test_a_place_beyond_the_batch_is_told_and_hides_no_other_record(codec: int, delta: int, start: int) -> None:
    batch = batch_of([Raw(b"a"), Raw(b"b"), Raw(b"c", delta=delta)], codec=codec)
    assert read(batch + BEHIND, start) == ([], 3)
    assert read(BEHIND, 3) == ([(3, b"x"), (4, b"y")], None)


def test_gaps_that_compaction_leaves_are_no_error() -> None:
    batch = batch_of([Raw(b"b", delta=1), Raw(b"e", delta=4)], last=6)
    assert read(batch) == ([(1, b"b"), (4, b"e")], None)
    assert read(batch_of([], last=6) + batch_of([Raw(b"x")], base=7)) == ([(7, b"x")], None)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("beyond", [0, 0x10, 0x70])
@pytest.mark.parametrize("codec", made.PACK)
def test_bits_beyond_32_are_dropped_as_java_does(codec: int, beyond: int, small: bool) -> None:
    records = [
        Raw(b"a"),
        Raw(b"bcd", value_size=varint(3, width=5, beyond=beyond), delta_bytes=varint(1, width=5, beyond=beyond)),
    ]
    assert of_batch(batch_of(records, codec=codec), small=small) == ([(0, b"a"), (1, b"bcd")], None)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("codec", [made.GZIP, made.SNAPPY, made.ZSTD])
def test_streams_that_stand_behind_each_other_are_one(codec: int, small: bool) -> None:
    batch = batch_of(GOOD, codec=codec, packed=made.twice(made.PACK[codec]))
    assert of_batch(batch, small=small) == ([(0, b"a"), (1, b"b"), (2, b"c")], None)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("codec", [made.GZIP, made.SNAPPY, made.LZ4])
def test_junk_behind_a_stream_is_passed_over_as_java_does(codec: int, small: bool) -> None:
    batch = batch_of(GOOD, codec=codec, packed=made.changed(made.PACK[codec], 0, b"\1\2\3"))
    assert of_batch(batch, small=small) == ([(0, b"a"), (1, b"b"), (2, b"c")], None)


def test_the_records_before_junk_are_given_and_then_the_junk_is_told() -> None:
    batch = batch_of(GOOD, codec=made.ZSTD, packed=made.changed(zstd_encode, 0, b"junk" * 4))
    assert of_batch(batch, small=True) == ([(0, b"a"), (1, b"b"), (2, b"c")], 3)


@pytest.mark.parametrize("codec", made.PACK)
@pytest.mark.parametrize("small", [False, True])
def test_a_time_beyond_64_bits_wraps(codec: int, small: bool) -> None:
    batch = batch_of([Raw(b"a", time=2**62), Raw(b"b", time=-(2**63))], first_time=2**62, codec=codec)
    assert of_batch(batch, small=small) == ([(0, b"a"), (1, b"b")], None)


@pytest.mark.parametrize(
    ("codec", "empty", "pack"),
    [(made.GZIP, made.empty_members, gzip.compress), (made.ZSTD, made.empty_frames, zstd_encode)],
)
def test_empty_frames_take_time_in_proportion_to_their_number(
    codec: int, empty: Callable[[int], bytes], pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "_PARTS", 1 << 20)

    def seconds(count: int) -> float:
        batch = batch_of(GOOD, codec=codec, packed=made.behind(empty(count), pack))
        taken = list[float]()
        for _ in range(3):
            begun = time.process_time()
            found, after = of_batch(batch, small=True)
            taken.append(time.process_time() - begun)
            assert (len(found), after) == (3, None)
        return min(taken)

    seconds(10)
    assert seconds(32_000) < 32 * seconds(4_000)  # 8 times where it is linear, 64 times where the rest is copied


@pytest.mark.parametrize("length", [-1, -5, -12, -13, -(2**31)])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_batch_of_negative_length_is_told_and_not_taken_for_one_that_is_cut_off(magic: int, length: int) -> None:
    damaged = bytearray(BEHIND)
    struct.pack_into(">i", damaged, 8, length)
    damaged[16] = magic
    assert read(bytes(damaged)) == ([], 4)
    assert read(batch_of(GOOD) + damaged) == ([(0, b"a"), (1, b"b"), (2, b"c")], 4)


def test_a_poll_unpacks_a_bounded_part_however_little_of_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "AT_ONE_GO", 1)
    monkeypatch.setattr(unpacking, "_FIRST", 1)
    batch = batch_of([Raw(b"") for _ in range(100)], codec=made.ZSTD)
    budget = Budget(1_000, ticking(SECONDS_AT_ONCE / 40))
    unread, counts = Unread(PLACE, Fetched(batch), None, 0, None, None, True, 1, budget=budget), list[int]()
    while not unread.exhausted:
        budget.begin_poll()
        counts.append(len(unread.take(None)))
    assert sum(counts) == 100
    assert max(counts) <= 42


@pytest.mark.parametrize("codec", made.PACK)
def test_a_stream_of_many_slices_is_read_whole_however_well_it_packs(codec: int) -> None:
    draws = random.Random(codec)
    values = [draws.randbytes(9_000), bytes(9_000_000), draws.randbytes(9_000), bytes(300_000)]
    found, after = read(batch_of([Raw(value) for value in values], codec=codec), budget=Budget(20_000_000))
    assert after is None
    assert [value for _, value in found] == values


@given(
    st.lists(st.tuples(st.integers(-2, 9), st.integers(0, 3)), max_size=6),
    st.integers(-1, 9),
    st.integers(-1, 7),
    st.integers(0, 4),
    st.sampled_from([*made.PACK]),
    st.booleans(),
    st.binary(max_size=2),
)
def test_a_batch_is_read_as_its_head_says_or_told(
    drawn: list[tuple[int, int]], last: int, count: int, start: int, codec: int, small: bool, tail: bytes
) -> None:
    """The rules of the format, and not another client: the count is true, places ascend up to the last."""
    deltas = [delta for delta, _ in drawn]
    records = [Raw(bytes(size), delta=delta) for delta, size in drawn]
    batch = batch_of(records, codec=codec, last=last, count=count, tail=tail)
    sound = (
        count == len(records)
        and not tail
        and last >= -1
        and all(before < delta <= last for before, delta in zip([-1, *deltas], deltas, strict=False))
    )
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(unpacking, "AT_ONE_GO", 1)
            patch.setattr(unpacking, "_FIRST", 1)
        found, after = read(batch, start, budget=Budget(1_000))
    wanted = [(delta, bytes(size)) for delta, size in drawn if delta >= start]
    if sound:
        assert (found, after) == (wanted, None)
    else:
        assert after == max(start, max(last, 0) + 1)
        assert found == wanted[: len(found)]
