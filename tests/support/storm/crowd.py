"""People who send numbered records until they are told to stop, whatever the broker does."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterable, Iterator

import numpy as np
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from tests.support.hostile_batches import HOSTILE, ODD, UNREADABLE
from tests.support.raw_producer import raw_producer
from tests.support.service import CITIES, PARTITIONS, Stage
from tests.support.storm.returns import ILLNESSES
from tests.support.storm.verdict import IN_NO_FAMILY

_TICK = 0.05
_BAD = 0.01  # of all records: they end as dead letters
_SEND_WITHIN = 60.0
_IN_A_BATCH = 5


class Crowd:
    """A producer of numbered records; `people` gives the person of each.

    With `by_person` records are keyed by person; odd batches all go to one partition. With `families` everybody has
    an illness of one, and some records one of none. A record is sent once and never again: whether it was taken is
    for the input topic to say.
    """

    def __init__(
        self, stage: Stage, seed: int, rate: float, *, by_person: bool = False, families: bool = False
    ) -> None:
        self._stage = stage
        self._draws = np.random.default_rng([seed, 1])
        self._rate = rate
        self._by_person, self._families = by_person, families
        self.partitions = PARTITIONS
        self.people: list[int] = []  # by serial number
        self.acknowledged: set[int] = set()
        self.refused = 0
        self._silent = asyncio.Event()  # set while it is held and nothing of it is on its way
        self._held = False

    async def hold(self) -> None:
        """Send nothing until `go_on`; return when nothing is on its way."""
        self._held = True
        await self._silent.wait()

    def go_on(self) -> None:
        """Send again."""
        self._held = False
        self._silent.clear()

    async def send_until(self, stop: asyncio.Event) -> None:
        """Send `rate` records a second; a producer that fails is replaced."""
        producer: AIOKafkaProducer | None = None
        try:
            while not stop.is_set():
                if self._held:
                    if producer is not None:
                        await _end(producer)
                        producer = None
                    self._silent.set()
                elif producer is None:
                    producer = await self._start()
                elif not await self._send(producer, max(int(self._rate * _TICK), 1)):
                    await _end(producer)
                    producer = None
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), _TICK)
        finally:
            if producer is not None:
                await _end(producer)

    async def _start(self) -> AIOKafkaProducer | None:
        producer = AIOKafkaProducer(
            bootstrap_servers=self._stage.kafka.address,
            acks="all",
            enable_idempotence=True,
            request_timeout_ms=10_000,
        )
        try:
            await asyncio.wait_for(producer.start(), 15)
        except (KafkaError, OSError, TimeoutError, AssertionError):
            await _end(producer)
            return None
        return producer

    async def _send(self, producer: AIOKafkaProducer, count: int) -> bool:
        first = len(self.people)
        waiting = []
        for serial in range(first, first + count):
            value = self._record(serial)
            partition = int(self._draws.integers(self.partitions))
            if self._by_person:
                partition = self.people[serial] % self.partitions
            waiting.append(asyncio.ensure_future(self._one(producer, value, partition)))
        done, late = await asyncio.wait(waiting, timeout=_SEND_WITHIN)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        taken = [first + i for i, task in enumerate(waiting) if task in done and task.exception() is None]
        self.acknowledged.update(taken)
        self.refused += count - len(taken)
        return len(taken) == count

    async def _one(self, producer: AIOKafkaProducer, value: bytes, partition: int) -> None:
        await (await producer.send(self._stage.name, value, partition=partition))

    async def send_odd_batches(self) -> bool:
        """Send records in batches that no client makes and every client reads; return whether any was taken."""
        return await self._send_raw(self._odd_batches())

    async def send_unreadable_batches(self) -> bool:
        """Send batches that brokers take and no client reads; return whether any was taken."""
        return await self._send_raw((HOSTILE[name], range(0)) for name in UNREADABLE)

    def _odd_batches(self) -> Iterator[tuple[bytes, range]]:
        for batch_of in ODD.values():
            first = len(self.people)
            serials = range(first, first + _IN_A_BATCH)
            yield batch_of([self._record(serial) for serial in serials]), serials

    async def _send_raw(self, batches: Iterable[tuple[bytes, range]]) -> bool:
        """Send batches, each with the serial numbers in it; whether the last one was taken nobody may know."""
        taken = 0
        with contextlib.suppress(KafkaError, OSError, TimeoutError, AssertionError):
            async with (
                asyncio.timeout(_SEND_WITHIN),
                raw_producer(self._stage.kafka.address, self._stage.name) as writer,
            ):
                for batch, serials in batches:
                    if await writer.send(batch) == 0:
                        self.acknowledged.update(serials)
                        taken += 1
        return taken > 0

    def _record(self, serial: int) -> bytes:
        person = int(self._draws.integers(5000))
        self.people.append(person)
        age: int | str = int(self._draws.integers(100))
        if self._draws.random() < _BAD:
            age = "no number"
        city = CITIES[int(self._draws.integers(len(CITIES)))]
        record = {"person": person, "age": age, "city": city, "serial": serial}
        if self._families:
            unheard = self._draws.random() < _BAD
            record["illness"] = IN_NO_FAMILY if unheard else ILLNESSES[person % len(ILLNESSES)]
        return self._stage.encode(json.dumps(record).encode())


async def _end(producer: AIOKafkaProducer) -> None:
    with contextlib.suppress(KafkaError, OSError, TimeoutError, AssertionError):
        await asyncio.wait_for(producer.stop(), 5)
