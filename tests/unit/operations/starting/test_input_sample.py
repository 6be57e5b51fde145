"""A sample is in order of time, and begins where nothing is left out of any partition."""

from __future__ import annotations

from types import SimpleNamespace

from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.reading.topic_sample import TopicSample
from stream_anon.operations.starting.input_sample import nothing_read, sample_of


def _reading(*parts: tuple[int, ...], whole: frozenset[int]) -> TopicSample:
    """Return a reading whose partitions have records of these seconds, which are their values too."""
    records = {
        number: Records.of([
            SimpleNamespace(offset=offset, timestamp=1000 * second, value=b"%d" % second, headers=())
            for offset, second in enumerate(part)
        ])
        for number, part in enumerate(parts)
    }  # fmt: skip
    return TopicSample(records, whole, complete=True, unreadable=0)


def test_records_of_all_partitions_are_put_in_order_of_time() -> None:
    sample = sample_of(_reading((1, 4), (2, 5), whole=frozenset({0, 1})), _reading((3,), whole=frozenset({0})))
    assert sample.values == [b"1", b"2", b"3", b"4", b"5"]
    assert sample.times.tolist() == [1, 2, 3, 4, 5]


def test_a_sample_begins_where_older_records_of_no_partition_were_left_out() -> None:
    assert sample_of(_reading((1, 4), (2, 5), whole=frozenset({0}))).values == [b"2", b"4", b"5"]


def test_one_record_of_one_topic_is_a_sample() -> None:
    nothing = TopicSample({0: Records.of([])}, frozenset(), complete=False, unreadable=7)
    assert nothing_read([nothing, nothing]).endswith("their batches, 14 in all, are damaged")
    assert nothing_read([nothing, _reading((1,), whole=frozenset({0}))]) == ""
