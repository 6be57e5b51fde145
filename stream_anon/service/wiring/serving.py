"""Run a worker with its pages, metrics and log until it is asked to stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

from prometheus_client import CollectorRegistry

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.core_dumps import forbid_core_dumps
from stream_anon.adapters.heap import return_large_blocks
from stream_anon.adapters.http.answers import ObservedService, Order
from stream_anon.adapters.http.server import HttpServers
from stream_anon.adapters.kafka.writing.shadow_producer import ShadowProducer
from stream_anon.adapters.logs import Log, open_log, quiet_libraries, silence_the_end
from stream_anon.adapters.prometheus.exposition import CONTENT_TYPE, exposition, watch_process
from stream_anon.conditions import Condition
from stream_anon.formats.codecs import check_formats
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Clock, Source
from stream_anon.ports.log_lines import LogLine
from stream_anon.service.events import Listener, WorkerStarted, WorkerStopped, WorkerStopping
from stream_anon.service.orders import Orders
from stream_anon.service.retrying import unless_stopped
from stream_anon.service.shadow import Beside, Shadow
from stream_anon.service.status.criteria_in_words import in_words
from stream_anon.service.status.status_board import StatusBoard
from stream_anon.service.wiring.building import build_worker
from stream_anon.service.wiring.clients import connection_of, formats_of
from stream_anon.service.wiring.leaving import stop_at_signals
from stream_anon.service.wiring.log_listener import into_log
from stream_anon.service.wiring.observing import into_metrics, tell_all
from stream_anon.service.wiring.permit import AskPermit
from stream_anon.service.wiring.shadowing import build_shadow
from stream_anon.service.wiring.tls_validity import watch_certificates
from stream_anon.service.wiring.warming import warm_up, warm_up_aside
from stream_anon.settings.loading import kafka_of, settings_of_run
from stream_anon.settings.model import HttpSettings, Settings
from stream_anon.settings.policy_file import build_policy
from stream_anon.settings.sections.certificate_settings import signing_key_of
from stream_anon.settings.service_keys import draws_key_of, returns_key_of
from stream_anon.version import SOFTWARE


def serve(config: Path, ask: AskPermit, accepted: Sequence[Condition] = (), shadow: Shadow | None = None) -> None:
    """Run a worker with the settings of a file until SIGTERM or SIGINT.

    Parameters
    ----------
    ask
        Returns whether the worker may start, or raises.
    accepted
        Conditions that are accepted in addition to those of the settings.
    shadow
        Publish nothing, and work beside the service.

    Raises
    ------
    SettingsError
        If the settings are wrong.
    Refused
        If a condition forbids a run that nobody has accepted.
    """
    settings, policy = prepare(config, accepted)
    refuse_unusable_files(settings)
    with nullcontext() if shadow is None else shadow.beside(kafka_of(settings)) as beside:
        asyncio.run(_serve(settings, policy, ask, beside))


def prepare(config: Path, accepted: Sequence[Condition]) -> tuple[Settings, Policy]:
    """Make this process fit to run with the settings of a file; return them and their policy.

    Raises
    ------
    SettingsError
        If the settings are wrong, or a file that they name cannot be read.
    """
    settings = settings_of_run(config, accepted)
    if not settings.logs.core_dumps:
        forbid_core_dumps()
    return_large_blocks()
    draws_key_of(settings)
    returns_key_of(settings)
    signing_key_of(settings.certificates)
    policy = build_policy(settings, config)
    check_formats(policy, formats_of(kafka_of(settings)))
    silence_the_end()
    return settings, policy


def refuse_unusable_files(settings: Settings) -> None:
    """Raise SettingsError if a certificate, key or password file cannot be used.

    Only before a service begins: a worker that is started again waits, since a file may be half written.
    """
    connection_of(kafka_of(settings)).options("start")


async def _serve(settings: Settings, policy: Policy, ask: AskPermit, beside: Beside | None) -> None:
    clock = SystemClock()
    log = open_log(clock.wall, settings.logs.format, settings.logs.level)
    registry = CollectorRegistry()
    watch_process(registry)
    board = StatusBoard(clock.monotonic)
    tell = tell_all(into_metrics(registry), into_log(log, clock.monotonic), board)
    stop = stop_at_signals(log)
    orders = Orders(stop, clock, tell, paused=kafka_of(settings).paused)
    with quiet_libraries(log, clock.monotonic):
        async with listening(settings.http, board, lambda: exposition(registry), log, orders.by_name):
            await work(settings, policy, clock, tell, stop, ask, beside=beside, orders=orders)


@asynccontextmanager
async def listening(
    http: HttpSettings,
    service: ObservedService,
    metrics: Callable[[], bytes],
    log: Log,
    orders: Mapping[str, Order],
) -> AsyncIterator[None]:
    """Serve health, metrics and status as long as the context lasts, and log the error that ends it.

    Raises
    ------
    SettingsError
        If an address cannot be used.
    """
    public, admin = (http.host, http.port), (http.admin_host, http.admin_port)
    servers = HttpServers(service, metrics, CONTENT_TYPE, public, admin, orders)
    public, admin = await servers.start()
    log.info(LogLine.SERVING, public="{}:{}".format(*public), admin="{}:{}".format(*admin))
    try:
        yield
    except Exception:
        log.exception(LogLine.FAILED)
        raise
    finally:
        await servers.stop()


async def work(  # noqa: PLR0913, PLR0917 - a part an argument
    settings: Settings,
    policy: Policy,
    clock: Clock,
    tell: Listener,
    stop: asyncio.Event,
    ask: AskPermit,
    warm: Callable[[], None] = lambda: None,
    source: Source | None = None,
    beside: Beside | None = None,
    orders: Orders | None = None,
    workers: int = 1,
) -> None:
    """Be a worker until `stop` is set; `warm` is called once all kernels are compiled, and `ask` then.

    The caller has checked that the options of a connection can be built. `workers` processes share the memory that
    this process may use.
    """
    tell(started(settings, policy, beside))
    orders = orders or Orders(stop, clock, tell)
    looks = (orders.watch(), watch_certificates(kafka_of(settings), clock, tell))
    watching = [asyncio.create_task(look) for look in looks]
    try:
        # Compiling takes seconds. Probes are answered meanwhile, no record waits for it later, and a stop does not
        # wait for it either. It comes first, since building a worker would compile too.
        formats = formats_of(kafka_of(settings))
        warmed_up, _ = await unless_stopped(stop, warm_up_aside(lambda: warm_up(policy, formats), clock, tell))
        if not warmed_up:
            tell(WorkerStopping("asked to", orders.forgets))
            tell(WorkerStopped(0.0))
            return
        warm()
        if beside is None:
            worker = build_worker(settings, policy, clock, tell, stop, ask, source, workers)
        else:
            worker = build_shadow(settings, policy, clock, tell, stop, beside)
        worker.obey(orders)
        await worker.run()
    finally:
        for watch in watching:
            watch.cancel()
        await asyncio.gather(*watching, return_exceptions=True)


def started(settings: Settings, policy: Policy, beside: Beside | None = None) -> WorkerStarted:
    """Return the event that says what runs."""
    kafka = kafka_of(settings)
    return WorkerStarted(
        software=SOFTWARE,
        policy=policy.digest,
        group=beside.group if beside else kafka.group,
        topic=str(kafka.inputs),
        output=kafka.output,
        delivery=ShadowProducer.delivery if beside else kafka.delivery,
        engine=policy.engine.name,
        k=policy.crowd,
        max_delay=policy.window.max_delay,
        max_records=policy.window.max_records,
        chosen=not policy.window.auto,
        attributes=tuple(attribute.name for attribute in policy.quasi_identifiers),
        holds=policy.holds,
        declared=tuple(attribute.name for attribute in policy.attributes),
        asked=in_words(policy),
        published=tuple(attribute.name for attribute in policy.published),
        accept_missing=tuple(attribute.name for attribute in policy.published if attribute.accept_missing),
        revision=policy.revision,
        shields=policy.shields,
        target_loss=policy.window.target_loss,
        release_ends=policy.release.ends,
    )
