"""Watch how long certificates are valid, and warn in time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from stream_anon.adapters.kafka.client.tls_certificates import ends_of_certificates
from stream_anon.ports import Clock
from stream_anon.service.events import CertificatesRead, Listener
from stream_anon.service.wiring.clients import connection_of
from stream_anon.settings.sections.kafka_settings import KafkaSettings

SOON = 14 * 86_400.0  # seconds before the end of a certificate at which warnings begin
LOOK_EVERY = 3600.0  # seconds; a renewed file is noticed after as long


async def watch_certificates(kafka: KafkaSettings, clock: Clock, tell: Listener, every: float = LOOK_EVERY) -> None:
    """Tell now and then when certificates end, until cancelled; return at once if there are none."""
    while ends := await asyncio.to_thread(ends_by_key, kafka):
        now = clock.wall()
        tell(CertificatesRead(ends, tuple(sorted(key for key, end in ends.items() if end - now < SOON)), now))
        await asyncio.sleep(every)


def ends_by_key(kafka: KafkaSettings) -> Mapping[str, float]:
    """Return when the certificates in use end, in seconds since the epoch, by their keys in the settings."""
    security, registry = connection_of(kafka).security, kafka.registry
    sections = {}
    if "SSL" in security.protocol:
        sections["kafka.security"] = ends_of_certificates(security.ca_file, security.certificate_file)
    if registry is not None and registry.url.startswith("https:"):
        sections["kafka.registry"] = ends_of_certificates(registry.ca_file, registry.certificate_file)
    return {f"{section}.{key}": end for section, ends in sections.items() for key, end in ends.items()}
