"""The app's consumer: all code that depends on internals of Faust and aiokafka is here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import faust
from aiokafka.consumer.fetcher import READ_COMMITTED
from faust.types import TP

from stream_anon.adapters.kafka.protocol.group_fencing import membership_of
from stream_anon.errors import BrokerError
from stream_anon.ports import Membership, Place


class FaustGroup:
    """The app's membership in its consumer group.

    The consumer has a thread of its own. Coroutines run there; plain attributes are read from any thread.
    """

    def __init__(self, app: faust.App) -> None:
        self._app = app

    @property
    def _consumer(self) -> Any:
        """Return aiokafka's consumer; None before the app has one."""
        thread = getattr(self._app.consumer, "_thread", None)
        return None if thread is None else thread._consumer  # noqa: SLF001 - pinned by a test

    def membership(self) -> Membership | None:
        """Return generation and member id; None outside the group."""
        consumer = self._consumer
        return None if consumer is None else membership_of(consumer)

    def read_committed(self) -> None:
        """Fetch no records of aborted or open transactions from now on; Faust does so only for `exactly_once`."""
        consumer = self._consumer
        if consumer is not None:
            consumer._isolation_level = "read_committed"  # noqa: SLF001 - pinned by a test
            if consumer._fetcher is not None:  # noqa: SLF001
                consumer._fetcher._isolation_level = READ_COMMITTED  # noqa: SLF001

    async def seek(self, place: Place, offset: int) -> None:
        """Fetch a partition from `offset` on. Raises BrokerError."""
        consumer: Any = self._app.consumer
        try:
            await consumer.seek_wait({TP(*place): offset})
        except Exception as error:  # noqa: BLE001 - aiokafka and Faust raise anything here
            raise BrokerError(f"seeking: {type(error).__name__}") from None

    async def bounds(self, places: Collection[Place], start: str) -> Mapping[Place, int]:
        """Return the first offset (`earliest`) or the end (`latest`) of each partition. Raises BrokerError."""
        consumer = self._running()
        ask = consumer.beginning_offsets if start == "earliest" else consumer.end_offsets
        try:
            answer = await self._in_its_thread(ask, [TP(*place) for place in places])
        except Exception as error:  # noqa: BLE001 - as above
            raise BrokerError(f"reading the input's bounds: {type(error).__name__}") from None
        found = {(place.topic, place.partition): offset for place, offset in answer.items()}
        if found.keys() != set(places):
            raise BrokerError("reading the input's bounds: an answer without all partitions")
        return found

    def end(self, place: Place) -> int | None:
        """Return the end of a partition as last reported."""
        consumer = self._consumer
        if consumer is None or TP(*place) not in consumer.assignment():
            return None
        end: int | None = consumer.last_stable_offset(TP(*place))
        return end

    async def reachable(self) -> bool:
        """Return whether a broker answers."""
        consumer = self._consumer
        if consumer is None:
            return False
        try:
            return bool(await self._in_its_thread(consumer._client.force_metadata_update))  # noqa: SLF001 - pinned
        except Exception:  # noqa: BLE001 - as above
            return False

    async def _in_its_thread(self, function: Any, *arguments: Any) -> Any:
        consumer: Any = self._app.consumer
        return await consumer._thread.call_thread(function, *arguments)  # noqa: SLF001 - pinned by a test

    def _running(self) -> Any:
        consumer = self._consumer
        if consumer is None:
            raise BrokerError("the app has no consumer yet")
        return consumer
