"""Watch how long certificates are valid, and say so in time."""

from __future__ import annotations

import asyncio

from stream_anon.adapters.kafka.client.certificate_validity import ends_of_certificates
from stream_anon.adapters.kafka.client.security import Security
from stream_anon.ports import Clock
from stream_anon.service.events import CertificatesRead, Listener

SOON = 14 * 86_400.0  # seconds before a certificate's end from which on it is warned of
LOOK_EVERY = 3600.0  # seconds; a renewed file is noticed as late


async def watch_certificates(security: Security, clock: Clock, tell: Listener, every: float = LOOK_EVERY) -> None:
    """Tell when certificates end, now and then, until cancelled; return at once where there are none to watch."""
    while ends := await asyncio.to_thread(ends_of_certificates, security):
        now = clock.wall()
        tell(CertificatesRead(ends, tuple(sorted(key for key, end in ends.items() if end - now < SOON)), now))
        await asyncio.sleep(every)
