"""Put together a worker that publishes nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from stream_anon.adapters.kafka.assigning.sharing import Sharing
from stream_anon.adapters.kafka.ledger.no_ledger import NoLedger
from stream_anon.adapters.kafka.writing.kafka_sink import KafkaSink
from stream_anon.adapters.kafka.writing.shadow_producer import ShadowProducer
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Clock
from stream_anon.service.busy_time import BusyTime
from stream_anon.service.events import Listener
from stream_anon.service.fault_points import fault_at
from stream_anon.service.shadow import Beside
from stream_anon.service.wiring.building import assemble, source_of
from stream_anon.service.wiring.clients import connection_of, formats_of, outputs_of
from stream_anon.service.worker import Worker
from stream_anon.settings.loading import kafka_of
from stream_anon.settings.model import Settings


def build_shadow(
    settings: Settings,
    policy: Policy,
    clock: Clock,
    tell: Listener,
    stop: asyncio.Event,
    beside: Beside,
) -> Worker:
    """Return a worker that publishes nothing: without transactions and ledger, and with a group of its own."""
    kafka = kafka_of(settings)
    formats = formats_of(kafka)
    connection = replace(connection_of(kafka), checked=True, group=beside.group)
    outputs, ledger = outputs_of(kafka), NoLedger()
    producer = ShadowProducer(connection, kafka.certificates, outputs, beside.keep)
    busy, packed = BusyTime(clock), kafka.assignment == "packed"

    async def prepare() -> None:
        """Do nothing: a shadow promises nothing, so there is no earlier policy to compare with."""

    return assemble(
        settings,
        policy,
        source=source_of(kafka, connection, formats, Sharing(lambda: busy.seconds, packed=packed)),
        sink=KafkaSink(producer, ledger, kafka.inputs.names, outputs),
        ledger=ledger,
        clock=clock,
        tell=tell,
        stop=stop,
        at=fault_at(kafka.fault),
        prepare=prepare,
        delivery="file",
        formats=replace(formats, number=0),  # it admits what a service does, and registers nothing
        throttled=lambda: connection.throttling.seconds,
        busy=busy,
    )
