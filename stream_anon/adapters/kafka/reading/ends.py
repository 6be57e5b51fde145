"""When a topic has been read to its end."""

from __future__ import annotations

from aiokafka import AIOKafkaConsumer, TopicPartition


async def at_the_ends(
    consumer: AIOKafkaConsumer, places: list[TopicPartition], ends: dict[TopicPartition, int]
) -> bool:
    """Return whether every partition was read to the end that its first fetch told.

    Asked for the end, some brokers answer with the start of the last batch; fetches tell the true one.
    """
    for place in places:
        if place not in ends:
            end = consumer.last_stable_offset(place)
            if end is None or end < 0:
                return False
            ends[place] = end
        if await consumer.position(place) < ends[place]:
            return False
    return True
