"""Take what a consumer has fetched in whole batches, not record by record.

aiokafka makes an object of each record and a `ConsumerRecord` of that object. This is most of the cost of its
reading, and it holds the interpreter's lock. Here a kernel reads the bytes of a fetch. A batch of a format from
before Kafka 0.11 is left to aiokafka's own reader.

A `Budget` over all partitions bounds how much is unpacked at once. A batch that holds more than may be unpacked in
one go is read piece by piece, one such batch at a time.

This is the only place that reaches into the fetcher. If the fetcher is not made as expected, nothing is read: its
own reader unpacks whatever anybody wrote, in memory without a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from types import FunctionType, MethodType
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.consumer import fetcher

from stream_anon.adapters.kafka.bulk.batches import Batches, Fetched, UnreadableBatch
from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.bulk.unpacking_budget import Budget
from stream_anon.adapters.kafka.bulk.unread import Unread
from stream_anon.adapters.kafka.bulk.whole_records import UnreadWhole
from stream_anon.errors import BrokerError, UnreadableRecords
from stream_anon.ports.headers import NO_HEADERS, HeaderRule

_REPLACED = {"MemoryRecords", "PartitionRecords", "FetchResult"}


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands in the place of a partition's records if the bytes that a broker gave of it cannot be read.

    It is not raised, since the client would then lose what it has drained of other partitions in the same call.

    Parameters
    ----------
    after
        The offset behind the unreadable batch, if its head tells.
    fault
        Whether a kernel left its bounds, which is a bug.
    """

    after: int | None = None
    fault: bool = False

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True  # the client leaves out what is false


def drain_in_batches(consumer: AIOKafkaConsumer, budget: Budget, headers: HeaderRule = NO_HEADERS) -> None:
    """Let `getmany` of a started consumer return `Records` or `Unreadable`.

    The function that handles the answer to a fetch names three classes. It gets ours under these names.

    Parameters
    ----------
    budget
        What one call of `getmany` may unpack.
    headers
        What headers put before each record's value.

    Raises
    ------
    BrokerError
        If the client is not made as expected.
    """
    _read_by(consumer, partial(Unread, budget=budget, headers=headers), _drain)


def drain_whole(
    consumer: AIOKafkaConsumer, budget: Budget, unreadable: dict[TopicPartition, UnreadableRecords]
) -> None:
    """Let `getmany` of a started consumer return whole records in bounded memory; raises as `drain_in_batches`.

    Parameters
    ----------
    budget
        What one call of `getmany` may unpack.
    unreadable
        Takes what cannot be read, by partition; after that nothing comes of the partition until it is sought anew.
    """
    _read_by(consumer, partial(UnreadWhole, budget=budget), partial(_drain_whole, unreadable))


def _read_by(consumer: AIOKafkaConsumer, unread: Callable[..., Batches], drain: Callable[..., Any]) -> None:
    own = consumer._fetcher  # noqa: SLF001 - pinned by a test
    answer = getattr(fetcher.Fetcher, "_proc_fetch_request", None)
    if not isinstance(answer, FunctionType) or not set(answer.__code__.co_names) >= _REPLACED:
        raise BrokerError(
            f"reading: this build does not know aiokafka {version('aiokafka')} and could not bound the memory that "
            "reading takes. Install the version that its lock file names"
        )
    result = partial(_result, drain=drain)
    names = {**answer.__globals__, "MemoryRecords": Fetched, "PartitionRecords": unread, "FetchResult": result}
    replaced = FunctionType(answer.__code__, names, answer.__name__)
    own._proc_fetch_request = MethodType(replaced, own)  # noqa: SLF001


def _result(place: TopicPartition, *, drain: Callable[..., Any], **others: Any) -> fetcher.FetchResult:
    result = fetcher.FetchResult(place, **others)
    result.getall = partial(drain, result)
    return result


def _drain(fetched: fetcher.FetchResult, max_records: int | None = None) -> Records | Unreadable | list[Any]:
    """Return the next records of a partition and move its position behind them.

    If they cannot be read the position stays, and what was fetched is not read any further.
    """
    if not fetched.has_more() or not fetched.check_assignment(fetched._topic_partition):  # noqa: SLF001
        return []
    unread: Unread = fetched._partition_records  # noqa: SLF001
    try:
        records = unread.take(max_records)
    except Exception as error:  # noqa: BLE001 - on a malformed batch the client may raise anything
        fetched._partition_records = None  # noqa: SLF001
        return Unreadable(error.after, error.fault) if isinstance(error, UnreadableBatch) else Unreadable()
    fetched._update_position()  # noqa: SLF001
    if unread.exhausted:
        fetched._partition_records = None  # noqa: SLF001
    return records


def _drain_whole(
    unreadable: dict[TopicPartition, UnreadableRecords],
    fetched: fetcher.FetchResult,
    max_records: int | None = None,
) -> list[ConsumerRecord]:
    """Return the next whole records of a partition, as `_drain` does.

    An error is noted and not raised: what the client has drained of other partitions before would be lost.
    """
    place: TopicPartition = fetched._topic_partition  # noqa: SLF001
    if not fetched.has_more() or not fetched.check_assignment(place):
        return []
    unread: UnreadWhole = fetched._partition_records  # noqa: SLF001
    try:
        records = unread.take(max_records)
    except UnreadableBatch as error:
        unreadable[place] = UnreadableRecords(place.topic, place.partition, unread.next_fetch_offset, error.after)
        records = []
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
        UnreadWhole(TopicPartition("", 0), records, None, 0, None, None, True, 1, budget=Budget(0)).take(None)
