"""Put a worker together from its parts."""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace

from stream_anon.adapters.control_group import free_memory
from stream_anon.adapters.entropy import fresh_draws
from stream_anon.adapters.kafka.assigning.sharing import Sharing
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.ledger.no_ledger import NoLedger
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.adapters.kafka.topics.creation import create_ledger, create_returns
from stream_anon.adapters.kafka.writing.at_least_once_producer import AtLeastOnceProducer
from stream_anon.adapters.kafka.writing.kafka_sink import KafkaSink
from stream_anon.adapters.kafka.writing.transactional_producer import SETTLE, TransactionalProducer
from stream_anon.adapters.processor import throttled_seconds
from stream_anon.audit.formats.decoding import of_policy
from stream_anon.clustering.forest.ordering.current_order import Adoption
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.keyed_draws import DrawnWindow, DrawsKey, KeyedWindows
from stream_anon.engine.partitioners import partitioners, partitioners_by_draws
from stream_anon.engine.recoding_closer import WholeTable
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.formats.codecs import RecordFormats, topic_codec
from stream_anon.formats.registered_formats import described
from stream_anon.microdata.output.statement import Statement
from stream_anon.microdata.policy import Policy
from stream_anon.ports import At, Clock, ReleaseLedger, Sink, Source
from stream_anon.privacy.certificate import Delivery
from stream_anon.privacy.criteria import Criteria
from stream_anon.service.busy_time import BusyTime
from stream_anon.service.closing.agreed_time import AgreedTime
from stream_anon.service.closing.bounding import Bounding
from stream_anon.service.closing.closing_steps import ClosingSteps
from stream_anon.service.closing.first_window import FirstWindow
from stream_anon.service.closing.leaking import LeakageSamples
from stream_anon.service.closing.rechecking import SHARE, Rechecks
from stream_anon.service.closing.sampling import Sampler
from stream_anon.service.closing.size_learning import SizeLearning
from stream_anon.service.closing.studies import Studies
from stream_anon.service.closing.writer import Writer
from stream_anon.service.components import Components, OperatorChoices
from stream_anon.service.counting import Counting
from stream_anon.service.events import (
    CountsBegun,
    Listener,
    OrderAdopted,
    ReadingSlowly,
    SchemaSeen,
    SchemasUnknown,
    Throttle,
)
from stream_anon.service.fault_points import fault_at
from stream_anon.service.retrying import Reachability
from stream_anon.service.takeover.ledger_keeping import LedgerKeeper
from stream_anon.service.troubles import Troubles
from stream_anon.service.wiring.clients import connection_of, formats_of, outputs_of, topics_of
from stream_anon.service.wiring.counting import counting_of
from stream_anon.service.wiring.permit import AskPermit
from stream_anon.service.worker import Worker
from stream_anon.settings.loading import kafka_of
from stream_anon.settings.model import Settings
from stream_anon.settings.sections.certificate_settings import signing_key_of
from stream_anon.settings.sections.kafka_settings import KafkaSettings
from stream_anon.settings.sections.window_settings import WindowSettings
from stream_anon.settings.service_keys import draws_key_of
from stream_anon.windowing.bounds import LEAST_MEMORY, MOST_MEMORY, PARTS
from stream_anon.windowing.target_size import TargetSize


def build_worker(  # noqa: PLR0913, PLR0917 - a part an argument
    settings: Settings,
    policy: Policy,
    clock: Clock,
    tell: Listener,
    stop: asyncio.Event,
    ask: AskPermit,
    source: Source | None = None,
    workers: int = 1,
) -> Worker:
    """Return a worker between two topics of a real broker; without a `source` it joins the group itself.

    Certificates were checked before the service began. From here on, the worker waits for one that cannot be
    loaded. `workers` processes share the memory that this process may use.
    """
    kafka = kafka_of(settings)
    formats = formats_of(kafka)
    connection = replace(connection_of(kafka), checked=True)
    exactly_once = kafka.delivery == "exactly-once"
    producer = TransactionalProducer(connection) if exactly_once else AtLeastOnceProducer(connection)
    ledger = KafkaLedger(connection, kafka.ledger, policy.revision, kafka.output) if exactly_once else NoLedger()

    permitted, busy = False, BusyTime(clock)
    sharing = Sharing(
        lambda: busy.seconds,
        lambda: worker.is_superseded,
        lambda: worker.is_ready,
        packed=kafka.assignment == "packed",
        revision=policy.revision,
    )

    async def prepare() -> str | None:
        nonlocal permitted
        if not permitted:  # this also creates a ledger that was deleted while the worker ran
            permit = await ask(connection, settings, policy)
            worker.published_under(permit.revision)
            worker.expect(permit.unsampled)
            if permit.last is not None:
                worker.learn_from(permit.last)
            permitted = True
        topics = topics_of(kafka, settings.privacy.returning)
        made = exactly_once and await create_ledger(connection, topics)
        if topics.returns is not None and await create_returns(connection, topics):
            tell(CountsBegun(topics.returns))
        return kafka.ledger if made else None

    worker = assemble(
        settings,
        policy,
        counting=counting_of(settings, connection, clock, tell),
        source=source or source_of(kafka, connection, formats, sharing),
        sink=KafkaSink(producer, ledger, kafka.inputs.names, outputs_of(kafka)),
        ledger=ledger,
        clock=clock,
        tell=tell,
        stop=stop,
        at=fault_at(kafka.fault),
        prepare=prepare,
        throttled=lambda: connection.throttling.seconds,
        busy=busy,
        workers=workers,
    )
    return worker


