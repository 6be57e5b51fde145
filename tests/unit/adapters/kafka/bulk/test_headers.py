"""A header that names a schema stands before the value, however a batch is read."""

from __future__ import annotations

import pytest
from aiokafka import TopicPartition
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import example, given
from hypothesis import strategies as st

from stream_anon.adapters.kafka.bulk import unread
from stream_anon.adapters.kafka.bulk.batches import Fetched
from stream_anon.adapters.kafka.bulk.unpacking import TooLargeError
from stream_anon.adapters.kafka.bulk.unread import Unread
from stream_anon.formats.registry.framing import Framing, headers_of
from stream_anon.ports.headers import NO_HEADERS, HeaderRule

NAME = b"__value_schema_id"
CONFLUENT = headers_of(Framing.CONFLUENT)
APICURIO = headers_of(Framing.APICURIO_GLOBAL, messages=True)
RULES = [CONFLUENT, headers_of(Framing.CONFLUENT, messages=True), APICURIO, headers_of(Framing.APICURIO_CONTENT)]
ID, TYPE, ENCODING = "apicurio.value.globalId", "apicurio.protobuf.type", "apicurio.value.encoding"
_Record = tuple[bytes | None, list[tuple[str, bytes | None]]]
LONGER_LAST: list[_Record] = [(b"v", [(NAME.decode(), b"ab"), (NAME.decode(), bytes(20))])]


def _batch(records: list[_Record], compression: int) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=compression, is_transactional=0, producer_id=-1, producer_epoch=-1,
        base_sequence=-1, batch_size=1 << 20,
    )  # fmt: skip
    for offset, (value, headers) in enumerate(records):
        builder.append(offset, 0, b"key" if offset % 2 else None, value, headers)
    return bytes(builder.build())


def _values(data: bytes, headers: HeaderRule) -> list[bytes | None]:
    part = Unread(TopicPartition("", 0), Fetched(data), None, 0, None, None, True, 1, headers=headers)
    found = list[bytes | None]()
    while not part.exhausted:
        found += list(part.take(None).values)  # type: ignore[union-attr, attr-defined]
    return found


def _headers() -> st.SearchStrategy[list[tuple[str, bytes | None]]]:
    known = [NAME.decode(), ID, TYPE, ENCODING, "apicurio.value.contentId"]
    names = st.sampled_from([*known, ID, TYPE, "batch", NAME.decode() + "x", NAME.decode()[:-1], ""])
    held = st.one_of(st.none(), st.binary(max_size=20), st.binary(min_size=8, max_size=8), st.just(b"BINARY"))
    return st.lists(st.tuples(names, held), max_size=5)


_records = st.lists(st.tuples(st.one_of(st.none(), st.binary(max_size=30)), _headers()), min_size=1, max_size=6)


@given(_records, st.sampled_from([0, 1]), st.sampled_from(RULES))
@example(LONGER_LAST, 0, CONFLUENT)
@example(LONGER_LAST, 1, CONFLUENT)
def test_what_headers_say_stands_before_each_value(records: list[_Record], packed: int, rule: HeaderRule) -> None:
    data = _batch(records, packed)
    assert _values(data, rule) == [rule.value(value, headers) for value, headers in records]
    assert _values(data, NO_HEADERS) == [value for value, _ in records]


@given(_records, st.sampled_from(RULES))
@example(LONGER_LAST, CONFLUENT)
def test_a_batch_that_is_read_piece_by_piece_gives_the_same(records: list[_Record], rule: HeaderRule) -> None:
    data = _batch(records, 1)

    def too_large(_: bytes) -> bytes:
        raise TooLargeError

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(unread.UNPACK, 1, too_large)
        found = _values(data, rule)
    assert found == [rule.value(value, headers) for value, headers in records]


def test_a_header_that_is_too_long_or_of_another_name_and_a_missing_value_change_nothing() -> None:
    good = [("other", b"x"), (NAME.decode(), b"\1" + bytes(16))]
    assert CONFLUENT.value(b"v", good) == b"\1" + bytes(16) + b"v"
    assert CONFLUENT.value(b"v", [(NAME.decode(), bytes(18))]) == b"v"
    assert CONFLUENT.value(b"v", [("other", b"x")]) == b"v"
    assert CONFLUENT.value(None, good) is None
    of_messages = headers_of(Framing.CONFLUENT, messages=True)  # sixteen deep: seventeen numbers of five bytes
    assert of_messages.value(b"v", [(NAME.decode(), bytes(102))]) == bytes(102) + b"v"
    assert of_messages.value(b"v", [(NAME.decode(), bytes(103))]) == b"v"


def test_headers_of_apicurio_say_what_its_frames_say_and_a_value_that_they_forbid_is_no_frame() -> None:
    number = (5_000_000_000).to_bytes(8, "big")
    assert APICURIO.value(b"v", [(ID, number)]) == b"\0" + number + b"v"
    named = [(TYPE, b"Person"), (ID, number), (ENCODING, b"BINARY")]
    assert APICURIO.value(b"v", named) == b"\0" + number + b"\x08\n\6Person" + b"v"
    assert APICURIO.value(b"v", [(ID, number[:7])]) == b"v"
    assert APICURIO.value(b"v", [(TYPE, b"Person")]) == b"v"
    bare = b"\0Somebody"
    assert APICURIO.value(bare, [("apicurio.value.contentId", number)]) == b"\xff" + bare
    assert APICURIO.value(bare, [(ID, number), (ENCODING, b"JSON")]) == b"\xff" + bare
