"""What a schema registry answers, and what each answer means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

import msgspec

from stream_anon.errors import Refused, RegistryError
from stream_anon.formats.registry.asking import WAY_OUT

OK, NOT_FOUND, NOT_ALLOWED, _CONFLICT, _UNPROCESSABLE = 200, 404, 405, 409, 422
# A login that is refused over and over may be locked, and a limit on requests be used up for ever.
_REFUSALS = frozenset({401, 403, 429})
_LONGEST_PAUSE = 30.0  # seconds, after one of these
GONE = frozenset({40401, 40402, 40403, 40404})  # codes by which a registry says that something is not there


class _Reference(msgspec.Struct):
    name: str
    subject: str
    version: int


class SchemaReply(msgspec.Struct, rename="camel"):
    """A schema."""

    schema: str
    schema_type: str | None = None  # AVRO
    references: list[_Reference] | None = None
    id: int | None = None


class _ArtifactReference(msgspec.Struct, rename="camel"):
    name: str
    artifact_id: str
    group_id: str | None = None
    version: str | None = None

    @property
    def way(self) -> str:
        """Return where it stands in Apicurio's own interface; empty where it names no version."""
        if not self.version:
            return ""
        parts = (self.group_id or "default", self.artifact_id, self.version)
        group, artifact, version = (quote(part, safe="") for part in parts)
        return f"/groups/{group}/artifacts/{artifact}/versions/{version}"


ArtifactReferences = list[_ArtifactReference]


class SchemaIdReply(msgspec.Struct):
    """The id of a schema."""

    id: int


class CompatibilityReply(msgspec.Struct):
    """Whether a subject would take a schema."""

    is_compatible: bool


class _Fault(msgspec.Struct):
    error_code: int


ReplyBody = TypeVar("ReplyBody", SchemaReply, SchemaIdReply, CompatibilityReply, list[_ArtifactReference])


@dataclass(frozen=True, slots=True)
class Reply:
    """What a registry answered, whatever it is."""

    asked: str  # what the question was, for messages
    status: int
    body: bytes
    artifact: str  # the kind of an artifact of Apicurio
    retry_after: str  # the header: seconds, or a date

    @property
    def code(self) -> int | None:
        """Return the code by which a registry says what is wrong; None where it does not answer as one."""
        try:
            return msgspec.json.decode(self.body, type=_Fault).error_code
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None

    def decoded(self, kind: type[ReplyBody]) -> ReplyBody:
        """Return what the body says. Raises RegistryError."""
        try:
            return msgspec.json.decode(self.body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise self.is_no_registry() from None

    def is_no_registry(self) -> RegistryError:
        """Return the error for a body that no registry would send."""
        return RegistryError(f"registry: {self.asked}: the answer is not that of a schema registry")

    def refusal(self, *, posted: bool = False) -> Exception:
        """Return the error for an answer without what was asked for; `posted` tells whether a schema was sent."""
        if posted and self.status in (_CONFLICT, _UNPROCESSABLE) and self.code is not None:
            return (Conflict if self.status == _CONFLICT else Refused)(
                f"the registry refuses the output's schema (status {self.status}, code {self.code}): it does not "
                f"go with the subject's schemas, or is of a kind that the registry does not take. {WAY_OUT}"
            )
        hint = ": is kafka.registry.url the address of the interface?" if self.status == NOT_FOUND else ""
        text = f"registry: {self.asked}: answered with status {self.status}{hint}"
        if self.status in _REFUSALS:
            after = float(self.retry_after) if self.retry_after.isascii() and self.retry_after.isdigit() else 0.0
            return RegistryError(text, min(after, _LONGEST_PAUSE), _LONGEST_PAUSE)
        return RegistryError(text)


class TooLarge(RegistryError):  # noqa: N818 - named after what happened
    """What was asked for is there, and larger than a schema may be."""


class Conflict(Refused):
    """The schema does not go with the subject's others, or another worker registers it at this moment."""
