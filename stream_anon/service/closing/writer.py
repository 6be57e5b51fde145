"""Write the bytes of a window."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.conditions import Condition
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.ports import Codec, Parcel, Publication, Targets
from stream_anon.ports.publication import BATCH_BYTES, SIGNATURE, header_of
from stream_anon.privacy.certificate import PART_BYTES, Delivery, certificate_digest
from stream_anon.privacy.certifying import CertificateFrame, certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.privacy.signing.signature import SIGNATURE_BYTES, Sign
from stream_anon.service.closing.dead_letters import encode_dead_letters
from stream_anon.service.closing.outgoing import OutgoingWindow
from stream_anon.service.counting import Counting
from stream_anon.version import SOFTWARE

CHUNK = 500
"""Released records that go to one partition of the output together."""
HOUR = 3600
"""Seconds after which the policy document goes out again."""


class Writer:
    """Turns releases into publications.

    Parameters
    ----------
    delivery, accepted
        For certificates: how windows are published, and which conditions somebody has accepted.
    counting
        Notes who was released; None where nobody counts.
    sign
        Signs parts of certificates and of the policy document; None without a key.

    Notes
    -----
    Batch ids draw from the operating system's entropy: each attempt has its own.
    """

    def __init__(
        self,
        policy: Policy,
        codec: Codec,
        delivery: Delivery,
        accepted: Collection[Condition] = (),
        counting: Counting | None = None,
        sign: Sign | None = None,
    ) -> None:
        self._policy = policy
        self._document = PolicyDocument.of(policy)
        self._told: tuple[int, str] | None = None  # the last hour, and the window that brings its document
        self._codec = codec
        self._delivery: Delivery = delivery
        self._accepted = tuple(sorted(set(accepted)))
        self._counting = counting
        self._sign = sign

    def too_large(self, release: Release, targets: Targets) -> NDArray[np.int64]:
        """Return the released rows that the output would not take; see `engine.closing.TooLarge`."""
        if targets.most_value is None:
            return np.empty(0, np.int64)
        return self._codec.larger_than(release, targets.most_value)

    def write(
        self,
        outgoing: OutgoingWindow,
        release: Release,
        times: tuple[float, float],
        previous: str | None,
        draws: np.random.Generator,
        batch: str | None = None,
    ) -> Publication:
        """Return the bytes of a window.

        Parameters
        ----------
        release
            What became of its records.
        times
            When it was opened and closed, in seconds since the epoch. The second, cut to whole seconds, is the time
            of all its records.
        previous
            Digest of the certificate before.
        draws
            Choose output partitions; apart from those that formed the classes.
        batch
            Its id, if it was written before; else one is drawn.
        """
        targets, places, topic_ids = outgoing.targets, outgoing.places, outgoing.topic_ids
        opened, closed = times
        batch = batch or secrets.token_hex(BATCH_BYTES)
        time = int(closed) * 1000
        starts = {places[part.source]: part.start for part in release.ranges}
        ends = {places[part.source]: part.end for part in release.ranges}
        frame = CertificateFrame(
            batch=batch,
            opened=_iso(opened),
            closed=_iso(closed),
            inputs=tuple((*place, starts[place], ends[place]) for place in starts),
            delivery=self._delivery,
            software=SOFTWARE,
            previous=previous,
            accepted=self._accepted,
            promises=self._document.promises,
            topic_ids=topic_ids,
            lost={places[part.source]: part.lost for part in release.ranges},
        )
        beside = 0 if self._sign is None else SIGNATURE_BYTES
        most_bytes = PART_BYTES if targets.most_part is None else min(PART_BYTES, targets.most_part - beside)
        certificate = certificate_parts(release, self._policy, frame, most_bytes)
        parcels = self._records(release, targets, batch, time, draws)
        partition = int(draws.integers(targets.partitions[targets.certificates]))
        if self._must_tell(closed, batch, first=previous is None):
            parcels += self._policy_document(targets, partition, time, most_bytes)
        parcels += self._certificate(certificate, targets, partition, batch, time)
        parcels += self._dead_letters(release, outgoing, time, draws)
        if self._counting is not None and release.people is not None:
            parcels += self._counting.parcels(release.people, places, time, header_of(batch))
        digest = certificate_digest(certificate)
        return Publication(batch, tuple(parcels), starts, ends, digest, time, topic_ids)

    def _records(
        self, release: Release, targets: Targets, batch: str, time: int, draws: np.random.Generator
    ) -> list[Parcel]:
        values = self._codec.encode_in_bulk(release)
        header = header_of(batch)
        chosen = draws.integers(0, targets.partitions[targets.output], len(values) // CHUNK + 1).tolist()
        return [
            Parcel(targets.output, chosen[i // CHUNK], values[i : i + CHUNK], time, header)
            for i in range(0, len(values), CHUNK)
        ]

    def _must_tell(self, closed: float, batch: str, *, first: bool) -> bool:
        """Return whether the policy document goes with this window.

        It goes with the first window of a chain, which no certificate precedes, and with the first window of every
        hour. So a topic that loses its start keeps the document as long as the certificates that name it.
        """
        hour = int(closed) // HOUR
        if first or self._told is None or hour != self._told[0]:
            self._told = hour, batch
        return batch == self._told[1]  # again, if it is written anew

    def _policy_document(self, targets: Targets, partition: int, time: int, most_bytes: int) -> list[Parcel]:
        header = (("policy", self._document.promises.encode()),)
        parts = self._document.parts(most_bytes)
        return [
            Parcel(targets.certificates, partition, [part], time, (*header, *self._signature(part)))
            for part in parts
        ]

    def _certificate(
        self, parts: Sequence[bytes], targets: Targets, partition: int, batch: str, time: int
    ) -> list[Parcel]:
        return [
            Parcel(
                targets.certificates,
                partition,
                [part],
                time,
                (*header_of(batch), ("part", str(number).encode()), *self._signature(part)),
            )
            for number, part in enumerate(parts, 1)
        ]

    def _signature(self, part: bytes) -> tuple[tuple[str, bytes], ...]:
        return () if self._sign is None else ((SIGNATURE, self._sign(part)),)

    def _dead_letters(
        self, release: Release, outgoing: OutgoingWindow, time: int, draws: np.random.Generator
    ) -> list[Parcel]:
        dead, targets = release.rejects.dead, outgoing.targets
        if not len(dead):
            return []
        values = encode_dead_letters(dead, outgoing.places, self._policy)
        partition = int(draws.integers(targets.partitions[targets.dead_letters]))
        return [Parcel(targets.dead_letters, partition, values, time)]


def _iso(wall: float) -> str:
    return dt.datetime.fromtimestamp(int(wall), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