def source_of(
    kafka: KafkaSettings, connection: Connection, formats: RecordFormats, sharing: Sharing
) -> KafkaSource:
    """Return what reads the input as a member of the group."""
    return KafkaSource(
        connection,
        kafka.inputs,
        kafka.max_record_bytes,
        formats.headers,
        framed=formats.names_schemas,
        sharing=sharing,
    )


def assemble(  # noqa: PLR0913 - a part an argument
    settings: Settings,
    policy: Policy,
    *,
    source: Source,
    sink: Sink,
    ledger: ReleaseLedger,
    clock: Clock,
    tell: Listener,
    stop: asyncio.Event,
    at: At,
    prepare: Callable[[], Awaitable[str | None]],
    delivery: Delivery | None = None,
    throttled: Callable[[], float] = lambda: 0.0,
    formats: RecordFormats | None = None,
    busy: BusyTime | None = None,
    workers: int = 1,
    counting: Counting | None = None,
) -> Worker:
    """Return a worker between a source and a sink of any kind.

    Records are read and written in `formats`, or else in those of the settings. Certificates name `delivery`, or
    else that of the settings. `throttled` returns for how many seconds brokers have held the clients back. `busy`
    adds up for how long the worker is busy. Without `counting`, nobody counts how often people are released.

    Age limits, engines without a seed, shuffles, batch ids, output partitions and the noise on what windows leak
    draw from the operating system's entropy. With a key of draws, engines, shuffles and output partitions follow
    from it and from a window's records.
    """
    if counting is None:
        policy.refuse_returns()
    kafka = kafka_of(settings)
    formats = formats_of(kafka) if formats is None else formats
    codec = topic_codec(
        policy,
        kafka.max_record_bytes,
        formats,
        lambda change: tell(SchemaSeen(change)),
        lambda unknown: tell(SchemasUnknown(unknown)),
    )
    if codec.slow_attributes:
        tell(ReadingSlowly(codec.slow_attributes))
    reachability, busy = Reachability(clock.monotonic, tell), busy or BusyTime(clock)
    draws, key, signing_key = fresh_draws(), draws_key_of(settings), signing_key_of(settings.certificates)
    decode = of_policy(policy, formats.output, described)
    keeper = LedgerKeeper(ledger=ledger, prepare=prepare, tell=tell, reachability=reachability)

    def adopted(adoption: Adoption) -> None:
        tell(OrderAdopted(adoption.version, adoption.gain, adoption.drifted))

    size = TargetSize.of(policy.window, Criteria.of(policy).least_people)
    engine = Engine(
        policy,
        draws=draws,
        # By a key, classes are formed at the close, when the order of the rows is known.
        partitioner=WholeTable
        if key is not None
        else partitioners(policy, draws=draws, background=Studies(clock), adopted=adopted),
        size=lambda: None if size is None else size.in_use,
        returns=None if counting is None else counting.returns,
    )
    settle_within = SETTLE * kafka.transaction_timeout
    memory = _memory(settings.window, workers)
    bounding = Bounding(engine, policy, memory, settle_within, free_memory, tell)
    closing_steps = ClosingSteps(
        drawn=_drawn_anew if key is None else _keyed(policy, key),
        closer=Closer(policy, clock.monotonic),
        writer=Writer(
            policy,
            codec,
            delivery or kafka.delivery,
            kafka.accept_risks,
            counting,
            None if signing_key is None else signing_key.sign,
        ),
        sink=sink,
        ledger=ledger,
        clock=clock,
        tell=tell,
        at=at,
        reachability=reachability,
        current=source.membership,
        keeper=keeper,
        first_window=FirstWindow(tell),
        agreed_time=AgreedTime(
            Statement() if delivery == "file" else policy.release,  # a shadow publishes nothing
            kafka.accept_risks,
            clock,
            tell,
        ),
        busy=busy,
        settle_within=settle_within,
        too_slow=bounding.too_slow,
        settled=(lambda *_: None) if counting is None else counting.settle,
    )
    parts = Components(
        policy=policy,
        choices=OperatorChoices(kafka.start, kafka.lost_input, outputs_of(kafka)),
        source=source,
        sink=sink,
        ledger=ledger,
        codec=codec,
        engine=engine,
        closing_steps=closing_steps,
        reachability=reachability,
        clock=clock,
        tell=tell,
        at=at,
        keeper=keeper,
        rechecks=Rechecks(policy, kafka.output, kafka.certificates, Sampler(clock, SHARE), tell, decode),
        leakages=LeakageSamples(policy, clock, tell, secrets.randbelow),
        sizes=None if size is None else SizeLearning(policy, size, fresh_draws(), clock, tell),
        troubles=Troubles(
            ledger,
            kafka.ledger,
            {Throttle.BROKER: throttled, Throttle.PROCESSOR: throttled_seconds},
            kafka.transaction_timeout,
            clock,
            tell,
        ),
        busy=busy,
        bounding=bounding,
        counting=counting,
    )
    return Worker(parts, stop)


def _memory(window: WindowSettings, workers: int) -> float:
    """Return the bytes that a window may hold: its share of what is free now, unless the settings say."""
    if window.memory is None and window.max_records == "auto":
        return max(LEAST_MEMORY, min(MOST_MEMORY, free_memory() / (PARTS * workers)))
    return math.inf if window.memory is None else window.memory


def _drawn_anew(window: SealedWindow) -> DrawnWindow:
    return DrawnWindow(window, fresh_draws(), fresh_draws())


def _keyed(policy: Policy, key: DrawsKey) -> Callable[[SealedWindow], DrawnWindow]:
    """Return what draws for a window by a key and its records alone, whatever windows came before it."""
    return KeyedWindows(key, partitioners_by_draws(policy)).turned
