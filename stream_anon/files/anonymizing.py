"""Anonymize without Kafka: batches in, certified releases out. Files and the library stand on it."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stream_anon.adapters.clock import SystemClock
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.warming import warm_up
from stream_anon.engine.window import SealedWindow
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.ports import Clock
from stream_anon.privacy.certificate import CertificateFrame, certificate_digest, certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.version import SOFTWARE

PLACE = ("input", 0)  # what certificates and dead letters call the one source
SOURCE = 0


@dataclass(frozen=True, slots=True, eq=False)
class CertifiedRelease:
    """A release with its certificate.

    Parameters
    ----------
    batch
        Random id of the window.
    certificate
        Its parts as JSON.
    seconds
        Time the engine took to fill and close the window, without reading and writing.
    """

    batch: str
    release: Release
    certificate: list[bytes]
    seconds: float


class Anonymization:
    """One pass over one input. Windows close by count; `close` closes the last one.

    Parameters
    ----------
    policy
        What must hold.
    clock
        Dates certificates and measures the engine.
    closer
        Makes releases of windows; by default those of the policy's engine.
    engine
        Fills windows; by default by the policy's engine.

    Attributes
    ----------
    document
        The policy document that certificates name; it belongs beside them.

    Notes
    -----
    Shuffles and batch ids draw from the operating system's entropy, and so do engines whose policy has no seed: a
    seed governs classes only.
    """

    def __init__(
        self,
        policy: Policy,
        clock: Clock | None = None,
        *,
        closer: Closer | None = None,
        engine: Engine | None = None,
    ) -> None:
        if engine is None:
            warm_up(policy)
        self._policy = policy
        self.document = PolicyDocument.of(policy)
        self._clock = clock or SystemClock()
        self._engine = engine or Engine(policy, draws=np.random.default_rng(secrets.randbits(128)))
        self._engine.open(SOURCE, 0)
        self._closer = closer or Closer(policy)
        self._previous: str | None = None
        self._opened = self._clock.wall()

    def add(self, batch: CodedBatch) -> Iterator[CertifiedRelease]:
        """Take a batch of source 0; yield the windows it filled."""
        start = self._clock.monotonic()
        sealed = self._engine.add(batch, start)
        spent = self._clock.monotonic() - start
        for window in sealed:
            yield self._certified(window, spent / len(sealed))

    def close(self) -> Iterator[CertifiedRelease]:
        """Close the open window; yield nothing if it is empty."""
        window = self._engine.seal(self._clock.monotonic())
        if window is not None:
            yield self._certified(window, 0.0)

    def _certified(self, window: SealedWindow, filling: float) -> CertifiedRelease:
        shuffle = np.random.default_rng(secrets.randbits(256))
        start = self._clock.monotonic()
        release = self._closer.release(window, shuffle)
        seconds = filling + self._clock.monotonic() - start
        closed = self._clock.wall()
        frame = CertificateFrame(
            batch=secrets.token_hex(16),
            opened=_iso(self._opened),
            closed=_iso(closed),
            inputs=tuple((*PLACE, part.start, part.end) for part in release.ranges),
            delivery="file",
            software=SOFTWARE,
            previous=self._previous,
            promises=self.document.promises,
        )
        parts = certificate_parts(release, self._policy, frame)
        self._previous, self._opened = certificate_digest(parts), closed
        return CertifiedRelease(frame.batch, release, parts, seconds)


def _iso(wall: float) -> str:
    return dt.datetime.fromtimestamp(int(wall), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
