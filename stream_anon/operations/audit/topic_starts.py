"""What topics lost of their start, by retention or because an operator asked for it."""

from __future__ import annotations

from math import inf

from stream_anon.adapters.kafka.reading.topic_reader import CommittedRecord


class TopicStarts:
    """Knows which partitions have lost their start, and the time of the oldest record that is left of each."""

    def __init__(self) -> None:
        self._oldest: dict[tuple[str, int], float | None] = {}

    def lacks(self, topic: str, partition: int, empty: bool) -> None:
        """Note a partition that does not begin at offset 0; where nothing is left, anything may have been there."""
        self._oldest[topic, partition] = inf if empty else None

    def see(self, record: CommittedRecord) -> None:
        """Note the first record of such a partition."""
        place = (record.topic, record.partition)
        if self._oldest.get(place, inf) is None:
            self._oldest[place] = inf if record.time is None else record.time / 1000

    def oldest(self, topic: str) -> float:
        """Return the latest of these times in a topic; minus infinity where all partitions are whole."""
        times = [inf if time is None else time for place, time in self._oldest.items() if place[0] == topic]
        return max(times, default=-inf)
