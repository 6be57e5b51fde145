"""Packed batches: to the byte what aiokafka's builder makes of the same records."""

from __future__ import annotations

from typing import Any

import numpy as np
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.memory_records import MemoryRecords
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.adapters.kafka.writing.packed_batch import PackedBatch, most_bytes_of_value
from stream_anon.adapters.kafka.writing.packing import PACKERS
from stream_anon.microdata.texts import Texts

values = st.lists(st.one_of(st.binary(max_size=9), st.binary(min_size=60, max_size=200)), min_size=1, max_size=30)
headers = st.lists(st.tuples(st.text(max_size=4), st.binary(max_size=5)), max_size=2).map(tuple)


@settings(max_examples=80)
@given(
    st.lists(st.tuples(values, headers, st.integers(0, 3)), min_size=1, max_size=5),
    st.sampled_from([100, 400, 1 << 20]),
    st.booleans(),
    st.booleans(),
)
def test_a_packed_batch_equals_one_that_was_filled_record_by_record(
    parcels: list[tuple[list[bytes], Any, int]], most: int, transactional: bool, gap: bool
) -> None:
    ours, theirs = (
        PackedBatch(most, transactional=transactional),
        BatchBuilder(most, 0, is_transactional=transactional),
    )
    time = 10**12
    for parcel, heads, later in parcels:
        time += later
        texts = Texts.of(parcel) if gap else _without_gap(parcel)
        took = ours.extend(texts, 0, time, heads)
        appended = (theirs.append(timestamp=time, key=None, value=v, headers=list(heads)) for v in parcel)
        assert took == sum(1 for one in iter(lambda it=appended: next(it, None), None) if one is not None)
        assert ours.record_count() == theirs.record_count()
        assert ours.size() == theirs.size()
        assert ours.closed() == theirs.closed()
    for batch in (ours, theirs):
        batch._set_producer_state(7, 3, 12)
    assert bytes(ours._build()) == bytes(theirs._build())
    assert ours.size() == theirs.size()
    assert bytes(ours._build()) == bytes(ours._build())


def test_a_batch_takes_no_value_that_is_earlier_than_its_first_one() -> None:
    batch, text = PackedBatch(1 << 10, transactional=True), Texts.of([b"a"])
    assert [batch.extend(text, 0, time, ()) for time in (1000, 1200, 1100)] == [1, 1, 1]
    assert batch.extend(text, 0, 999, ()) == 0
    assert batch.closed()
    assert [record.timestamp for record in DefaultRecordBatch(bytes(batch._build()))] == [1000, 1200, 1100]


def _without_gap(parcel: list[bytes]) -> Texts:
    room = np.frombuffer(b"".join([*parcel, bytes(8)]), np.uint8)
    return Texts(room, np.cumsum([len(value) for value in parcel]))


@settings(max_examples=60)
@given(st.sampled_from(list(PACKERS)), values, headers, st.booleans(), st.integers(1, 40))
def test_a_compressed_batch_holds_the_records_of_the_plain_one(
    compression: str, parcel: list[bytes], heads: Any, transactional: bool, times: int
) -> None:
    texts = Texts.of(parcel * times)
    batch = PackedBatch(1 << 20, transactional=transactional, compression=compression)
    assert batch.extend(texts, 0, 10**12, heads) == len(texts)
    plain = batch.size()
    batch._set_producer_state(7, 3, 12)
    built = bytes(batch._build())
    assert batch.size() == len(built) <= plain
    assert bytes(batch._build()) == built

    read = MemoryRecords(built).next_batch()
    assert read.validate_crc()
    assert (read.is_transactional, read.producer_id, read.base_sequence) == (transactional, 7, 12)
    assert read.compression_type == (PACKERS[compression].flag if len(built) < plain else 0)
    found = [(record.value, tuple(record.headers), record.timestamp) for record in read]
    assert found == [(value, heads, 10**12) for value in parcel * times]


def test_compression_saves_bytes_where_records_are_alike() -> None:
    sizes = {}
    for compression in PACKERS:
        batch = PackedBatch(1 << 20, transactional=True, compression=compression)
        batch.extend(Texts.of([b'{"age":"40-49","zip":"021**"}'] * 1000), 0, 5, ())
        sizes[compression] = len(bytes(batch._build()))
    assert all(sizes[name] < sizes["none"] / 4 for name in PACKERS if name != "none")


def test_an_empty_batch_takes_a_value_larger_than_a_batch() -> None:
    batch = PackedBatch(100, transactional=True)
    values = Texts.of([b"x" * 5000, b"y"])
    assert batch.extend(values, 0, 5, ()) == 1
    assert batch.closed()
    assert batch.extend(values, 1, 5, ()) == 0


@given(st.integers(120, 20_000), st.sampled_from([(), (("batch", b"0" * 32),), (("batch", b"1"), ("part", b"12"))]))
def test_the_largest_value_fills_a_batch_of_one_record_and_not_a_byte_more(most: int, heads: Any) -> None:
    sizes = []
    largest = most_bytes_of_value(most, heads)
    for size in (largest, largest + 1):
        batch = PackedBatch(most, transactional=True)
        assert batch.extend(Texts.of([b"x" * size]), 0, 5, heads) == 1
        sizes.append(len(bytes(batch._build())))
    assert sizes[0] <= most < sizes[1]
