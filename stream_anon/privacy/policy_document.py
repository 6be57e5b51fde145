"""Policy documents: the part of a policy that says what is promised, as text that travels with certificates.

A certificate names its policy document by hash, and an audit judges the window under that document, whatever the
policy has become since. The document holds what a reader of the output could check: k, criteria, attributes with
their roles, domains and hierarchies. What nobody could check (windows, delays, engines, seeds, weights) is left
out; what of it bears on privacy stands in certificates as their terms. It holds what the operator declared, never a
value of a person.

The text is JSON with sorted keys, and keys with their default are left out: a release that knows more settings
gives the same text, and the same hash, to a policy that does not use them. It travels in parts below 512 KiB.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Final, Literal, TypeVar, get_type_hints

import msgspec

from stream_anon.errors import CertificateError, SettingsError
from stream_anon.microdata.attributes import Attribute, Identifier, Insensitive, Sensitive
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.domains.domain_kinds import DOMAINS
from stream_anon.microdata.domains.hierarchy import MOST_LEVELS, Hierarchy
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.certificate import MOST_COUNT, PART_BYTES, Digest, refuse_later

SCHEMA_VERSION: Final = 1
PART_LETTERS = 120_000  # of four bytes at most, so that a part stays below 512 KiB
_AROUND, _MOST_ESCAPED = 256, 6  # bytes of a part beside its text, and of a letter of it, at the most

_ROLES: Mapping[str, type[Attribute]] = {
    kind.role: kind for kind in (Identifier, QuasiIdentifier, Sensitive, Insensitive)
}
NO_PROMISE = frozenset(
    {
        "window",
        "engine",
        "revision",
        "digest",
        "digest_key",
        "weight",
        "accept_linkable",
        "accept_missing",
        "coerce",
        "pad",
        "null_values",
        "key",
        "method",
        "population",
    }
)
"""Fields of policies, attributes and domains that change nothing a reader of the output could check."""


class DocumentPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stretch of a policy document's text; `promises` is the hash of the whole text."""

    schema: Literal[1]
    promises: Digest
    part: Annotated[int, msgspec.Meta(ge=1, le=MOST_COUNT)]
    parts: Annotated[int, msgspec.Meta(ge=1, le=MOST_COUNT)]
    text: str


