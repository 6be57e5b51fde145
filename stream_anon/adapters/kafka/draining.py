"""Take what a consumer has fetched without an object of its own for every record.

aiokafka turns each record into a `ConsumerRecord`, three Python calls deep: most of what its reading costs, all of
it under the interpreter's lock. Offset, time and value are already in the record that its parser made.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer.fetcher import FetchResult


def drain_plainly(consumer: AIOKafkaConsumer) -> None:
    """Let the next `getmany` return what has been fetched until now as the parser's records.

    What is fetched while it waits may come as `ConsumerRecord`; both have `offset`, `timestamp` and `value`.
    """
    for fetched in consumer._fetcher._records.values():  # noqa: SLF001 - pinned by a test
        if type(fetched) is FetchResult and fetched.has_more():
            fetched._partition_records._consumer_record = _as_it_is  # noqa: SLF001
            fetched.getall = partial(_drain, fetched)


def _as_it_is(place: TopicPartition, record: Any) -> Any:  # noqa: ARG001 - called by aiokafka
    return record


def _drain(fetched: FetchResult, max_records: int | None = None) -> list[Any]:
    """Return the next records of a partition and move its position behind them."""
    if not fetched.check_assignment(fetched._topic_partition) or not fetched.has_more():  # noqa: SLF001
        return []
    records = list(islice(fetched._partition_records._records_iterator, max_records))  # noqa: SLF001
    fetched._update_position()  # noqa: SLF001
    if max_records is None or len(records) < max_records:
        fetched._partition_records = None  # noqa: SLF001 - nothing is left
    return records
