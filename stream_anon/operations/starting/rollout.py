"""Before a policy takes over an output: what was promised last, and which of the promises would be weaker.

The newest certificates tell it. Each names a policy document, which travels beside them and holds what a reader of
the output could check; the certificate itself tells the engine and the terms. If the document is not among the
newest records, the heads of certificates still name what was asked and who was counted, and their classes name the
quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.topic_sample import SampleLimits, TopicSample, sample_topic
from stream_anon.errors import BrokerError, CertificateError, SettingsError
from stream_anon.judging.findings import Finding, Severity
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.certificate import Certificate, read_part
from stream_anon.privacy.policy_document import DocumentPart, join_document, read_document_part
from stream_anon.privacy.promises import promises_of, stated_by, stated_in
from stream_anon.privacy.succession import InputLife, covered, unfollowed
from stream_anon.privacy.weakening import Weakening, weakened
from stream_anon.windowing.loss_law import WindowLoss

KEY = "privacy.accept_weaker"
EXACTLY_ONCE = "exactly-once"
# How many of the newest offsets are looked at, tried in turn until one holds a certificate: the last offsets of a
# partition may be markers of transactions.
NEWEST: tuple[int | None, ...] = (128, 4096, None)
_UNREAD = (
    "what was promised cannot be read: the policy document is missing, or a certificate is damaged, was written by "
    "another version, or could not be read in time"
)
_NOT_ONCE = (
    "was exactly-once and would be at-least-once: a record may be published twice, in two classes. While workers "
    "are changed to exactly-once, this is an old one: stop it. If the new ones have a higher privacy.revision, it "
    "stands by instead"
)
_MOST_BYTES = 128 * 1024 * 1024
_MOST_VALUE = 16 * 1024 * 1024  # more than brokers take of one part
_WITHIN = 20.0


@dataclass(frozen=True, slots=True)
class Before:
    """Under which policy an output was published last.

    Parameters
    ----------
    policy, revision
        Its digest and its `privacy.revision`.
    closed
        When the newest window under it was closed, as its certificate says: by the worker's clock.
    promises
        The promises that are known; see `weakening.weakened`.
    known
        Whether these are all promises; False if the policy document that the certificate names was not found, or if
        a newer certificate may be among what nobody can read.
    delivery
        How it was published.
    window
        Published records of its newest window and their loss; None if it had none.
    """

    policy: str  # empty if none of the certificates can be read
    revision: int
    closed: str
    promises: Mapping[str, Any]
    known: bool = True
    delivery: str = EXACTLY_ONCE
    window: WindowLoss | None = None


class NewestCertificates:
    """The newest certificates of a topic, each depth read once."""

    def __init__(self, connection: Connection, topic: str) -> None:
        self.topic = topic
        self._connection = connection
        self._readings: dict[int, TopicSample] = {}

    async def read(self, newest: int | None) -> TopicSample:
        """Return the newest parts of certificates and of policy documents; whatever else is there takes no room.

        Parameters
        ----------
        newest
            How many of the newest offsets are looked at; None for all, which are not kept.

        Raises
        ------
        TopicError
            If the topic is missing, or may not be read by this user.
        BrokerError
            If the brokers cannot be reached or refuse.
        """
        if newest is not None and newest in self._readings:
            return self._readings[newest]
        limits = SampleLimits(newest, _MOST_BYTES, _WITHIN, _MOST_VALUE)
        reading = await sample_topic(self._connection, self.topic, limits, wanted=_is_part)
        if newest is not None:
            self._readings[newest] = reading
        return reading


async def published_before(certificates: NewestCertificates, digest: str = "") -> Before | None:
    """Return under which policy an output was published last, from its certificates; None if there are none.

    Reads back until the policy document is found too, unless the policy is the one with this digest. Where batches
    cannot be read, or reading stops before the end, a later policy may have been published: not all is known then.

    Raises
    ------
    TopicError
        If the topic is missing, or may not be read by this user.
    BrokerError
        If the brokers cannot be reached, refuse, or are too slow, or if there is no certificate that can be read,
        but something that cannot.
    """
    before: Before | None = None
    for newest in NEWEST:
        reading = await certificates.read(newest)
        sound = reading.complete and not reading.unreadable
        found = before_of(value or b"" for value in reading.values())
        if found is not None and not sound:
            found = replace(found, known=False)
        if before is None or reading.complete:  # one that was cut off may have ended with an older policy
            before = found
        enough = before is not None and (before.known or before.policy == digest)
        if enough or reading.is_whole:
            break
    if before is None and not sound:
        raise BrokerError(
            f"{certificates.topic}: could not be read to its end, so nobody knows what was promised before"
        )
    return before


def _is_part(value: bytes | None) -> bool:
    return _part(value or b"") is not None or _is_other_part(value or b"")


def _part(value: bytes) -> Certificate | DocumentPart | None:
    """Return a part of a certificate or of a policy document; None if it is neither."""
    with suppress(CertificateError):
        return read_part(value)
    with suppress(CertificateError):
        return read_document_part(value)
    return None


def _is_other_part(value: bytes) -> bool:
    """Return whether a value that is no part of a certificate to us may be one to another release."""
    try:
        found = msgspec.json.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(found, dict) and ("batch" in found or "promises" in found)


def before_of(values: Iterable[bytes]) -> Before | None:
    """Return what the newest of some certificates tells, None if there are none; other records are skipped.

    What another release may have written is not understood: then not all is known, as it may be newer.
    """
    parts: list[Certificate] = []
    documents: dict[str, dict[int, DocumentPart]] = {}
    understood = True
    for value in values:
        part = _part(value)
        if isinstance(part, Certificate):
            parts.append(part)
        elif part is not None:
            documents.setdefault(part.promises, {})[part.part] = part
        else:
            understood &= not _is_other_part(value)
    if not parts:
        return None if understood else Before("", 0, "an unknown time", {}, known=False)
    newest = _newest(parts)
    stated = stated_in(newest)
    loss = WindowLoss.of_published(newest.gcp, newest.released, newest.suppressed)
    facts = newest.policy, newest.revision, newest.closed
    with suppress(CertificateError):
        document = join_document(list(documents.get(newest.promises or "", {}).values()))
        if document.promises == newest.promises:
            promises = promises_of(document.policy()) | stated
            return Before(*facts, promises, understood, newest.delivery, loss)
    alike = (part for part in parts if part.policy == newest.policy)
    names = {name for part in alike for each in part.classes for name in each.values}
    heads = {"asked": msgspec.to_builtins(newest.asked), "individual": msgspec.to_builtins(newest.individual)}
    promises = heads | stated
    if names:
        promises["attributes"] = {name: {"role": "quasi-identifier"} for name in sorted(names)}
    known = understood and newest.promises is None
    return Before(*facts, promises, known, newest.delivery, loss)


def _newest(parts: Sequence[Certificate]) -> Certificate:
    """Return a part of the newest window of the highest revision.

    Offsets tell which window came later. Between windows of other partitions the time decides.
    """
    highest = max(part.revision for part in parts)
    candidates = [part for part in parts if part.revision == highest]
    ends: dict[str, dict[InputLife, int]] = {part.batch: {} for part in candidates}
    for part in candidates:
        ends[part.batch] |= {life: end for life, _, end in covered(part.inputs)}
    batches = list(ends)
    last = {batches[n] for n in unfollowed(list(ends.values()))}
    return max((part for part in candidates if part.batch in last), key=lambda part: part.closed)


def weaker_than(policy: Policy, before: Before | None, *, ledger: bool) -> tuple[Weakening, ...]:
    """Return the promises of a policy, published with or without a ledger, that are weaker than those made last."""
    if before is None:
        return ()
    weaker = () if before.policy == policy.digest else _compared(policy, before)
    if before.delivery == EXACTLY_ONCE and not ledger:
        weaker += (Weakening("kafka.delivery", _NOT_ONCE),)
    return weaker


def _compared(policy: Policy, before: Before) -> tuple[Weakening, ...]:
    weaker = weakened(before.promises, stated_by(policy)) if before.promises else ()
    if not before.known:
        weaker += (Weakening("promises", _UNREAD),)
    return weaker


def is_accepted(policy: Policy, accepted: str) -> bool:
    """Return whether `privacy.accept_weaker` accepts exactly this policy."""
    return accepted == policy.digest


def in_words(policy: Policy, before: Before, weaker: Sequence[Weakening]) -> str:
    """Return in words what is weaker, and what to write into the settings to go on."""
    return (
        f"this policy promises less than the one under which the output was published until {before.closed}: "
        f"{'; '.join(map(str, weaker))}. Whoever is responsible can accept that by `accept_weaker: "
        f"{policy.digest}` under `privacy`, which holds for exactly this policy"
    )


def stands_by(policy: Policy, before: Before | None) -> bool:
    """Return whether a worker that starts with a policy would publish nothing, since its revision is lower."""
    return before is not None and before.revision > policy.revision


def refuse_weaker(policy: Policy, accepted: str, before: Before | None, *, ledger: bool) -> None:
    """Refuse a policy that promises less than was promised last, unless somebody has accepted that.

    A worker that would stand by is not refused: a pod of the old policy that is restarted during a roll-out must
    not crash over and over.

    Raises
    ------
    SettingsError
        With what is weaker, and the line that accepts it.
    """
    weaker = weaker_than(policy, before, ledger=ledger)
    waits = stands_by(policy, before)
    if before is not None and weaker and not waits and not is_accepted(policy, accepted):
        raise SettingsError(KEY, in_words(policy, before, weaker))


def rollout_findings(policy: Policy, before: Before | None, accepted: str, *, ledger: bool) -> list[Finding]:
    """Return what `check` says about a policy that follows another one on the same output."""
    if before is None:
        return []
    changed = before.policy != policy.digest
    if stands_by(policy, before):
        text = (
            f"is {policy.revision}, and the output has been published under revision {before.revision}: workers of "
            "this policy would stand by. To go back to an older policy, give it a higher revision"
        )
        return [Finding(Severity.WARNS, "privacy.revision", text)]
    found = []
    if changed and before.revision == policy.revision:
        text = (
            f"is still {policy.revision}, and the output was published under another policy until {before.closed}: "
            "raise it, or windows of the old and the new policy come out side by side during the change"
        )
        found.append(Finding(Severity.WARNS, "privacy.revision", text))
    weaker = weaker_than(policy, before, ledger=ledger)
    if weaker:
        severity = Severity.WARNS if is_accepted(policy, accepted) else Severity.FORBIDS
        found.append(Finding(severity, KEY, in_words(policy, before, weaker)))
    return found