@dataclass(frozen=True)
class PolicyDocument:
    """A policy's promises as text.

    Parameters
    ----------
    text
        JSON; see the module.
    promises
        Its SHA-256, by which certificates name it.
    """

    text: str
    promises: str

    @classmethod
    def of(cls, policy: Policy) -> PolicyDocument:
        """Return the document of a policy; O(leaves of its hierarchies)."""
        return cls.from_text(json.dumps(_plain(policy), sort_keys=True, separators=(",", ":"), ensure_ascii=False))

    @classmethod
    def from_text(cls, text: str) -> PolicyDocument:
        """Return the document with this text."""
        return cls(text, "sha256:" + hashlib.sha256(text.encode()).hexdigest())

    def parts(self, most_bytes: int = PART_BYTES) -> list[bytes]:
        """Return the document as JSON lines, each below 512 KiB, or below `most_bytes` where that is less."""
        letters = max(1, min(PART_LETTERS, (most_bytes - _AROUND) // _MOST_ESCAPED))
        stretches = [self.text[i : i + letters] for i in range(0, len(self.text), letters)]
        return [
            msgspec.json.encode(DocumentPart(SCHEMA_VERSION, self.promises, number, len(stretches), stretch))
            for number, stretch in enumerate(stretches, start=1)
        ]

    def policy(self) -> Policy:
        """Return a policy that promises what the document says; windows and engine are the defaults.

        Raises
        ------
        CertificateError
            If the text is not the document of any policy that this release can have. The message holds nothing of
            its content.
        """
        try:
            policy = _policy(json.loads(self.text))
            if PolicyDocument.of(policy).text == self.text:
                return policy
        except (
            SettingsError,
            msgspec.MsgspecError,
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            ArithmeticError,
        ):
            pass
        except RecursionError:
            pass
        raise CertificateError("this release of stream-anon cannot read the policy document")


def read_document_part(part: bytes) -> DocumentPart:
    """Return one part of a policy document.

    Raises
    ------
    LaterVersionError
        If a later release wrote it.
    CertificateError
        If it is none. The message holds nothing of its content.
    """
    try:
        read = _DECODER.decode(part)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        if b'"promises"' in part and b'"batch"' not in part:
            refuse_later(part, SCHEMA_VERSION, "policy document")
        raise CertificateError("a part is not of a policy document") from None
    if read.part > read.parts:
        raise CertificateError("a part's number exceeds the number of parts")
    return read


def join_document(parts: Sequence[DocumentPart]) -> PolicyDocument:
    """Return the document whose parts these are, in any order; `CertificateError` if its hash is another."""
    ordered = sorted(parts, key=lambda part: part.part)
    document = PolicyDocument.from_text("".join(part.text for part in ordered))
    if any(part.promises != document.promises for part in ordered):
        raise CertificateError("the hash of a policy document is not the one that it states")
    return document


_DECODER = msgspec.json.Decoder(DocumentPart, strict=True)


_Built = TypeVar("_Built")


def _plain(thing: Any) -> Any:
    """Return what a policy is made of as JSON; fields with their default are left out."""
    if isinstance(thing, Hierarchy):
        return {"labels": list(thing.labels), "parents": thing.parents.tolist()}
    if is_dataclass(thing) and not isinstance(thing, type):
        plain = {
            field.name: _plain(getattr(thing, field.name))
            for field in fields(thing)
            if field.name not in NO_PROMISE and not _is_default(field, getattr(thing, field.name))
        }
        if isinstance(thing, Attribute):
            plain["role"] = thing.role
        kind = getattr(thing, "kind", None)
        return plain | ({"kind": kind} if kind in DOMAINS else {})
    if isinstance(thing, Enum):
        return thing.value
    if isinstance(thing, Decimal):
        return format(thing.normalize(), "f")
    if isinstance(thing, dt.date):
        return thing.isoformat()
    if isinstance(thing, Mapping):
        return {key: _plain(value) for key, value in thing.items()}
    return [_plain(item) for item in thing] if isinstance(thing, list | tuple) else thing


def _is_default(field: Any, value: Any) -> bool:
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return bool(default == value)


def _policy(plain: dict[str, Any]) -> Policy:
    attributes = tuple(_attribute(one) for one in plain.pop("attributes"))
    ks = (plain["k"] or 0, *(shield["k"] for shield in plain.get("shields", ())))
    window = WindowLimits(max_records=max(WindowLimits.max_records, *ks))
    return _build(Policy, plain, attributes=attributes, window=window)


def _attribute(plain: dict[str, Any]) -> Attribute:
    kind = _ROLES[plain.pop("role")]
    if kind is not QuasiIdentifier:
        return _build(kind, plain)
    given = plain.pop("domain")
    return _build(kind, plain, domain=_build(DOMAINS[given.pop("kind")], given))


def _hierarchy(labels: list[Any], parents: list[int]) -> Hierarchy:
    """Build a hierarchy from its nodes, every one behind its parent."""
    paths: list[list[str]] = []
    for label, parent in zip(labels, parents, strict=True):
        if not isinstance(label, str) or parent >= len(paths) or (parent < 0) != (not paths):
            raise ValueError("a node must be a text and come after its parent")
        paths.append([label, *(paths[parent] if paths else [])])
        if len(paths[-1]) > MOST_LEVELS:
            raise ValueError("too many levels")
    inner = set(parents)
    return Hierarchy.from_rows(path for node, path in enumerate(paths) if node not in inner)


def _build(kind: type[_Built], plain: dict[str, Any], **ready: Any) -> _Built:
    """Return a dataclass from JSON; keys that it does not have are refused."""
    hints = get_type_hints(kind)
    fields_given = {
        name: _hierarchy(**value) if hints[name] is Hierarchy else msgspec.convert(value, hints[name])
        for name, value in plain.items()
    }
    return kind(**fields_given, **ready)
