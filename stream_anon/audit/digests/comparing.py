"""With which keys the contents of a window are compared, or why they are not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import UNSET

from stream_anon.audit.digests.kept_lines import KeptLines, WindowLines
from stream_anon.audit.formats.contents import content_digest
from stream_anon.microdata.output.digest_key import DigestKey
from stream_anon.privacy.certificate import Certificate


class Uncompared(StrEnum):
    """Why the contents of a window are not compared with digests. The value is the text that a person reads."""

    NO_DIGESTS = "certificates without digests"
    NO_KEY = "no key was given"
    OTHER_KEY = "made with a key that was not given"
    ON_TRUST = "judged on trust: of which fields the digests are is not known"
    TOO_EARLY = "too many records came before the certificates"
    REMOVED = "records may have been removed"


@dataclass(frozen=True, slots=True)
class DigestMeans:
    """What an audit compares contents with digests by.

    Parameters
    ----------
    keys
        Keys besides that of the policy.
    lines
        Keeps what passes of the records of windows that are not complete.
    """

    keys: Collection[DigestKey] = ()
    lines: KeptLines = field(default_factory=KeptLines)


@dataclass(frozen=True, slots=True)
class Recount:
    """The comparison of one window's contents with its digests.

    Parameters
    ----------
    keys
        Those by which its digests may have been made.
    lines
        What passes of its records.
    """

    keys: Collection[DigestKey]
    lines: WindowLines

    def wrong(self, certificate: Certificate, classes: Mapping[bytes, int]) -> list[int]:
        """Return which of some classes, numbers by published tuple, have another digest than is certified."""
        lines, promises = self.lines.taken(), certificate.promises or certificate.policy
        return [
            number
            for published, number in classes.items()
            if not any(
                content_digest(certificate.batch, promises, published, lines.get(published, ()), key.hashed)
                == certificate.classes[number].digest
                for key in self.keys
            )
        ]


def keys_of(
    certificate: Certificate, given: Collection[DigestKey], *, on_trust: bool
) -> Collection[DigestKey] | Uncompared:
    """Return the keys by which a window's digests may have been made, or why they cannot be compared.

    The first certificates with digests name no key: of theirs it may be any that is given.
    """
    if certificate.digests is UNSET:
        return Uncompared.NO_DIGESTS
    if not given:
        return Uncompared.NO_KEY
    if on_trust:
        return Uncompared.ON_TRUST
    name = certificate.digest_key
    return [key for key in given if name in (UNSET, key.name)] or Uncompared.OTHER_KEY
