"""Three right windows, for tests to break."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.audit.verdict import Kind, Verdict
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import InputRange
from stream_anon.privacy.certificate import certificate_digest
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from tests.support.releases import frame_of, release_of, released_records, ward_people

Certificates = list[dict[str, Any]]
Records = list[list[dict[str, Any]]]


class Story:
    """Three windows of one worker over two partitions, as decoded JSON that a test may break.

    Parameters
    ----------
    more
        Returns what further fields hold for each person, by number.
    """

    def __init__(self, policy: Policy, more: Callable[[int], dict[str, Any]] = lambda _: {}) -> None:
        self.policy = policy
        self.certificates: Certificates = []
        self.records: Records = []
        self._digests: dict[int, str] = {}  # by which certificates name each other
        promises = PolicyDocument.of(policy).promises
        previous = None
        groups = [
            [ward_people(5), ward_people(4, first=5, age=60, illness="stroke")],
            [ward_people(6, first=20, age=33, illness="cold")],
            [],
        ]
        for number, window in enumerate(groups, start=1):
            release = release_of(
                policy,
                [[person | more(person["visits"]) for person in group] for group in window],
                unplaced=ward_people(2, first=90),
                over_limit=1,
                rejected=[Reason.OUT_OF_RANGE, Reason.MALFORMED],
                ranges=[
                    InputRange(0, 20 * (number - 1), 20 * number),
                    InputRange(1, 9 * number, 9 * number + 9),
                ],
            )
            (part,) = certificate_parts(release, policy, frame_of(release, number, previous, promises))
            previous = certificate_digest([part])
            self.certificates.append(json.loads(part))
            self._digests[id(self.certificates[-1])] = previous
            self.records.append(released_records(release, policy))

    def parts(self) -> list[bytes]:
        """Return the certificates as they stand, the chain mended behind what was broken."""
        parts: list[bytes] = []
        renamed: dict[str, str] = {}
        for certificate in self.certificates:
            previous = certificate["previous"]
            parts.append(encode(certificate | {"previous": renamed.get(previous, previous)}))
            renamed[self._digests[id(certificate)]] = certificate_digest([parts[-1]])
        return parts

    def verdict(self) -> Verdict:
        flat = [decode_record(encode(record)) for window in self.records for record in window]
        return audit_in_order(Audit(self.policy), self.parts(), flat)


def encode(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def kinds(verdict: Verdict) -> set[Kind]:
    return {violation.kind for violation in verdict.violations}
