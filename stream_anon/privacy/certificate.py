"""Certificates: what a window promises about its release, for the data's controller.

A certificate is JSON in one or more parts of one shape. Every part repeats the head and holds a stretch of the
input ranges and of the classes, in order; `part` counts from 1 to `parts`. It names places and generalized
values, and of the fields that pass a digest, never a person's value; and never an individual.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from stream_anon.errors import CertificateError, LaterVersionError
from stream_anon.microdata.output.stated_counterfeits import StatedCounterfeits
from stream_anon.microdata.output.stated_returns import AskedFamilies, AskedReturns, StatedSeries
from stream_anon.microdata.population.presence_bound import AskedPresence

SCHEMA_VERSION: Final = 2
PART_BYTES = 512 * 1024  # a part is smaller; brokers refuse 1 MiB by default, and copies need room for headers

BATCH_PATTERN = r"^[0-9a-f]{1,64}$"
TIME_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|\+00:00)$"
DIGEST_PATTERN = r"^sha256:[0-9a-f]{64}$"
CONTENT_PATTERN = r"^[0-9a-f]{64}$"
KEY_PATTERN = r"^[0-9a-f]{16}$"
NAME_PATTERN = r"^[a-z0-9]+(-[a-z0-9]+)*$"
TOPIC_ID_PATTERN = r"^[0-9A-Za-z_-]{1,64}$"
MOST_COUNT = 2**53  # beyond, JSON readers round, and sums with floats may overflow

Delivery: TypeAlias = Literal["exactly-once", "at-least-once", "file"]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MOST_COUNT)]
AtLeastTwo: TypeAlias = Annotated[int, msgspec.Meta(ge=2, le=MOST_COUNT)]
Digest: TypeAlias = Annotated[str, msgspec.Meta(pattern=DIGEST_PATTERN)]
ContentDigest: TypeAlias = Annotated[str, msgspec.Meta(pattern=CONTENT_PATTERN)]
KeyName: TypeAlias = Annotated[str, msgspec.Meta(pattern=KEY_PATTERN)]
ConditionName: TypeAlias = Annotated[str, msgspec.Meta(pattern=NAME_PATTERN, max_length=100)]
TopicId: TypeAlias = Annotated[str, msgspec.Meta(pattern=TOPIC_ID_PATTERN)]
Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]


class CertifiedLoss(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Offsets from `start` up to, without, `end` that were gone or damaged before anybody could read them."""

    start: Count
    end: Count


class CertifiedRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The stretch of one partition that a window covers: offsets from `start` up to, without, `end`.

    `topic_id` is Kafka's id of the topic, where it was known: one that is created anew gets another.
    """

    topic: str
    partition: Count
    start: Count
    end: Count
    topic_id: TopicId | None = None
    lost: list[CertifiedLoss] = []  # in order, and only where there is any


class CertifiedClass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One equivalence class: its size, its published values by attribute name, its mean NCP.

    `digest` is of its released records; see `content_digests`.
    """

    records: Count
    individuals: Count
    values: dict[str, Any]
    ncp: Share
    digest: ContentDigest | msgspec.UnsetType = msgspec.UNSET  # only where there is a key


class AskedRecursion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Recursive (c, l)-diversity."""

    c: Annotated[float, msgspec.Meta(gt=0)]
    l: AtLeastTwo  # noqa: E741 - the letter of the paper


class AskedCloseness(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """t-closeness."""

    t: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    distance: Literal["equal", "ordered"]


class AskedSpread(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is asked of the frequencies of one sensitive attribute's values."""

    entropy_l: Annotated[float, msgspec.Meta(gt=1)] | None = None
    recursive_cl: AskedRecursion | None = None
    t_closeness: AskedCloseness | None = None
    alpha: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    delta_disclosure: Annotated[float, msgspec.Meta(gt=0)] | None = None
    beta_likeness: Annotated[float, msgspec.Meta(gt=0)] | None = None


