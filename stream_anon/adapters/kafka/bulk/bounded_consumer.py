"""The consumer of everything that is read record by record: whatever bytes anybody wrote, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from stream_anon.adapters.kafka.bulk.draining import drain_whole
from stream_anon.adapters.kafka.bulk.unpacking_budget import Budget
from stream_anon.errors import BrokerError, UnreadableRecords


class BoundedConsumer(AIOKafkaConsumer):  # type: ignore[misc] # aiokafka ships no types
    """A consumer whose `getmany` unpacks a bounded part of what was fetched, and tells what cannot be read.

    Records are aiokafka's own. The worker reads columns instead; see `draining.drain_in_batches`.
    """

    def __init__(self, *topics: str, **options: Any) -> None:
        super().__init__(*topics, **options)
        self._budget = Budget(0)
        self._unreadable: dict[TopicPartition, UnreadableRecords] = {}

    async def start(self) -> None:
        """Connect; see aiokafka. Raises BrokerError too, if its memory could not be bounded."""
        await super().start()
        try:
            drain_whole(self, self._budget, self._unreadable)
        except BrokerError:
            await self.stop()
            raise

    async def getmany(
        self, *places: TopicPartition, **options: Any
    ) -> Mapping[TopicPartition, list[ConsumerRecord]]:
        """Return fetched records by partition; see aiokafka.

        Raises
        ------
        UnreadableRecords
            If a batch cannot be read, once all records before it were returned. Later calls raise it again until
            the partition is sought behind the batch.
        """
        if self._unreadable:
            raise self._unreadable.popitem()[1]
        self._budget.begin_poll()
        answer: Mapping[TopicPartition, list[ConsumerRecord]] = await super().getmany(*places, **options)
        if not answer and self._unreadable:
            raise self._unreadable.popitem()[1]
        return answer
