"""Drive a whole worker without a broker, on a clock that a test moves, as Kafka Streams' TopologyTestDriver does.

::

    async with Driver() as driver:
        driver.send(people(10))
        await driver.settle()          # all that is due now is done
        await driver.advance(30)       # time passes
        assert driver.broker.records

Everything but the clients is real: engine, codec, certificates, takeover, closing and the loop.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Self, TypeVar

from stream_anon.adapters.kafka.writing.kafka_sink import KafkaSink
from stream_anon.engine.returning import Returns, ReturnsKey
from stream_anon.microdata.bounds import ReturnBound
from stream_anon.ports import At
from stream_anon.service.counting import Counting
from stream_anon.service.events import Away, BrokerAway, BrokerBack, Event
from stream_anon.service.fault_points import nowhere
from stream_anon.service.wiring.building import assemble
from stream_anon.settings.loading import parse_settings
from stream_anon.settings.policy_file import build_policy
from stream_anon.settings.sections.privacy_settings import ReturningSettings
from tests.support.clock import FakeClock
from tests.support.data import ROOT
from tests.support.memory import (
    INPUT,
    OUTPUTS,
    RETURNS,
    MemoryBroker,
    MemoryHistory,
    MemoryLedger,
    MemorySink,
    MemorySource,
)

KEY = ReturnsKey(b"a secret of sixteen bytes or more")
CITIES = ("Aachen", "Bonn", "Calw", "Dessau")
_E = TypeVar("_E")


def people(count: int, first: int = 0) -> list[bytes]:
    """Return records of `count` different people."""
    return [
        json.dumps({"person": n, "age": n * 7 % 100, "city": CITIES[n % 4], "serial": n}).encode()
        for n in range(first, first + count)
    ]


class Driver:
    """One worker on a broker in memory, which several drivers may share.

    Parameters
    ----------
    sections
        Settings by section; the defaults are k = 3, windows of 20 records and 10 seconds. With `privacy.returning`
        releases are counted by a key that all drivers share, and people's ids by that of this process.
    """

    def __init__(
        self,
        broker: MemoryBroker | None = None,
        clock: FakeClock | None = None,
        name: str = "one",
        at: At = nowhere,
        **sections: dict[str, Any],
    ) -> None:
        kafka = {"bootstrap_servers": "nowhere:9092", "group": "g", "input": "people", "output": "out"}
        document: dict[str, Any] = {
            "kafka": kafka | sections.get("kafka", {}),
            "privacy": {"k": 3, "individual": "person"} | sections.get("privacy", {}),
            "window": {"max_records": 20, "max_delay": 10} | sections.get("window", {}),
            "attributes": {
                "person": {"role": "identifier"},
                "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
                "city": {"role": "quasi-identifier", "values": list(CITIES)},
                "serial": {"role": "insensitive", "type": "integer", "accept_linkable": True},
            }
            | sections.get("attributes", {}),
        }
        document |= {name: values for name, values in sections.items() if name not in document}
        settings = parse_settings(document)
        self.broker = broker or MemoryBroker()
        self.clock = clock or FakeClock()
        self.source = MemorySource(self.broker, name)
        self.sink = MemorySink(self.broker, name)
        ledger = MemoryLedger(self.broker, name, settings.privacy.revision)
        self.events: list[Event] = []
        self.stopping = asyncio.Event()
        self.worker = assemble(
            settings,
            build_policy(settings, ROOT / "policy.yaml"),
            source=self.source,
            sink=KafkaSink(self.sink, ledger, [INPUT], OUTPUTS),
            ledger=ledger,
            clock=self.clock,
            tell=self.events.append,
            stop=self.stopping,
            at=at,
            prepare=self._prepare,
            counting=None if settings.privacy.returning is None else self._counting(settings.privacy.returning),
        )

    def _counting(self, bound: ReturningSettings) -> Counting:
        returns = Returns(ReturnBound(bound.most, bound.period), KEY, self.clock.wall)
        history = MemoryHistory(self.broker, KEY.name)
        return Counting(returns, history, RETURNS, KEY.name, self.clock, self.events.append)

    async def _prepare(self) -> str | None:
        self.broker.ask()
        made, self.broker.has_ledger, self.broker.ledger_is_gone = not self.broker.has_ledger, True, False
        return "out.ledger" if made else None

    async def __aenter__(self) -> Self:
        await self.worker.connect()
        await self.settle()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stopping.set()
        await self.worker.disconnect()

    def send(self, values: Sequence[bytes | None], partition: int = 0) -> None:
        """Put records into the input."""
        self.broker.send(values, partition, int(self.clock.wall() * 1000))

    async def settle(self, turns: int = 12) -> None:
        """Let the worker do all that is due now."""
        for _ in range(turns):
            await self.worker.turn()
        while self.worker._queue.busy and self.sink.gate.is_set() and not self._refused:
            await self.worker.turn()
            await asyncio.sleep(0.001)  # a kernel may be compiled meanwhile, which needs the interpreter

    @property
    def _refused(self) -> bool:
        """Return whether a window waits until somebody sets a clock."""
        away = [event for event in self.told(BrokerAway) if event.doing is Away.DATING and not event.again]
        return len(away) > len([event for event in self.told(BrokerBack) if event.doing is Away.DATING])

    async def advance(self, seconds: float) -> None:
        """Let the worker do what is due, time pass, and the worker do what is due then."""
        await self.settle()
        self.clock.advance(seconds)
        await self.settle()

    async def stop(self) -> None:
        """Do what SIGTERM does."""
        self.stopping.set()
        await self.worker.finish()
        await self.worker.disconnect()

    async def kill(self) -> None:
        """Do what SIGKILL does: nothing is said to anybody, open transactions stay open."""
        task = self.worker._queue._publishing
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self.source.asleep = True
        self.broker.leave(self.source.name)

    def told(self, kind: type[_E]) -> list[_E]:
        """Return the events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]


async def after_release(broker: MemoryBroker, count: int = 20, **sections: dict[str, Any]) -> Driver:
    """Return a worker that has released so many records of partition 0 and has stopped."""
    async with Driver(broker, **sections) as driver:
        driver.send(people(count))
        await driver.settle()
        await driver.stop()
    return driver
