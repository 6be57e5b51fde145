"""Anonymize without Kafka: batches in, certified releases out. Files and the library stand on it."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.entropy import fresh_draws
from stream_anon.conditions import Condition
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.keyed_draws import DrawsKey, KeyedWindows
from stream_anon.engine.partitioners import partitioners_by_draws
from stream_anon.engine.recoding_closer import WholeTable
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.engine.warming import warm_up
from stream_anon.judging.refusing import Advice, raise_if_forbidden
from stream_anon.judging.tally import Tally
from stream_anon.judging.validity import raise_if_expired
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.ports import Clock
from stream_anon.privacy.certificate import certificate_digest
from stream_anon.privacy.certifying import CertificateFrame, certificate_parts, certified_time
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
    heaps
        Where memory does not hold the released rows: gives them in pieces, once. `release` has none of them then.
    """

    batch: str
    release: Release
    certificate: list[bytes]
    seconds: float
    heaps: Iterator[Release] | None = None

    def written(self) -> Iterator[Release]:
        """Yield what is to be written, in order; call it once."""
        yield from (self.release,) if self.heaps is None else self.heaps


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
    accept_risks
        Conditions that would forbid a release and that somebody has accepted; certificates name them.
    key
        What draws follow from, besides the records of a window; without it they are drawn anew.

    Raises
    ------
    Refused
        Now or when a window is closed, if the release that the policy states has expired.

    Attributes
    ----------
    document
        The policy document that certificates name; it belongs beside them.

    Notes
    -----
    Batch ids draw from the operating system's entropy. So do shuffles, and engines whose policy has no seed, unless
    there is a key: then the same windows, with their records in any order, give the same releases. A seed governs
    classes only.
    """

    def __init__(
        self,
        policy: Policy,
        clock: Clock | None = None,
        *,
        closer: Closer | None = None,
        engine: Engine | None = None,
        accept_risks: Collection[Condition] = (),
        key: DrawsKey | None = None,
    ) -> None:
        policy.refuse_returns()
        make = None
        if engine is None:
            warm_up(policy)
            if key is not None:  # what forms the classes sees the rows once their order is known
                make = partitioners_by_draws(policy, key.draws(b"order"))
        self._keyed = None if key is None else KeyedWindows(key, make)
        self._policy = policy
        self._accepted = tuple(sorted(set(accept_risks)))
        self._clock = clock or SystemClock()
        self._refuse_if_expired()
        self._tally = Tally(policy)
        self.document = PolicyDocument.of(policy)
        self._engine = engine or Engine(
            policy,
            draws=fresh_draws(),
            partitioner=None if make is None else WholeTable,
        )
        self._engine.open(SOURCE, 0)
        self._closer = closer or Closer(policy)
        self._previous: str | None = None
        self._opened = self._clock.wall()

    def add(self, batch: CodedBatch, *, counted: bool = False) -> Iterator[CertifiedRelease]:
        """Take a batch of source 0, which `look_ahead` has counted or not; yield the windows it filled."""
        if not counted:
            self._tally.add(batch)
        start = self._clock.monotonic()
        sealed = self._engine.add(batch, start)
        spent = self._clock.monotonic() - start
        for window in sealed:
            yield self._certified(window, spent / len(sealed))

    def look_ahead(self, batches: Sequence[CodedBatch]) -> None:
        """Count batches before they are added, so that all of them are judged before the first release."""
        for batch in batches:
            self._tally.add(batch)

    @property
    def explanation(self) -> tuple[str, ...]:
        """Return how the release came about, a line a step; empty before it, and for an engine."""
        return ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what somebody should know of the release; empty before it."""
        return ()

    @property
    def rows(self) -> tuple[int, int]:
        """Return how many records came so far, and how many of them fit the policy."""
        return self._tally.records, self._tally.fit

    def raise_if_forbidden(self, advice: Advice) -> None:
        """Raise Refused if the records that came so far must not be released.

        Whoever publishes releases calls this before, with as many records as there are.
        """
        raise_if_forbidden(self._policy, self._tally, self._accepted, advice)

    def _refuse_if_expired(self) -> None:
        raise_if_expired(self._policy.release, self._clock.wall(), self._accepted)

    def close(self) -> Iterator[CertifiedRelease]:
        """Close the open window; yield nothing if it is empty."""
        window = self._engine.seal(self._clock.monotonic())
        if window is not None:
            yield self._certified(window, 0.0)

    def _certified(self, window: SealedWindow, filling: float) -> CertifiedRelease:
        start = self._clock.monotonic()
        release = self._closer.release(*self._drawn(window))
        return self._certificate(release, filling + self._clock.monotonic() - start)

    def _drawn(self, window: SealedWindow) -> tuple[SealedWindow, np.random.Generator]:
        """Return a window, in an order of its own if there is a key, and draws for its close."""
        if self._keyed is None:
            return window, fresh_draws()
        return self._keyed.turned(window)[:2]

    def _certificate(
        self, release: Release, seconds: float, heaps: Iterator[Release] | None = None
    ) -> CertifiedRelease:
        self._refuse_if_expired()  # who adds records may go on for months
        closed = self._clock.wall()
        frame = CertificateFrame(
            batch=secrets.token_hex(16),
            opened=certified_time(min(self._opened, closed)),  # somebody may have set the clock back
            closed=certified_time(closed),
            inputs=tuple((*PLACE, part.start, part.end) for part in release.ranges),
            delivery="file",
            software=SOFTWARE,
            previous=self._previous,
            promises=self.document.promises,
            accepted=self._accepted,
        )
        parts = certificate_parts(release, self._policy, frame)
        self._previous, self._opened = certificate_digest(parts), closed
        return CertifiedRelease(frame.batch, release, parts, seconds, heaps)
