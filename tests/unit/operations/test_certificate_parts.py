"""Parts of certificates among what else stands in their topic or file."""

from __future__ import annotations

import pytest

from stream_anon.errors import CertificateError, LaterVersionError
from stream_anon.operations.certificate_parts import part_or_document, part_or_none
from stream_anon.privacy.policy_document import PolicyDocument
from tests.attacks.town import town_policy


def test_a_certificate_is_read_and_what_else_stands_beside_it_is_not() -> None:
    (part,) = PolicyDocument.of(town_policy()).parts()
    assert part_or_document(part) is None
    assert part_or_none(part) is None
    assert part_or_none(b"anything") is None
    with pytest.raises(CertificateError):
        part_or_document(b"anything")
    with pytest.raises(LaterVersionError):
        part_or_document(b'{"schema": 9, "batch": "x"}')
    assert part_or_none(b'{"schema": 9, "batch": "x"}') is None
