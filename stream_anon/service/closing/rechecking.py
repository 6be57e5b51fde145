"""Audit published windows in the service itself: the bytes that were sent against their own certificate.

The gate recounts classes before anything is sent. This reads the bytes that were sent, with the code of
`stream-anon audit`, which knows no engine. It costs several microseconds a record and holds the interpreter's lock,
so it takes only a share of the time: it audits every window of a quiet topic, and a sample of those of a busy one.
Only `stream-anon audit` checks how certificates join, since it reads all of them.
"""

from __future__ import annotations

from functools import partial

from stream_anon.audit.audit import Audit
from stream_anon.audit.formats.decoding import Decode
from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.audit.verdict import Kind
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Parcel, Publication
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.service.closing.sampling import Sampler
from stream_anon.service.events import Listener, WindowAudited

SHARE = 0.02  # the most of the time that audits may take

_OF_MANY_WINDOWS = (Kind.UNKNOWN_PREVIOUS, Kind.GAP)
BROKE_OFF = "the audit broke off: a bug"


class Rechecks:
    """Audits published windows in a thread, and skips windows while it has used up its time.

    Parameters
    ----------
    output, certificates
        The topics whose parcels are audited.
    sampler
        Gives time for audits.
    decode
        Decodes a record of the output.
    """

    def __init__(
        self,
        policy: Policy,
        output: str,
        certificates: str,
        sampler: Sampler,
        tell: Listener,
        decode: Decode = decode_record,
    ) -> None:
        self._policy, self._decode = policy, decode
        self._promises = PolicyDocument.of(policy).promises
        self._topics = (output, certificates)
        self._tell = tell
        self.sampler = sampler

    def take(self, publication: Publication) -> None:
        """Audit a window, or report that it is skipped."""

        def audit() -> tuple[str, ...]:
            return recheck(self._policy, publication.parcels, *self._topics, self._promises, self._decode)

        if not self.sampler.offer(audit, partial(self._audited, publication.batch)):
            self._tell(WindowAudited(publication.batch, "skipped"))

    def _audited(self, batch: str, violations: tuple[str, ...] | None, seconds: float) -> None:
        found = (BROKE_OFF,) if violations is None else violations
        self._tell(WindowAudited(batch, "failed" if found else "passed", found, seconds))


def recheck(
    policy: Policy,
    parcels: tuple[Parcel, ...],
    output: str,
    certificates: str,
    promises: str | None = None,
    decode: Decode = decode_record,
) -> tuple[str, ...]:
    """Return what is wrong with a window, in words without a value; nothing if all is right.

    About 7 us a record. Uses the bytes that were sent and the policy, nothing else.

    Parameters
    ----------
    promises
        Hash of the policy's document, if it is known already.
    decode
        Decodes a record of the output.
    """
    audit = Audit(policy, promises)
    for parcel in parcels:
        headers = dict(parcel.headers)
        batch = headers.get("batch", b"").decode(errors="replace") or None
        if parcel.topic == certificates:
            for part in parcel.values:
                audit.add_part(part, batch)
        elif parcel.topic == output:
            bare = parcel.keys is None and headers.keys() <= {"batch"}
            for value in parcel.values:
                audit.add_record(batch, decode(value), parcel.time, bare=bare)
    violations = audit.finish().violations
    return tuple(sorted({str(one.kind) for one in violations if one.kind not in _OF_MANY_WINDOWS}))
