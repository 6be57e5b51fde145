"""Parts of certificates among what else stands in their topic or file."""

from __future__ import annotations

from stream_anon.errors import CertificateError, LaterVersionError
from stream_anon.privacy.certificate import Certificate, read_part
from stream_anon.privacy.policy_document import read_document_part


def part_or_none(text: bytes) -> Certificate | None:
    """Return a part of a certificate; None for anything else."""
    try:
        return read_part(text)
    except CertificateError:
        return None


def part_or_document(text: bytes) -> Certificate | None:
    """Return a part of a certificate; None for one of a policy document.

    Raises
    ------
    LaterVersionError
        If a later release wrote it.
    CertificateError
        For anything else. The message holds nothing of its content.
    """
    try:
        return read_part(text)
    except LaterVersionError:
        raise
    except CertificateError:
        read_document_part(text)
        return None