class AchievedSpread(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What every class reached of it: the least entropy, the largest of the others."""

    entropy_l: Annotated[float, msgspec.Meta(ge=1)] | None = None
    recursive_c: Annotated[float, msgspec.Meta(gt=0)] | None = None
    t: Share | None = None
    alpha: Share | None = None
    delta: Annotated[float, msgspec.Meta(ge=0)] | None = None
    beta: Annotated[float, msgspec.Meta(ge=0)] | None = None


class AskedLevels(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The levels of a quasi-identifier's hierarchy that may be published; without `max` all from `min` on."""

    min: Count = 0
    max: Count | None = None


class AskedSuppression(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How many of a window's records may be suppressed, a share or a number, and what happens to one above it."""

    above: Literal["publish", "hold", "suppress"]
    share: Share | None = None
    records: Count | None = None


class AskedShield(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many individuals must share each published tuple of some quasi-identifiers."""

    attributes: list[str]
    k: AtLeastTwo


class AchievedShield(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many individuals share each published tuple of some quasi-identifiers, at least."""

    attributes: list[str]
    k: Count


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the policy asks of every class, and of the window.

    `k` is null where shields alone ask. `levels` are by quasi-identifier, where not all are allowed. With
    `counterfeits`, the largest share of them, `k` is asked of records, and half of it of people.
    """

    k: AtLeastTwo | None
    max_share: Annotated[float, msgspec.Meta(gt=0, le=1)]
    distinct_l: dict[str, AtLeastTwo]
    sensitive: dict[str, AskedSpread] = {}
    levels: dict[str, AskedLevels] | msgspec.UnsetType = msgspec.UNSET
    max_suppressed: AskedSuppression | msgspec.UnsetType = msgspec.UNSET
    shields: list[AskedShield] | msgspec.UnsetType = msgspec.UNSET
    families: dict[str, AskedFamilies] | msgspec.UnsetType = msgspec.UNSET
    returning: AskedReturns | msgspec.UnsetType = msgspec.UNSET
    presence: AskedPresence | msgspec.UnsetType = msgspec.UNSET
    counterfeits: Annotated[float, msgspec.Meta(gt=0, le=1)] | msgspec.UnsetType = msgspec.UNSET


class Achieved(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What every class reached; without a class k is null, `shields` and `presence` are absent as if not asked."""

    k: Count | None
    distinct_l: dict[str, Count]
    sensitive: dict[str, AchievedSpread] = {}
    shields: list[AchievedShield] | msgspec.UnsetType = msgspec.UNSET
    presence: Share | msgspec.UnsetType = msgspec.UNSET


class StatedIndividual(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Who counts: `every-record`, or the ids at `path`, in any spelling that `normalize` takes for the same."""

    field: str
    path: list[str] = []
    normalize: list[str] = []


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings that bear on what a release gives away and that neither records nor the policy document show.

    `null_values` is a hash of the texts that mean a missing value, if there are any. `linkable` names fields that
    pass though their rare values may identify. `replayable`: a seed in the settings decides what the engine draws.
    """

    max_records: Count
    max_delay: Annotated[float, msgspec.Meta(gt=0)]
    max_records_per_individual: Count
    null_values: Digest | msgspec.UnsetType = msgspec.UNSET
    linkable: list[str] = []
    replayable: bool = False
    shortfall: Literal["suppress", "hold"] = "suppress"
    least_people: Count = 0


class Certificate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One window's certificate, or one part of it with a stretch of its `inputs` and `classes`.

    The fields are the keys of the JSON; `records_in` is written as `in`.
    """

    schema: Literal[2]
    batch: Annotated[str, msgspec.Meta(pattern=BATCH_PATTERN)]
    part: Annotated[int, msgspec.Meta(ge=1, le=MOST_COUNT)]
    parts: Annotated[int, msgspec.Meta(ge=1, le=MOST_COUNT)]
    opened: Annotated[str, msgspec.Meta(pattern=TIME_PATTERN)]
    closed: Annotated[str, msgspec.Meta(pattern=TIME_PATTERN)]
    records_in: Count = msgspec.field(name="in")
    released: Count
    suppressed: Count
    rejected: Count
    suppressed_by_reason: dict[str, Count]
    rejected_by_reason: dict[str, Count]
    asked: Asked
    achieved: Achieved
    gcp: Share | None
    engine: str
    policy: str
    software: str
    delivery: Delivery
    previous: Digest | None
    inputs: list[CertifiedRange]
    classes: list[CertifiedClass]
    revision: Count
    missing: dict[str, Count]
    accepted: list[ConditionName]
    promises: Digest | None
    above_max_suppressed: bool | msgspec.UnsetType = msgspec.UNSET  # only where a policy says how many may be
    ignored: dict[str, Count] | msgspec.UnsetType = msgspec.UNSET  # by reason; only where records were
    individual: StatedIndividual
    terms: Terms
    digests: Literal["keyed"] | msgspec.UnsetType = msgspec.UNSET  # of the classes; only where there is a key
    digest_key: KeyName | msgspec.UnsetType = msgspec.UNSET  # see `DigestKey.name`
    series: StatedSeries | msgspec.UnsetType = msgspec.UNSET  # only of a release of one
    completed: StatedCounterfeits | msgspec.UnsetType = msgspec.UNSET  # only where a policy allows counterfeits


_DECODER = msgspec.json.Decoder(Certificate, strict=True)


def certificate_digest(parts: Sequence[bytes]) -> str:
    """Return the SHA-256 of the parts in order, each ended by a newline, as they stand in a file."""
    return "sha256:" + hashlib.sha256(b"".join(part + b"\n" for part in parts)).hexdigest()


def read_part(part: bytes) -> Certificate:
    """Return one part of a certificate; LaterVersionError if it names a version above 2.

    CertificateError, whose message holds nothing of its content, if it is not JSON of the right shape.
    """
    try:
        read = _DECODER.decode(part)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        refuse_later(part, SCHEMA_VERSION, "certificate")
        raise CertificateError("a part is not a certificate of schema version 2") from None
    if read.part > read.parts:
        raise CertificateError("a part's number exceeds the number of parts")
    return read


class _Versioned(msgspec.Struct):
    schema: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


def refuse_later(document: bytes, known: int, what: str) -> None:
    """Raise `LaterVersionError` if a JSON object names a higher version of its format than `known`."""
    try:
        version = msgspec.json.decode(document, type=_Versioned).schema
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return
    if version > known:
        raise LaterVersionError(
            f"{what} of version {version}: made by a later release of stream-anon, audit with that release"
        )


def join_parts(parts: Sequence[Certificate]) -> Certificate:
    """Return the certificate whose parts these are, in any order.

    Raises
    ------
    CertificateError
        If a part is absent or stands twice, or if two parts disagree on what they share.
    """
    if not parts:
        raise CertificateError("a certificate has at least one part")
    ordered = sorted(parts, key=lambda part: part.part)
    if [part.part for part in ordered] != list(range(1, ordered[0].parts + 1)):
        raise CertificateError("the parts of a certificate are not all there once")
    whole = msgspec.structs.replace(ordered[0], part=1, parts=1, inputs=[], classes=[])
    if any(msgspec.structs.replace(part, part=1, parts=1, inputs=[], classes=[]) != whole for part in ordered):
        raise CertificateError("the parts of a certificate disagree")
    return msgspec.structs.replace(
        whole,
        parts=len(ordered),
        inputs=[place for part in ordered for place in part.inputs],
        classes=[one for part in ordered for one in part.classes],
    )
