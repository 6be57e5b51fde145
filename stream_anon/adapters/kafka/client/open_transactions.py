"""What open transactions hide of a consumer's partitions, and since when."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from aiokafka import AIOKafkaConsumer, TopicPartition

from stream_anon.ports import Held


class OpenTransactions:
    """Remembers since when each partition has stood at the same open transaction."""

    def __init__(self) -> None:
        self._since: dict[tuple[TopicPartition, int], float] = {}  # by partition and the offset at which it stands

    def look(self, consumer: AIOKafkaConsumer, places: Iterable[TopicPartition]) -> Held:
        """Return what is hidden. Goes by the last answers to fetches."""
        now, records, since = asyncio.get_running_loop().time(), 0, {}
        for place in places:
            end, stable = consumer.highwater(place), consumer.last_stable_offset(place)
            if end is not None and stable is not None and 0 <= stable < end:
                records += end - stable
                since[place, stable] = self._since.get((place, stable), now)
        self._since = since
        return Held(records, max((now - begun for begun in since.values()), default=0.0))
