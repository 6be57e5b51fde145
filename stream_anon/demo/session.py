"""Stream events through the real service on an embedded broker, and audit what came out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from aiokafka import ConsumerRecord

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.kafka.reading.topic_reader import TopicReading, read_topic
from stream_anon.adapters.logs import silenced_libraries
from stream_anon.audit.verdict import Verdict
from stream_anon.compiled import when_compiling
from stream_anon.demo.counting_listener import CountingListener
from stream_anon.demo.pairing import BeforeAndAfter, pairs
from stream_anon.demo.producing import EventSource, create_topics
from stream_anon.errors import BrokerError, InputError, SettingsError
from stream_anon.formats.codecs import codec_of
from stream_anon.microdata.policy import Policy
from stream_anon.operations.attack.attack_report import AttackReport
from stream_anon.operations.attack.attacked_records import attacked_records
from stream_anon.operations.attack.attacking import AttackRequest, attack
from stream_anon.operations.attack.halves import released_half
from stream_anon.operations.audit.auditing import WantedAudit, audit_committed
from stream_anon.operations.report.figures.evidence import Evidence
from stream_anon.operations.report.reporting import threshold_of
from stream_anon.operations.samples import RecordSample
from stream_anon.operations.starting.permission import permit_of
from stream_anon.ports import Clock
from stream_anon.service.wiring.building import build_worker
from stream_anon.service.wiring.clients import connection_of
from stream_anon.service.wiring.warming import warm_up
from stream_anon.settings.model import Settings
from stream_anon.settings.sections.kafka_settings import KafkaSettings

MOST_DELAY = 3.0  # seconds; a policy's own limit may be shorter, but nobody waits for a longer one here
PAIRS = 5
_LOOK_EVERY = 0.05
_TELL_EVERY = 0.25
_PATIENCE = 30.0  # beyond the expected time, before the demo gives up
_STOP_WITHIN = 12.0
_TARGETS = 300  # people of each group who are attacked: a few seconds


class Phase(StrEnum):
    """What the demo is doing."""

    STARTING = "starting the engine"
    COMPILING = "compiling kernels; this takes a minute or two"
    JOINING = "joining the consumer group"
    STREAMING = "streaming"
    STOPPING = "stopping the service"
    AUDITING = "auditing the output topic"
    ATTACKING = "attacking a release of half of the people"


@dataclass(frozen=True, slots=True)
class DemoProgress:
    """How far it is.

    Parameters
    ----------
    sent, total
        Events produced, and to produce.
    done
        Events of which the outcome is known: released, suppressed or rejected.
    waiting
        Records in the open window.
    """

    phase: Phase
    sent: int
    total: int
    done: int
    waiting: int
    windows: int
    released: int


@dataclass(frozen=True, slots=True, eq=False)
class DemoOutcome:
    """What the demo has to show; `attacks` of half of the people, None where such a trial cannot be made."""

    sent: int
    seconds: float
    tally: CountingListener
    verdict: Verdict
    evidence: Evidence
    pairs: tuple[BeforeAndAfter, ...]
    attacks: AttackReport | None

    @property
    def sound(self) -> bool:
        """Return whether the audit passed and saw every record that the service says it released."""
        everything = self.verdict.counts.records == self.tally.released and self.tally.records_in == self.sent
        return self.verdict.clean and everything


def demo_settings(settings: Settings, address: str, k: int | None) -> Settings:
    """Return settings for a run on the embedded broker.

    The section on Kafka is replaced whole, so that neither a file nor the environment can lead the demo to a broker
    of somebody's.
    """
    kafka = KafkaSettings(
        bootstrap_servers=address,
        group="demo",
        input="demo.events",
        output="demo.anonymous",
        delivery="at-least-once",
        development=True,
        # The embedded broker answers a join after 5 s; half a transaction is what a request may take.
        transaction_timeout=30.0,
    )
    delay = min(settings.window.max_delay, MOST_DELAY)
    window = settings.window.model_copy(update={"max_delay": delay})
    privacy = settings.privacy if k is None else settings.privacy.model_copy(update={"k": k, "max_risk": None})
    return settings.model_copy(update={"kafka": kafka, "window": window, "privacy": privacy})


async def run_session(
    settings: Settings, policy: Policy, events: Sequence[bytes], tell: Callable[[DemoProgress], None]
) -> DemoOutcome:
    """Stream `events` through the service, wait until each is accounted for, and audit the output topic.

    Parameters
    ----------
    settings
        As `demo_settings` made them; the broker is up.
    tell
        Called several times a second.

    Raises
    ------
    BrokerError
        If the broker fails, or not every event is accounted for in time.
    """
    clock = SystemClock()
    with silenced_libraries(clock):  # what clients say of a broker that goes is no news
        return await _Session(settings, policy, events, tell, clock).run()


class _Session:
    def __init__(
        self,
        settings: Settings,
        policy: Policy,
        events: Sequence[bytes],
        tell: Callable[[DemoProgress], None],
        clock: Clock,
    ) -> None:
        if settings.kafka is None:
            raise ValueError("a demo needs a broker")
        self._settings = settings
        self._kafka = settings.kafka
        self._policy = policy
        self._events = events
        self._tell = tell
        self._connection = connection_of(settings.kafka)
        self._clock = clock
        self._tally = CountingListener()
        self._phase = Phase.STARTING
        self._stop = asyncio.Event()
        self._source = EventSource(self._connection, settings.kafka.inputs.names[0], policy, events)

    async def run(self) -> DemoOutcome:
        begun = self._clock.monotonic()
        telling = asyncio.create_task(self._keep_telling())
        try:
            await create_topics(self._connection, self._kafka)
            await asyncio.to_thread(self._warm_up)
            await self._stream()
            seconds = self._clock.monotonic() - begun
            self._phase = Phase.AUDITING
            return await self._judge(seconds)
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
            self._report()

    def _warm_up(self) -> None:
        def compiling() -> None:
            self._phase = Phase.COMPILING

        with when_compiling(compiling):
            warm_up(self._policy)

    # -- the service -----------------------------------------------------------------------------------------

    async def _stream(self) -> None:
        worker = build_worker(self._settings, self._policy, self._clock, self._tally.listen, self._stop, permit_of)
        self._phase = Phase.JOINING
        service = asyncio.create_task(worker.run())
        try:
            await self._wait(service, lambda: self._tally.ready, 0.0)
            self._phase = Phase.STREAMING
            await self._source.send(self._clock)
            expected = self._policy.window.max_delay
            await self._wait(service, lambda: self._tally.records_in >= len(self._events), expected)
        finally:
            self._phase = Phase.STOPPING
            self._stop.set()
            await asyncio.wait([service], timeout=_STOP_WITHIN)
            service.cancel()
            await asyncio.gather(service, return_exceptions=True)

    async def _wait(self, service: asyncio.Task[None], until: Callable[[], bool], expected: float) -> None:
        """Wait for what the service does.

        Raises
        ------
        BrokerError
            If it does not happen within the expected seconds and some patience.
        """
        deadline = self._clock.monotonic() + expected + _PATIENCE
        while not until():
            if service.done():
                service.result()
                raise BrokerError("the service ended before all events had passed")
            if self._clock.monotonic() > deadline:
                raise BrokerError(f"{self._phase}: not done within {expected + _PATIENCE:.0f} s")
            await asyncio.sleep(_LOOK_EVERY)

    # -- the judgement ---------------------------------------------------------------------------------------

    async def _judge(self, seconds: float) -> DemoOutcome:
        evidence = Evidence(self._policy, threshold_of(self._settings, self._policy))
        verdict = await audit_committed(self._kafka, self._policy, WantedAudit(observer=evidence.add))
        output = await read_topic(self._connection, self._kafka.output)
        shown = await asyncio.to_thread(self._pairs, output)
        self._phase = Phase.ATTACKING
        attacks = await asyncio.to_thread(self._attacked)
        return DemoOutcome(len(self._events), seconds, self._tally, verdict, evidence, shown, attacks)

    def _attacked(self) -> AttackReport | None:
        """Return what attacks find if half of the people are released in windows, as the service did with all."""

        def read(policy: Policy) -> RecordSample:
            offsets = np.arange(len(self._events), dtype=np.int64)
            return RecordSample("the demo", codec_of(policy).decode(self._events, 0, offsets), whole=True)

        try:
            halves = released_half(attacked_records(self._policy, read), np.random.default_rng(0), by_arrival=True)
            return attack(*halves, AttackRequest(_TARGETS, _TARGETS, 0, None), self._clock)
        except (InputError, SettingsError):
            return None

    def _pairs(self, output: TopicReading) -> tuple[BeforeAndAfter, ...]:
        """Return pairs of the window with the most released records."""
        by_batch: dict[str | None, list[bytes]] = {}
        for part in output.records.values():
            for record in part:
                by_batch.setdefault(_batch(record), []).append(record.value)
        windows = [window for window in self._tally.windows if window.batch in by_batch]
        windows.sort(key=lambda window: -len(by_batch[window.batch]))
        found: list[BeforeAndAfter] = []
        for window in windows[:PAIRS]:
            events = [event for stretch in window.ranges for event in self._source.between(*stretch)]
            for pair in pairs(self._policy, events, by_batch[window.batch]):
                found.append(pair)
                if len(found) == PAIRS:
                    return tuple(found)
        return tuple(found)

    # -- telling ---------------------------------------------------------------------------------------------

    async def _keep_telling(self) -> None:
        while True:
            self._report()
            await asyncio.sleep(_TELL_EVERY)

    def _report(self) -> None:
        tally = self._tally
        self._tell(
            DemoProgress(
                self._phase,
                self._source.sent,
                len(self._events),
                tally.records_in,
                tally.waiting,
                len(tally.windows),
                tally.released,
            )
        )


def _batch(record: ConsumerRecord) -> str | None:
    header: bytes | None = dict(record.headers).get("batch")
    return None if header is None else header.decode(errors="replace")
