"""A header that names a schema stands before the value, however a batch is read."""

from __future__ import annotations

import pytest
from aiokafka import TopicPartition
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import example, given
from hypothesis import strategies as st

from stream_anon.adapters.kafka.bulk import unread
from stream_anon.adapters.kafka.bulk.record_kernels import MOST_HEADER
from stream_anon.adapters.kafka.bulk.records import value_behind
from stream_anon.adapters.kafka.bulk.unpacking import TooLargeError
from stream_anon.adapters.kafka.bulk.unread import Fetched, Unread

NAME = b"__value_schema_id"
_Record = tuple[bytes | None, list[tuple[str, bytes | None]]]
LONGER_LAST: list[_Record] = [(b"v", [(NAME.decode(), b"ab"), (NAME.decode(), bytes(MOST_HEADER + 1))])]


def _batch(records: list[_Record], compression: int) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=compression, is_transactional=0, producer_id=-1, producer_epoch=-1,
        base_sequence=-1, batch_size=1 << 20,
    )  # fmt: skip
    for offset, (value, headers) in enumerate(records):
        builder.append(offset, 0, b"key" if offset % 2 else None, value, headers)
    return bytes(builder.build())


def _values(data: bytes, header: bytes) -> list[bytes | None]:
    part = Unread(TopicPartition("", 0), Fetched(data), None, 0, None, None, True, 1, header=header)
    found = list[bytes | None]()
    while not part.exhausted:
        found += list(part.take(None).values)  # type: ignore[union-attr, attr-defined]
    return found


def _headers() -> st.SearchStrategy[list[tuple[str, bytes | None]]]:
    names = st.sampled_from(["batch", NAME.decode(), NAME.decode() + "x", NAME.decode()[:-1], ""])
    return st.lists(
        st.tuples(
            names,
            st.one_of(
                st.none(), st.binary(max_size=20) | st.binary(min_size=MOST_HEADER - 1, max_size=MOST_HEADER + 2)
            ),
        ),
        max_size=4,
    )


_records = st.lists(st.tuples(st.one_of(st.none(), st.binary(max_size=30)), _headers()), min_size=1, max_size=6)


@given(_records, st.sampled_from([0, 1]))
@example(LONGER_LAST, 0)
@example(LONGER_LAST, 1)
def test_the_value_of_the_last_such_header_stands_before_each_value(records: list[_Record], packed: int) -> None:
    data = _batch(records, packed)
    assert _values(data, NAME) == [value_behind(value, headers, NAME) for value, headers in records]
    assert _values(data, b"") == [value for value, _ in records]


@given(_records)
@example(LONGER_LAST)
def test_a_batch_that_is_read_piece_by_piece_gives_the_same(records: list[_Record]) -> None:
    data = _batch(records, 1)

    def too_large(_: bytes) -> bytes:
        raise TooLargeError

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(unread.UNPACK, 1, too_large)
        found = _values(data, NAME)
    assert found == [value_behind(value, headers, NAME) for value, headers in records]


def test_a_header_that_is_too_long_or_of_another_name_and_a_missing_value_change_nothing() -> None:
    good = [("other", b"x"), (NAME.decode(), b"\1" + bytes(16))]
    assert value_behind(b"v", good, NAME) == b"\1" + bytes(16) + b"v"
    assert value_behind(b"v", [(NAME.decode(), bytes(MOST_HEADER + 1))], NAME) == b"v"
    assert value_behind(b"v", [("other", b"x")], NAME) == b"v"
    assert value_behind(None, good, NAME) is None
