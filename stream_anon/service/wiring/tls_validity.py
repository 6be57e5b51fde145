"""Watch how long certificates are valid, and warn in time."""

from __future__ import annotations

import asyncio

from stream_anon.adapters.kafka.client.certificate_validity import ends_of_certificates
from stream_anon.adapters.kafka.client.security import Security
from stream_anon.ports import Clock
from stream_anon.service.events import CertificatesRead, Listener

SOON = 14 * 86_400.0  # seconds before the end of a certificate at which warnings begin
LOOK_EVERY = 3600.0  # seconds; a renewed file is noticed after as long


async def watch_certificates(security: Security, clock: Clock, tell: Listener, every: float = LOOK_EVERY) -> None:
    """Tell now and then when certificates end, until cancelled; return at once if there are none."""
    while ends := await asyncio.to_thread(ends_of_certificates, security):
        now = clock.wall()
        tell(CertificatesRead(ends, tuple(sorted(key for key, end in ends.items() if end - now < SOON)), now))
        await asyncio.sleep(every)
