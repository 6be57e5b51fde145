"""Decoding records, and what the audit may import."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.audit.verdict import Kind
from tests.support.data import ROOT
from tests.unit.audit.story import Story, kinds


@pytest.mark.parametrize(
    "text",
    [
        b'{"age":25,"age":"*"}',
        b'{"a":{"b":1,"b":2}}',
        b'{"a":[{"b":1,"b":2}]}',
        b"[]",
        b"1",
        b"null",
        b"",
        b"{",
        b'{"a":NaN}',
        b"\xff",
        b'{"a":' + b"[" * 100_000,
        None,
    ],
)
def test_a_text_that_is_no_unambiguous_object_is_refused(text: bytes | None) -> None:
    assert decode_record(text) is None


@pytest.mark.parametrize("text", [b'{"a":1}', b'{ "a": 1.50 }', b'{"a":"\\u00e9","b":{"min":1,"max":2}}', b"{}"])
def test_an_object_is_decoded_whatever_its_spelling(text: bytes) -> None:
    assert decode_record(text) == json.loads(text)


def test_a_malformed_record_is_found(story: Story) -> None:
    flat: list[Any] = [record for window in story.records for record in window]
    flat[0] = None
    found = kinds(audit_in_order(Audit(story.policy), story.parts(), flat))
    assert Kind.MALFORMED_RECORD in found


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_the_audit_shares_no_code_with_what_it_audits() -> None:
    allowed = (
        "stream_anon.audit",
        "stream_anon.microdata",
        "stream_anon.errors",
        "stream_anon.privacy.certificate",
        "stream_anon.privacy.policy_document",
        "stream_anon.privacy.promises",
        "stream_anon.privacy.signing.public_keys",
        "stream_anon.privacy.signing.signature",
        "stream_anon.privacy.succession",
        "stream_anon.privacy.weakening",
    )
    for path in (ROOT / "stream_anon" / "audit").rglob("*.py"):
        used = [name for name in _imports(path) if name.startswith("stream_anon")]
        assert all(name.startswith(allowed) for name in used), path.name
