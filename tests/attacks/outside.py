"""What an outsider sees of the service: records of the output with all their metadata, status, metrics."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry

from stream_anon.adapters.prometheus.exposition import exposition
from stream_anon.service.events import Event
from stream_anon.service.status.status_board import StatusBoard
from stream_anon.service.wiring.observing import into_metrics
from tests.support.driver import Driver
from tests.support.memory import MemoryBroker


@dataclass(frozen=True)
class OutputRecord:
    """A record of the output topic as a consumer gets it."""

    partition: int
    time: int
    key: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    value: dict[str, Any]

    @property
    def batch(self) -> str:
        return self.headers[0][1].decode()


def read_output(broker: MemoryBroker) -> list[OutputRecord]:
    """Return all committed records of the output in the order in which they were sent."""
    return [
        OutputRecord(
            parcel.partition,
            parcel.time,
            None if parcel.keys is None else parcel.keys[i],
            parcel.headers,
            json.loads(value),
        )
        for parcel in broker.committed
        if parcel.topic == "out"
        for i, value in enumerate(parcel.values)
    ]


class Watcher:
    """Status page and metrics of a worker, made from what it has said so far."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._registry = CollectorRegistry()
        self._board = StatusBoard(driver.clock.monotonic)
        self._listeners = (into_metrics(self._registry), self._board)
        self._heard = 0

    def look(self) -> tuple[str, str]:
        """Return the status page as JSON and the metrics as text."""
        events: Sequence[Event] = self._driver.events[self._heard :]
        self._heard += len(events)
        for event in events:
            for listener in self._listeners:
                listener(event)
        return json.dumps(self._board.status()), exposition(self._registry).decode()
