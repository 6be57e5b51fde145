"""Take what a consumer has fetched in whole batches, not record by record.

aiokafka makes an object of each record and a `ConsumerRecord` of that object. This is most of the cost of its
reading, and it holds the interpreter's lock. Here a kernel reads the bytes of a fetch. A batch of a format from
before Kafka 0.11 is left to aiokafka's own reader.

A `Budget` over all partitions bounds how much is unpacked at once. A batch that holds more than may be unpacked in
one go is read piece by piece, one such batch at a time.

This is the only place that reaches into the fetcher. If the fetcher is not made as expected, nothing is changed,
and records are taken one by one.
"""

from __future__ import annotations

from functools import partial
from types import FunctionType, MethodType
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException

from stream_anon.adapters.kafka.bulk.records import Records
from stream_anon.adapters.kafka.bulk.unpacking_budget import Budget
from stream_anon.adapters.kafka.bulk.unread import Fetched, Unread, UnreadableBatch
from stream_anon.ports.headers import NO_HEADERS, HeaderRule

_REPLACED = {"MemoryRecords", "PartitionRecords", "FetchResult"}


class Unreadable(CorruptRecordException):  # type: ignore[misc] # aiokafka ships no types
    """The bytes that a broker gave of one partition cannot be read.

    Parameters
    ----------
    kind
        The client's name for it.
    after
        The offset behind the unreadable batch, if its head tells.
    fault
        Whether a kernel left its bounds, which is a bug.
    """

    def __init__(self, place: TopicPartition, kind: str, after: int | None = None, *, fault: bool = False) -> None:
        super().__init__(kind)
        self.place = place
        self.kind = kind
        self.after = after
        self.fault = fault


def drain_in_batches(consumer: AIOKafkaConsumer, budget: Budget, headers: HeaderRule = NO_HEADERS) -> bool:
    """Let `getmany` of a started consumer return `Records`; return whether that was possible.

    The function that handles the answer to a fetch names three classes. It gets ours under these names.

    Parameters
    ----------
    budget
        What one call of `getmany` may unpack.
    headers
        What headers put before each record's value.
    """
    own = consumer._fetcher  # noqa: SLF001 - pinned by a test
    answer = getattr(fetcher.Fetcher, "_proc_fetch_request", None)
    if not isinstance(answer, FunctionType) or not set(answer.__code__.co_names) >= _REPLACED:
        return False
    unread = partial(Unread, budget=budget, headers=headers)
    names = {**answer.__globals__, "MemoryRecords": Fetched, "PartitionRecords": unread, "FetchResult": _result}
    replaced = FunctionType(answer.__code__, names, answer.__name__)
    own._proc_fetch_request = MethodType(replaced, own)  # noqa: SLF001
    return True


def _result(place: TopicPartition, *, partition_records: Unread, **others: Any) -> fetcher.FetchResult:
    result = fetcher.FetchResult(place, partition_records=partition_records, **others)
    result.getall = partial(_drain, result)
    return result


def _drain(fetched: fetcher.FetchResult, max_records: int | None = None) -> Records | list[Any]:
    """Return the next records of a partition and move its position behind them.

    After an error the position stays, and the batch is not read any further.

    Raises
    ------
    Unreadable
        If the client cannot read them.
    """
    if not fetched.has_more() or not fetched.check_assignment(fetched._topic_partition):  # noqa: SLF001
        return []
    unread: Unread = fetched._partition_records  # noqa: SLF001
    try:
        records = unread.take(max_records)
    except Exception as error:  # noqa: BLE001 - on a malformed batch the client may raise anything
        fetched._partition_records = None  # noqa: SLF001
        after, fault = (error.after, error.fault) if isinstance(error, UnreadableBatch) else (None, False)
        place = fetched._topic_partition  # noqa: SLF001
        raise Unreadable(place, type(error).__name__, after, fault=fault) from None
    fetched._update_position()  # noqa: SLF001
    if unread.exhausted:
        fetched._partition_records = None  # noqa: SLF001
    return records


def warm_up() -> None:
    """Compile every kernel that reading calls."""
    from aiokafka.record.default_records import DefaultRecordBatchBuilder

    for compression in (0, 1):
        builder = DefaultRecordBatchBuilder(
            magic=2, compression_type=compression, is_transactional=0, producer_id=-1, producer_epoch=-1,
            base_sequence=-1, batch_size=1 << 16,
        )  # fmt: skip
        builder.append(0, 0, None, bytes(500), [])
        records = Fetched(bytes(builder.build()))
        Unread(TopicPartition("", 0), records, None, 0, None, None, True, 1).take(None)
