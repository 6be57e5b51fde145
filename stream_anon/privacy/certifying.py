"""Certify a release: what a window released and what it reached, in parts that brokers take."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from stream_anon.microdata.domains.domain import Published
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.privacy.certificate import (
    BATCH_PATTERN,
    DIGEST_PATTERN,
    PART_BYTES,
    SCHEMA_VERSION,
    TIME_PATTERN,
    Achieved,
    AchievedShield,
    AchievedSpread,
    Certificate,
    CertifiedClass,
    CertifiedLoss,
    CertifiedRange,
)
from stream_anon.privacy.content_digests import class_digests
from stream_anon.privacy.promises import asked_of, individual_of, terms_of

_Item: TypeAlias = CertifiedRange | CertifiedClass


def certified_time(wall: float) -> str:
    """Return seconds since the epoch as a certificate writes them: UTC, whole seconds, ISO 8601."""
    return dt.datetime.fromtimestamp(int(wall), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class CertificateFrame:
    """The facts of a certificate that are not in the release.

    Parameters
    ----------
    batch
        The window's random id in hexadecimal, as in the header of its records.
    opened, closed
        See `certified_time`.
    inputs
        (topic, partition, start, end) of every partition the window covers.
    delivery
        How the release was published.
    software
        Name and version of what made it.
    previous
        Digest of the certificate this worker wrote before; None for its first, and where that is not certain.
    accepted
        Names of the conditions that forbid a run and that somebody accepted when it was started.
    promises
        Hash of the policy document (`policy_document`); None where no document is kept beside the certificate.
    topic_ids
        Kafka's ids of the input topics, where they are known.
    lost
        (start, end) of what was lost of an input partition, in order.
    """

    batch: str
    opened: str
    closed: str
    inputs: tuple[tuple[str, int, int, int], ...]
    delivery: str
    software: str
    previous: str | None = None
    accepted: tuple[str, ...] = ()
    promises: str | None = None
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    lost: Mapping[tuple[str, int], Sequence[tuple[int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(BATCH_PATTERN, self.batch):
            raise ValueError("batch must be 1 to 64 hexadecimal digits in lower case")
        if not all(re.fullmatch(TIME_PATTERN, time) for time in (self.opened, self.closed)):
            raise ValueError("opened and closed must look like 2024-05-13T08:30:00Z")
        if self.delivery not in ("exactly-once", "at-least-once", "file"):
            raise ValueError("delivery must be exactly-once, at-least-once or file")
        if self.previous is not None and not re.fullmatch(DIGEST_PATTERN, self.previous):
            raise ValueError("previous must be a digest that certificate_digest gave, or None")
        if self.promises is not None and not re.fullmatch(DIGEST_PATTERN, self.promises):
            raise ValueError("promises must be the digest of a policy document, or None")


def certificate_parts(
    release: Release, policy: Policy, frame: CertificateFrame, part_bytes: int = PART_BYTES
) -> list[bytes]:
    """Return the certificate of a release as compact JSON, each part below `part_bytes`; O(classes x attributes).

    Only a single class whose values alone fill a part can exceed that: it cannot be cut.
    """
    head = _head(release, policy, frame)
    ranges = [
        CertifiedRange(
            *place, frame.topic_ids.get(place[0]), [CertifiedLoss(*each) for each in frame.lost.get(place[:2], ())]
        )
        for place in frame.inputs
    ]
    classes = _classes(release, policy, frame.batch, frame.promises or policy.digest)
    whole = msgspec.json.encode(msgspec.structs.replace(head, inputs=ranges, classes=classes))
    if len(whole) < part_bytes:
        return [whole]
    room = part_bytes - len(msgspec.json.encode(head)) - 32  # 32: the digits of part and parts
    items: list[_Item] = [*ranges, *classes]
    stretches = list(_stretches(items, room))
    return [
        msgspec.json.encode(
            msgspec.structs.replace(
                head,
                part=number,
                parts=len(stretches),
                inputs=[item for item in stretch if isinstance(item, CertifiedRange)],
                classes=[item for item in stretch if isinstance(item, CertifiedClass)],
            )
        )
        for number, stretch in enumerate(stretches, start=1)
    ]


def _head(release: Release, policy: Policy, frame: CertificateFrame) -> Certificate:
    counts = release.rejects.counts()
    rejected = {reason.label: count for reason, count in counts.items() if not reason.is_ignored}
    ignored = {reason.label: count for reason, count in counts.items() if reason.is_ignored}
    suppressed = {str(reason): int(count) for reason, count in release.suppressed.items() if count}
    return Certificate(
        schema=SCHEMA_VERSION,
        batch=frame.batch,
        part=1,
        parts=1,
        opened=frame.opened,
        closed=frame.closed,
        records_in=release.records_in,
        released=release.released,
        suppressed=sum(suppressed.values()),
        rejected=sum(rejected.values()),
        suppressed_by_reason=suppressed,
        rejected_by_reason=rejected,
        asked=asked_of(policy),
        achieved=_achieved(release, policy),
        gcp=None if release.gcp is None else float(release.gcp),
        engine=policy.maker,
        policy=policy.digest,
        software=frame.software,
        delivery=frame.delivery,  # type: ignore[arg-type] # the frame has checked it
        previous=frame.previous,
        inputs=[],
        classes=[],
        revision=policy.revision,
        missing={name: int(count) for name, count in release.missing.items() if count},
        accepted=list(frame.accepted),
        promises=frame.promises,
        above_max_suppressed=msgspec.UNSET if policy.max_suppressed is None else release.above_max_suppressed,
        ignored=ignored or msgspec.UNSET,
        individual=individual_of(policy),
        terms=terms_of(policy),
        digests=msgspec.UNSET if policy.digest_key is None else "keyed",
        digest_key=msgspec.UNSET if policy.digest_key is None else policy.digest_key.name,
        series=msgspec.UNSET if release.series is None else release.series,
        completed=msgspec.UNSET if release.completed is None else release.completed,
    )


def _achieved(release: Release, policy: Policy) -> Achieved:
    # A release without a class has reached nothing by any shield.
    shields = zip(policy.shields, release.achieved_shields, strict=bool(release.achieved_shields))
    return Achieved(
        None if release.achieved_k is None else int(release.achieved_k),
        {name: int(level) for name, level in release.achieved_l.items()},
        {name: AchievedSpread(**reached) for name, reached in release.achieved_spread.items()},
        [AchievedShield(list(shield.attributes), least) for shield, least in shields] or msgspec.UNSET,
        msgspec.UNSET if release.achieved_presence is None else release.achieved_presence,
    )


def _classes(release: Release, policy: Policy, batch: str, promises: str) -> list[CertifiedClass]:
    """Return the classes, in the order of what they publish: that in which they were formed tells neighbours."""
    classes = release.classes
    names = [attribute.name for attribute in policy.quasi_identifiers]
    tuples: Iterator[tuple[Published, ...]] = zip(*classes.values, strict=True)
    certified = [
        # A mean of values between 0 and 1 may leave that range by a rounding.
        CertifiedClass(records, individuals, dict(zip(names, values, strict=True)), min(1.0, ncp), digest)
        for records, individuals, values, ncp, digest in zip(
            classes.records.tolist(),
            classes.individuals.tolist(),
            tuples,
            classes.ncp.mean(axis=0).tolist(),
            class_digests(release, policy, batch, promises),
            strict=True,
        )
    ]
    return sorted(certified, key=lambda each: msgspec.json.encode(each.values))


def _stretches(items: Sequence[_Item], room: int) -> Iterator[list[_Item]]:
    """Yield stretches of `items` whose JSON, commas included, fits into `room` bytes; an empty one of no item."""
    stretch: list[_Item] = []
    used = 0
    for item in items:
        size = len(msgspec.json.encode(item)) + 1
        if stretch and used + size > room:
            yield stretch
            stretch, used = [], 0
        stretch.append(item)
        used += size
    yield stretch
