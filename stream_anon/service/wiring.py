"""The composition root: settings in, a running service out. Nothing else knows which parts there are."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
from prometheus_client import CollectorRegistry

from stream_anon.adapters.clock import Clock
from stream_anon.adapters.http.answers import Service
from stream_anon.adapters.http.server import HttpServers
from stream_anon.adapters.json.codec import JsonCodec
from stream_anon.adapters.kafka.client.connection import Connection, Security
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.ledger.no_ledger import NoLedger
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.adapters.kafka.topics.requirements import Topics, create_ledger
from stream_anon.adapters.kafka.writing.at_least_once_sink import AtLeastOnceSink
from stream_anon.adapters.kafka.writing.shadow_sink import ShadowSink
from stream_anon.adapters.kafka.writing.transactional_sink import TransactionalSink
from stream_anon.adapters.logs import Event as Line
from stream_anon.adapters.logs import Log, open_log, quiet_libraries, silence_the_end
from stream_anon.adapters.prometheus.exposition import CONTENT_TYPE, exposition, watch_process
from stream_anon.adapters.prometheus.metrics import Metrics
from stream_anon.clustering.forest.ordering.current_order import Adoption
from stream_anon.conditions import Condition
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.partitioners import partitioners
from stream_anon.errors import SettingsError
from stream_anon.microdata.policy import Policy, Shortfall
from stream_anon.ports import Ledger, Sink, Source
from stream_anon.privacy.certificate import Delivery
from stream_anon.service.closing.learning import Studies
from stream_anon.service.closing.publication import Writer
from stream_anon.service.closing.rechecking import Rechecks
from stream_anon.service.closing.steps import Checkpoint
from stream_anon.service.components import Choices, Parts
from stream_anon.service.events import Listener, OrderAdopted, WorkerStarted, WorkerStopped, WorkerStopping
from stream_anon.service.fault_points import At, fault_at
from stream_anon.service.leaving import stop_at_signals
from stream_anon.service.observing import into_log, into_metrics, tell_all
from stream_anon.service.orders import Orders
from stream_anon.service.retrying import Reachability, unless_stopped
from stream_anon.service.shadow import Beside, Shadow
from stream_anon.service.starting.starting import raise_if_weaker_or_forbidden
from stream_anon.service.status.criteria_in_words import in_words
from stream_anon.service.status.page import StatusBoard
from stream_anon.service.takeover.ledger_keeping import LedgerKeeper
from stream_anon.service.tls_validity import watch_certificates
from stream_anon.service.warming import warm_up, warm_up_aside
from stream_anon.service.worker import Worker
from stream_anon.settings.model import HttpSettings, KafkaSettings, Settings, load_settings
from stream_anon.settings.policy_file import build_policy
from stream_anon.version import SOFTWARE


def serve(config: Path, accepted: Sequence[Condition] = (), shadow: Shadow | None = None) -> None:
    """Run a worker with the settings of a file until SIGTERM or SIGINT.

    Parameters
    ----------
    accepted
        Conditions that are accepted beside those of the settings.
    shadow
        Publish nothing, and work beside the service.

    Raises
    ------
    SettingsError
        If the settings are wrong.
    Refused
        If a condition forbids a run that nobody has accepted.
    """
    settings = settings_of_run(config, accepted)
    connection_of(kafka_of(settings)).options("start")  # files that cannot be read end it before it begins
    policy = build_policy(settings, config)
    silence_the_end()
    with nullcontext() if shadow is None else shadow.beside(kafka_of(settings)) as beside:
        asyncio.run(_serve(settings, policy, beside))


def settings_of_run(config: Path, accepted: Sequence[Condition]) -> Settings:
    """Return the settings of a file, with conditions that were accepted on the command line beside its own."""
    settings = load_settings(config)
    if not accepted:
        return settings
    both = sorted({*kafka_of(settings).accept_risks, *accepted})
    return load_settings(config, {"kafka": {"accept_risks": both}})


async def _serve(settings: Settings, policy: Policy, beside: Beside | None) -> None:
    clock = Clock()
    log = open_log(clock.wall, settings.logs.format, settings.logs.level)
    registry = CollectorRegistry()
    watch_process(registry)
    board = StatusBoard(clock.monotonic)
    tell = tell_all(into_metrics(Metrics(registry)), into_log(log), board)
    stop = stop_at_signals(log)
    orders = Orders(stop)
    with quiet_libraries(log, clock.monotonic):
        async with listening(settings.http, board, lambda: exposition(registry), log, orders.by_name):
            await work(settings, policy, clock, tell, stop, beside=beside, orders=orders)


@asynccontextmanager
async def listening(
    http: HttpSettings,
    service: Service,
    metrics: Callable[[], bytes],
    log: Log,
    orders: Mapping[str, Callable[[], str]],
) -> AsyncIterator[None]:
    """Serve health, metrics and status as long as the context lasts, and log what ends it.

    Raises
    ------
    SettingsError
        If an address cannot be used.
    """
    public, admin = (http.host, http.port), (http.admin_host, http.admin_port)
    servers = HttpServers(service, metrics, CONTENT_TYPE, public, admin, orders)
    public, admin = await servers.start()
    log.info(Line.SERVING, public="{}:{}".format(*public), admin="{}:{}".format(*admin))
    try:
        yield
    except Exception:
        log.exception(Line.FAILED)
        raise
    finally:
        await servers.stop()


async def work(  # noqa: PLR0913, PLR0917 - a part an argument
    settings: Settings,
    policy: Policy,
    clock: Clock,
    tell: Listener,
    stop: asyncio.Event,
    warm: Callable[[], None] = lambda: None,
    source: Source | None = None,
    beside: Beside | None = None,
    orders: Orders | None = None,
) -> None:
    """Be a worker until `stop` is set; `warm` is called once all kernels are compiled.

    The caller has checked that the options of a connection can be built.
    """
    tell(started(settings, policy, beside))
    # Compiling takes seconds: probes are answered meanwhile, and no record waits for it later. A stop does not wait
    # for it either, and to build a worker would compile too.
    warmed_up, _ = await unless_stopped(stop, warm_up_aside(lambda: warm_up(policy), clock, tell))
    if not warmed_up:
        tell(WorkerStopping("asked to"))
        tell(WorkerStopped(0.0))
        return
    warm()
    if beside is None:
        worker = build_worker(settings, policy, clock, tell, stop, source)
    else:
        worker = build_shadow(settings, policy, clock, tell, stop, beside)
    if orders is not None:
        worker.obey(orders)
    watching = asyncio.create_task(watch_certificates(connection_of(kafka_of(settings)).security, clock, tell))
    try:
        await worker.run()
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def kafka_of(settings: Settings) -> KafkaSettings:
    """Return the section on Kafka.

    Raises
    ------
    SettingsError
        If there is none.
    """
    if settings.kafka is None:
        raise SettingsError("kafka", "is required for a service; files need no such section")
    return settings.kafka


def connection_of(kafka: KafkaSettings) -> Connection:
    """Return where the brokers are and how to reach them."""
    given = kafka.security
    security = Security(
        protocol=given.protocol,
        mechanism=given.sasl_mechanism,
        username=given.username,
        password=given.password.get_secret_value() if given.password else None,
        password_file=given.password_file,
        token_file=given.token_file,
        token_command=tuple(given.token_command or ()),
        ca_file=given.ca_file,
        certificate_file=given.certificate_file,
        key_file=given.key_file,
        key_password=given.key_password.get_secret_value() if given.key_password else None,
        key_password_file=given.key_password_file,
    )
    return Connection(
        kafka.bootstrap_servers, kafka.group, security, kafka.session_timeout, kafka.transaction_timeout
    )


def topics_of(kafka: KafkaSettings) -> Topics:
    """Return the topics of a service."""
    return Topics(kafka.inputs, kafka.output, kafka.certificates, kafka.dead_letters, kafka.ledger)


def started(settings: Settings, policy: Policy, beside: Beside | None = None) -> WorkerStarted:
    """Return the event that says what runs."""
    kafka = kafka_of(settings)
    return WorkerStarted(
        software=SOFTWARE,
        policy=policy.digest,
        group=beside.group if beside else kafka.group,
        topic=str(kafka.inputs),
        output=kafka.output,
        delivery=ShadowSink.delivery if beside else kafka.delivery,
        engine=policy.engine.name,
        k=policy.k,
        max_delay=policy.window.max_delay,
        max_records=policy.window.max_records,
        attributes=tuple(attribute.name for attribute in policy.quasi_identifiers),
        holds=policy.window.shortfall is Shortfall.HOLD,
        declared=tuple(attribute.name for attribute in policy.attributes),
        asked=in_words(policy),
        published=tuple(attribute.name for attribute in policy.published),
        accept_missing=tuple(attribute.name for attribute in policy.published if attribute.accept_missing),
        revision=policy.revision,
    )


def build_worker(
    settings: Settings,
    policy: Policy,
    clock: Clock,
    tell: Listener,
    stop: asyncio.Event,
    source: Source | None = None,
) -> Worker:
    """Return a worker between two topics of a real broker; by default it is a member of the group by itself.

    Certificates have been checked before the service began: from here on, one that cannot be loaded is waited for.
    """
    kafka = kafka_of(settings)
    connection = replace(connection_of(kafka), checked=True)
    exactly_once = kafka.delivery == "exactly-once"
    sink: Sink = TransactionalSink(connection) if exactly_once else AtLeastOnceSink(connection)
    ledger: Ledger = (
        KafkaLedger(connection, kafka.ledger, policy.revision, kafka.output) if exactly_once else NoLedger()
    )

    permitted = False

    async def prepare() -> str | None:
        nonlocal permitted
        topics = topics_of(kafka)
        if not permitted:  # a ledger that was deleted while the worker ran is made anew in the same way
            before = await raise_if_weaker_or_forbidden(
                connection, topics, kafka, policy, settings.privacy.accept_weaker
            )
            worker.published_under(before.revision if before else 0)
            permitted = True
        made = exactly_once and await create_ledger(connection, topics)
        return kafka.ledger if made else None

    worker = assemble(
        settings,
        policy,
        source=source or KafkaSource(connection, kafka.inputs, kafka.max_record_bytes),
        sink=sink,
        ledger=ledger,
        clock=clock,
        tell=tell,
        stop=stop,
        at=fault_at(kafka.fault),
        prepare=prepare,
    )
    return worker


def build_shadow(
    settings: Settings,
    policy: Policy,
    clock: Clock,
    tell: Listener,
    stop: asyncio.Event,
    beside: Beside,
) -> Worker:
    """Return a worker that publishes nothing: no transaction, no ledger, the offsets of a group of its own."""
    kafka = kafka_of(settings)
    connection = replace(connection_of(kafka), checked=True, group=beside.group)

    async def prepare() -> None:
        """Make nothing, and compare with no policy before: nothing is promised."""

    return assemble(
        settings,
        policy,
        source=KafkaSource(connection, kafka.inputs, kafka.max_record_bytes),
        sink=ShadowSink(
            connection, kafka.certificates, (kafka.output, kafka.certificates, kafka.dead_letters), beside.keep
        ),
        ledger=NoLedger(),
        clock=clock,
        tell=tell,
        stop=stop,
        at=fault_at(kafka.fault),
        prepare=prepare,
        delivery="file",
    )


def assemble(  # noqa: PLR0913 - a part an argument
    settings: Settings,
    policy: Policy,
    *,
    source: Source,
    sink: Sink,
    ledger: Ledger,
    clock: Clock,
    tell: Listener,
    stop: asyncio.Event,
    at: At,
    prepare: Callable[[], Awaitable[str | None]],
    delivery: Delivery | None = None,
) -> Worker:
    """Return a worker between a source and a sink of any kind; `delivery` is what certificates name instead.

    Age limits, shuffles, batch ids and output partitions draw from the operating system's entropy.
    """
    kafka = kafka_of(settings)
    codec = JsonCodec(policy, max_record_bytes=kafka.max_record_bytes)
    reachability = Reachability(clock.monotonic, tell)

    keeper = LedgerKeeper(ledger=ledger, prepare=prepare, tell=tell, reachability=reachability)

    def adopted(adoption: Adoption) -> None:
        tell(OrderAdopted(adoption.version, adoption.gain, adoption.drifted))

    checkpoint = Checkpoint(
        closer=Closer(policy, clock.monotonic),
        writer=Writer(policy, codec, ledger, delivery or kafka.delivery, kafka.accept_risks),
        sink=sink,
        ledger=ledger,
        clock=clock,
        tell=tell,
        at=at,
        reachability=reachability,
        current=source.membership,
        keeper=keeper,
    )
    parts = Parts(
        policy=policy,
        choices=Choices(
            kafka.start,
            kafka.lost_input,
            kafka.inputs.names,
            (kafka.output, kafka.certificates, kafka.dead_letters),
        ),
        source=source,
        sink=sink,
        ledger=ledger,
        codec=codec,
        engine=Engine(
            policy,
            draws=np.random.default_rng(secrets.randbits(256)),
            partitioner=partitioners(policy, background=Studies(clock), adopted=adopted),
        ),
        checkpoint=checkpoint,
        reachability=reachability,
        clock=clock,
        tell=tell,
        at=at,
        keeper=keeper,
        rechecks=Rechecks(policy, kafka.output, kafka.certificates, clock, tell),
    )
    return Worker(parts, stop)
