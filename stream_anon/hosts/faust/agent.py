"""An agent that puts the service between two topics of a Faust app."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import faust
from faust.types import AgentT
from prometheus_client import CollectorRegistry

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.logs import describe, open_log
from stream_anon.errors import SettingsError, StreamAnonError
from stream_anon.hosts.faust.faust_source import FaustSource
from stream_anon.hosts.faust.group import FaustGroup
from stream_anon.microdata.policy import Policy
from stream_anon.operations.starting.permission import permit_of
from stream_anon.ports.log_lines import LogLine
from stream_anon.service.events import Listener
from stream_anon.service.wiring.clients import connection_of
from stream_anon.service.wiring.log_listener import into_log
from stream_anon.service.wiring.observing import into_metrics, tell_all
from stream_anon.service.wiring.serving import work
from stream_anon.settings.certificates.signing import signing_key_of
from stream_anon.settings.loading import kafka_of, load_settings
from stream_anon.settings.model import Settings
from stream_anon.settings.policy_file import build_policy
from stream_anon.settings.service_keys import draws_key_of

NAME = "stream_anon"
FINISH_WITHIN = 12.0  # the longest time that the service takes to leave, and a little more
_LOGGERS_OF_RECORDS = ("faust.transport.consumer", "faust.transport.drivers.aiokafka", "faust.topics")


def anonymizing_agent(
    app: faust.App, config: Path | str, *, name: str = NAME, registry: CollectorRegistry | None = None
) -> AgentT[Any]:
    """Return an agent that releases the records of an app's topics k-anonymous into another topic.

    Windows, engine, gate, certificates, dead letters, ledger and transactions are those of `stream-anon run`, and
    make the same promises: see docs/guides/faust.md. The app's consumer reads and is the member of the group. The
    agent acknowledges nothing, since the transaction that releases a window commits its offsets.

    Parameters
    ----------
    app
        Its id must be `kafka.group`, and its broker the one in `kafka.bootstrap_servers`.
    config
        A settings file. `http` is not used.
    name
        The agent's name.
    registry
        Where the service registers its metrics; without one there are none. The app serves them.

    Raises
    ------
    SettingsError
        If the settings are wrong. Contradictions to the app's configuration raise it when the app starts.
    """
    path = Path(config)
    settings = load_settings(path)
    policy = build_policy(settings, path)
    kafka = kafka_of(settings)
    if kafka.inputs.pattern is not None:
        raise SettingsError("kafka.input", "must name its topics: a Faust app reads no pattern", str(path))
    if kafka.paused:
        raise SettingsError("kafka.paused", "is for `stream-anon run`: nobody could resume a Faust app", str(path))
    connection_of(kafka).options("start")  # fails before the start if a file cannot be read
    draws_key_of(settings)
    signing_key_of(settings.certificates)
    service = AnonymizingService(app, settings, policy, registry)
    # Raw bytes, since what does not fit must become a dead letter, and Faust's errors show values.
    topic = app.topic(
        *kafka.inputs.names,
        key_type=bytes,
        value_type=bytes,
        key_serializer="raw",
        value_serializer="raw",
        acks=False,
        allow_empty=True,
    )
    app.on_partitions_revoked.connect(service.on_revoked)
    app.on_partitions_assigned.connect(service.on_assigned)
    app.on_before_shutdown.connect(service.on_shutdown)
    app.task(service.run)
    _hide_values()
    agent: AgentT[Any] = app.agent(topic, name=name)(service.consume)
    return agent


class AnonymizingService:
    """The worker in an app: fed by an agent, run as a task of the app, stopped before the app leaves the group."""

    def __init__(
        self, app: faust.App, settings: Settings, policy: Policy, registry: CollectorRegistry | None
    ) -> None:
        self._app = app
        self._settings = settings
        self._policy = policy
        self._clock = SystemClock()
        self.source = FaustSource(FaustGroup(app), kafka_of(settings).inputs.names, self._clock)
        self._log = open_log(self._clock.wall, settings.logs.format, settings.logs.level)
        self._tell = self._listener(registry)
        self._stop = asyncio.Event()
        self._done = asyncio.Event()
        self._running = False

    def _listener(self, registry: CollectorRegistry | None) -> Listener:
        log = into_log(self._log, self._clock.monotonic)
        return log if registry is None else tell_all(into_metrics(registry), log)

    async def consume(self, stream: Any) -> None:
        """Hand every record over until the stream ends."""
        source = self.source
        async for event in stream.noack().events():
            message = event.message
            record = (
                (message.topic, message.partition),
                message.offset,
                message.value,
                round(message.timestamp * 1000),
                message.generation_id,
            )
            if not source.take(*record):
                await source.feed(*record)

    async def run(self) -> None:
        """Be a worker until the app stops.

        Raises
        ------
        SettingsError
            If the app's configuration contradicts the settings.
        StreamAnonError
            After a bug, with its kind and place. Faust logs what is raised here, and the original message may hold
            values.
        """
        self._check_app()
        self._running = True
        try:
            await work(
                self._settings,
                self._policy,
                self._clock,
                self._tell,
                self._stop,
                permit_of,
                source=self.source,
            )
        except Exception as error:
            self._log.exception(LogLine.FAILED)
            if isinstance(error, StreamAnonError):
                raise
            failure = StreamAnonError(describe(error))
        else:
            return
        finally:
            self._done.set()
        raise failure  # raised here, so that the original error does not become its context

    def _check_app(self) -> None:
        group, reset = self._app.conf.id, self._app.conf.consumer_auto_offset_reset
        if kafka_of(self._settings).group != group:
            raise SettingsError("kafka.group", f"must be the id of the Faust app, {group}")
        if reset != "earliest":
            what = "decides where partitions begin: leave the app's consumer_auto_offset_reset at earliest"
            raise SettingsError("kafka.start", what)

    async def on_revoked(self, *_given: Any, **_more: Any) -> None:
        """Hear that the group takes all partitions."""
        self.source.revoked()

    async def on_assigned(self, *given: Any, **_more: Any) -> None:
        """Hear what the group gave."""
        places = [(place.topic, place.partition) for place in given[1]]  # the first argument is the app
        self.source.assigned_now(places, self._app.consumer_generation_id)

    async def on_shutdown(self, *_given: Any, **_more: Any) -> None:
        """Publish what is worth it while the app is still a member of its group."""
        self._stop.set()
        if self._running:
            try:
                async with asyncio.timeout(FINISH_WITHIN):
                    await self._done.wait()
            except TimeoutError:
                return


class _NoValues(logging.Filter):
    """Drops Faust's debugging lines that show a record's key and value."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line may be written."""
        return "v=%r" not in str(record.msg)


def _hide_values() -> None:
    for name in _LOGGERS_OF_RECORDS:
        logger = logging.getLogger(name)
        if not any(isinstance(known, _NoValues) for known in logger.filters):
            logger.addFilter(_NoValues())
